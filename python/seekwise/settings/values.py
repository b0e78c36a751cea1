"""Values of a machine that is known as a `Stack` only: what each setting is, and what the kernel would have chosen
itself."""

from __future__ import annotations

import re

from seekwise import schedulers
from seekwise.linux.block_device import BlockDevice, Stack, passes_on
from seekwise.linux.facts import kernel_version
from seekwise.linux.setters import effect


def settings_of(device: BlockDevice) -> dict[str, str]:
    """{attribute: value} of everything that seekwise can set and the stack knows."""
    values = {f"queue/{name}": value for name, value in device.queue.items() if name in QUEUE}
    if device.scheduler:
        values["queue/scheduler"] = device.scheduler
    values |= {f"queue/iosched/{name}": value for name, value in device.iosched.items()}
    if device.queue_depth is not None:
        values["device/queue_depth"] = str(device.queue_depth)
    for name in ("stripe_cache_size", "group_thread_cnt", "sync_speed_min", "sync_speed_max"):
        if name in device.details:
            values[f"md/{name}"] = str(device.details[name])
    return values


QUEUE = (
    "nr_requests",
    "wbt_lat_usec",
    "read_ahead_kb",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "add_random",
    "write_cache",
)

BLKDEV_DEFAULT_RQ = 128
"""Linux include/linux/blkdev.h, before 5.14 BLKDEV_MAX_RQ."""
READ_AHEAD_KIB = 128
"""Linux v6.1 include/linux/pagemap.h: VM_READAHEAD_PAGES."""
NO_SCHEDULER_BY_DEFAULT = frozenset({"loop", "zram", "nbd", "null"})
"""Drivers that ask for none: BLK_MQ_F_NO_SCHED_BY_DEFAULT (loop, since 5.14), or that have no queue of their own."""


STRIPE_CACHE = "256"
"""Linux v6.1 drivers/md/raid5.c: NR_STRIPES."""
REBUILD_KIB_S = {"md/sync_speed_min": "1000", "md/sync_speed_max": "200000"}
"""Linux drivers/md/md.c: sysctl_speed_limit_min and _max, in KiB/s."""
WBT_DEFAULT = "-1"
"""Written to `wbt_lat_usec`, the kernel takes and shows its default."""


def as_shown(device: BlockDevice, attribute: str, value: str) -> str:
    """What the kernel shows after `value` was written."""
    if attribute == "queue/wbt_lat_usec" and value.strip() == WBT_DEFAULT and device.rotational is not None:
        return _throttling(device)
    if attribute == "queue/scheduler":
        return effect.taken(device, value)
    return value


def _throttling(device: BlockDevice) -> str:
    # Linux v6.1 block/blk-wbt.c: wbt_default_latency_nsec.
    return "75000" if device.rotational else "2000"


def kernel_default(device: BlockDevice, attribute: str, stack: Stack) -> str | None:
    """What the kernel chooses when nobody sets anything; None where that depends on more than is known here."""
    version = kernel_version(stack.kernel)
    if attribute == "queue/scheduler" and _red_hat_8(stack):
        return _scheduler(device, version, stack)
    if version < (5, 0):
        return None
    match attribute:
        case "queue/scheduler":
            return _scheduler(device, version, stack)
        case "queue/read_ahead_kb":
            return str(read_ahead_kib(device, version))
        case "queue/nomerges":
            return "0"
        case "queue/rq_affinity":
            # Linux include/linux/blkdev.h: QUEUE_FLAG_SAME_COMP is a default of request queues alone.
            return "0" if passes_on(device) else "1"
        case "queue/wbt_lat_usec":
            # bfq switches it off, shown as 0 from 6.2 on (block/blk-sysfs.c: queue_wb_lat_show), and another scheduler may.
            known = device.scheduler is None or device.scheduler in schedulers.registry()
            if device.rotational is None or device.below or not known:
                return None
            if device.scheduler == "bfq":
                return "0" if version >= (6, 2) else None
            return _throttling(device)
        case "queue/nr_requests":
            return _nr_requests(device)
        case "queue/write_cache":
            # drivers/block/virtio_blk.c and drivers/scsi/sd.c: as the drive reports its cache.
            reported = device.details.get("cache_type")
            return reported if reported in ("write back", "write through") else None
        case "md/stripe_cache_size" if device.kind == "md":
            return STRIPE_CACHE
        case "md/sync_speed_min" | "md/sync_speed_max" if device.kind == "md":
            return REBUILD_KIB_S[attribute]
    return None


SHARED_TAGS = frozenset({"megaraid_sas", "mpt3sas"})
"""Drivers whose hardware queues share the host's tags."""
SHARED_WITHOUT = ((5, 10), (5, 13))
"""Linux releases that gave such drives none: from 32bc15afed04 to 580dca8143d2."""
SHARED_WITHOUT_EL8 = range(252, 306)
"""Builds of Red Hat's 4.18.0 with the same (Red Hat solution 3755961)."""


