"""Which assignments the kernel takes: a scheduler that it does not offer is refused, and the line that names it does
nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from seekwise import schedulers
from seekwise.linux.block_device import BlockDevice, Stack, passes_on
from seekwise.linux.setters.assignment import QUEUE_NUMBERS, UNKNOWN_VALUE, Ineffective, Setter, number
from seekwise.linux.setters.boot_line import SINGLE_QUEUE
from seekwise.suggestion import nearest

ALIASES = {"deadline": "mq-deadline"}
"""Linux 4.15 and later, block/mq-deadline.c: elevator_alias."""
WHOLE = frozenset({
    *(f"queue/{name}" for name in ("read_ahead_kb", *QUEUE_NUMBERS)),
    "device/queue_depth", "md/stripe_cache_size", "md/group_thread_cnt",
})  # fmt: skip
"""Attributes that the kernel reads with kstrtoul or kstrtol: `1M` is refused."""
MISSPELT = 0.85
MULTI_QUEUE = {"noop": "none", "cfq": "bfq", "anticipatory": "bfq"}
"""What the multi-queue kernel has instead of names of the single queue."""


def taken(device: BlockDevice, scheduler: str) -> str:
    """The scheduler that the kernel sets when this name is written: the name itself, or what it is another name of."""
    offered = device.schedulers_offered
    alias = ALIASES.get(scheduler.strip())
    return alias if alias in offered and scheduler.strip() not in offered and alias is not None else scheduler.strip()


def divide(setters: tuple[Setter, ...], stack: Stack) -> tuple[tuple[Setter, ...], list[Ineffective]]:
    """Assignments that act, and those that the kernel refuses or that a later one undoes."""
    acting, idle = [], []
    known = frozenset(schedulers.registry())
    switches = {setter.device: setter for setter in setters if setter.attribute == "queue/scheduler" and setter.certain}
    for setter in setters:
        device = stack.devices[setter.device]
        reason = _refused(setter, device, known) or _undone(setter, device, switches.get(setter.device))
        if reason is None:
            acting.append(setter)
        else:
            place = (setter.kind, setter.file, setter.line)
            idle.append(Ineffective(*place, setter.device, setter.attribute, setter.value, *reason))
    return tuple(acting), idle


MOST_REQUESTS = 2048
"""Linux v6.1 block/blk-mq.h: MAX_SCHED_RQ, of any scheduler; without one the driver's tags are the most
(blk_mq_update_nr_requests)."""
MOST: dict[str, Callable[[BlockDevice], object]] = {
    "max_sectors_kb": lambda device: device.queue.get("max_hw_sectors_kb"),
    "queue_depth": lambda device: device.details.get("ncq_depth"),
}
"""What the kernel refuses more of: Linux block/blk-sysfs.c queue_max_sectors_store, drivers/scsi/scsi_sysfs.c
sdev_store_queue_depth and libata-sata.c ata_change_queue_depth."""
OF_REQUESTS = frozenset({"scheduler", "nr_requests", "nomerges", "rq_affinity", "wbt_lat_usec"})
"""What acts on requests, of which a device that passes bios on has none."""


def _undone(setter: Setter, device: BlockDevice, switch: Setter | None) -> tuple[str, str] | None:
    """Why a value is not in force although the kernel knows it: no requests, no such scheduler, too many tags, or a
    scheduler that a later line sets, which begins with its own values."""
    part, _, file = setter.attribute.partition("/")
    if setter.value == UNKNOWN_VALUE:
        return None
    if file in MOST:
        most, wanted = number(str(MOST[file](device))), number(setter.value)
        is_more = most is not None and wanted is not None and wanted > most
        return (f"{device.name} takes at most {most}", f"write {most} or less") if is_more else None
    if part != "queue":
        return None
    if passes_on(device) and (file in OF_REQUESTS or file.startswith("iosched/")):
        below = ", ".join(device.below[:4])
        return f"{device.name} passes its I/O on and has no requests of its own", f"set it on {below}"
    tunable = file.removeprefix("iosched/") if file.startswith("iosched/") else None
    now = device.iosched.get(tunable) if tunable else device.queue.get(file)
    wanted, present = number(setter.value), number(now or "")
    if file != "nr_requests" and not tunable or (now is not None and setter.gives(now)):
        return None
    is_default = device.details.get("hardware_queue_count") == 1 and taken(device, switch.value if switch else "") == "mq-deadline"  # fmt: skip
    if switch is not None and switch.rank > setter.rank and not is_default and taken(device, switch.value) == device.scheduler:  # fmt: skip
        line = f"line {switch.line}" if switch.file == setter.file and switch.line else switch.text
        return f"{line} switches the scheduler afterwards, which begins with its own values", f"put it behind {switch.place}"  # fmt: skip
    if tunable and now is None and device.scheduler and (device.iosched or device.scheduler == "none"):
        return f"under {device.scheduler} there is no {file}", "leave it out, or set the scheduler that has it first"
    if wanted is None or tunable or device.scheduler is None:
        return None
    tags = device.details.get("hardware_tags")
    most = (tags if isinstance(tags, int) else present) if device.scheduler == "none" else MOST_REQUESTS
    if most is None or wanted <= most:
        return None
    why = f"without a scheduler the kernel takes at most the driver's tags, {most} here"
    return (why if device.scheduler == "none" else f"the kernel takes at most {most}"), f"write {most} or less"


def _refused(setter: Setter, device: BlockDevice, known: frozenset[str]) -> tuple[str, str] | None:
    """Why the kernel refuses a scheduler, and what would act."""
    offered, name = device.schedulers_offered, setter.value.strip()
    part, _, file = setter.attribute.partition("/")
    if any(sign in name for sign in "$%?*\0") or not name:
        return None
    if setter.attribute in WHOLE and not re.fullmatch(r"-?\d{1,19}", name):
        return f"{file} takes a whole number, and {name!r} is none", "write the number alone"
    if part == "queue" and file not in device.queue and (meant := nearest(file, device.queue, MISSPELT)):
        return f"{device.name} has no {setter.attribute}", f"write to queue/{meant}"
    if setter.attribute != "queue/scheduler" or len(offered) < 2:
        return None
    if taken(device, name) in offered:
        return None
    listed = " ".join(offered)
    if name in SINGLE_QUEUE and not set(offered) & SINGLE_QUEUE:
        other = MULTI_QUEUE.get(name) or ALIASES.get(name, "none")
        loaded = "" if other in offered else f" (with its module: {_module(other)})"
        return f"the multi-queue kernel has no {name} ({device.name} offers {listed})", f"write {other}{loaded}"
    if name in known:
        # Linux block/elevator.c: request_module("%s-iosched"), in kernels without it a refusal.
        module = _module(name)
        why = f"the kernel loads {module} when the line is run: it has not run since it was written, or this kernel has no such module"
        look = f"run it (a udev rule by `udevadm trigger`), or look for lib/modules/…/{module}.ko"
        return f"{device.name} does not offer {name} yet ({listed}), and {why}", look
    return f"{device.name} does not offer {name} ({listed})", f"write one of {listed}"


def _module(name: str) -> str:
    # Module names of Linux 4.12 and later: block/Makefile.
    return {"bfq": "bfq", "kyber": "kyber-iosched", "mq-deadline": "mq-deadline"}.get(name, name)


def through_rules(dead: Iterable[Ineffective], setters: tuple[Setter, ...]) -> list[Ineffective]:
    """Names the udev rule that reads a boot parameter which the kernel ignores, and sets it (RHEL 8's
    40-elevator.rules)."""
    rules = {
        setter.value: setter for setter in setters if setter.kind == "udev" and setter.attribute == "queue/scheduler"
    }
    return [
        replace(path, through=rules[path.value].text) if path.kind == "boot" and path.value in rules else path
        for path in dead
    ]