def _red_hat_8(stack: Stack) -> int:
    """The build of a kernel of RHEL 8 and its rebuilds, which have multi-queue schedulers alone; 0 of others."""
    match = re.match(r"4\.18\.0-(\d{1,6})\..*el8", stack.kernel or "")
    return int(match[1]) if match else 0


def _scheduler(device: BlockDevice, version: tuple[int, ...], stack: Stack) -> str | None:
    # A patched kernel may have its scheduler as the default (ADIOS: CONFIG_MQ_IOSCHED_DEFAULT_ADIOS).
    offered = device.schedulers_offered
    if not set(offered) <= set(schedulers.registry()):
        return None
    one_queue = "mq-deadline" if "mq-deadline" in offered else "none"
    # block/elevator.c elevator_get_default: mq-deadline for one hardware queue if it is there, else none.
    count = device.details.get("hardware_queue_count")
    if device.details.get("request_based"):
        # drivers/md/dm-rq.c dm_get_blk_mq_nr_hw_queues: one, unless the module was told otherwise.
        return one_queue if count in (None, 1) else "none"
    if device.below or (device.kind in NO_SCHEDULER_BY_DEFAULT and version >= (5, 14)):
        return "none"
    if device.driver in SHARED_TAGS:
        build = _red_hat_8(stack)
        if build in SHARED_WITHOUT_EL8 or (SHARED_WITHOUT[0] <= version < SHARED_WITHOUT[1] and count != 1):
            return "none"
        return one_queue
    if count is None or (device.kind not in ("disk", "nvme", "virtio")):
        return None
    return one_queue if count == 1 else "none"


def _nr_requests(device: BlockDevice) -> str | None:
    """Linux block/blk-mq-sched.c blk_mq_init_sched: twice the driver's tags, of which at most BLKDEV_DEFAULT_RQ count;
    without a scheduler the tags."""
    tags = device.details.get("hardware_tags")
    if device.below or not isinstance(tags, int) or device.scheduler is None:
        return None
    return str(tags if device.scheduler == "none" else 2 * min(tags, BLKDEV_DEFAULT_RQ))


def read_ahead_kib(device: BlockDevice, version: tuple[int, ...]) -> int:
    """Linux block/blk-settings.c: twice the optimal I/O size, and at least 128 KiB. From 6.17 on (blk_apply_bdi_limits)
    a rotating device that states no optimum takes its largest request for it."""
    kib = _whole(device, "optimal_io_size") // 1024
    if not kib and device.rotational and version >= (6, 17):
        kib = _whole(device, "max_sectors_kb")
    return max(READ_AHEAD_KIB, 2 * kib)


def read_ahead_reason(device: BlockDevice, version: tuple[int, ...]) -> str:
    """Where the kernel's own read-ahead comes from, in words."""
    kib = _whole(device, "optimal_io_size") // 1024
    if kib and 2 * kib > READ_AHEAD_KIB:
        by = "the array's full stripe" if device.kind == "md" else "optimal_io_size, stated by the drive or its driver"
        return f"twice {kib} KiB: {by}"
    largest = _whole(device, "max_sectors_kb")
    if device.rotational and version >= (6, 17) and 2 * largest > READ_AHEAD_KIB:
        return f"twice max_sectors_kb {largest} on a rotating disk, since Linux 6.17"
    return "where no optimal_io_size is stated"


def in_flight(device: BlockDevice) -> tuple[int, str] | None:
    """(requests that can be with the device at once, what bounds them); None where that is not known.

    `nr_requests` bounds what a scheduler holds. What the device gets is bounded by the driver's tags (`mq/*/nr_tags`,
    which are those of a hardware queue; without a scheduler `nr_requests` is their number) and, of SCSI and SATA
    drives, by `device/queue_depth`.
    """
    if device.below:
        return None
    tags = device.details.get("hardware_tags")
    own = _whole(device, "nr_requests")
    if device.scheduler == "none" and own:
        tags = min(own, tags) if isinstance(tags, int) else own
    queues = device.details.get("hardware_queue_count")
    bounds = []
    if isinstance(tags, int):
        count = queues if isinstance(queues, int) else 1
        name = "nr_requests" if device.scheduler == "none" and own == tags else "the driver's tags"
        bounds.append((tags * count, f"{name}, {tags} in each of {count} hardware queues" if count > 1 else name))
    if device.queue_depth is not None:
        bounds.append((device.queue_depth, "queue_depth"))
    # Of equal bounds the drive's own is named.
    return min(reversed(bounds), key=lambda bound: bound[0], default=None)


def _whole(device: BlockDevice, attribute: str) -> int:
    text = device.queue.get(attribute, "0")
    return int(text) if text.isdigit() else 0
