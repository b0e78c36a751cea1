"""The settings that can be changed: one row per attribute.

A row says where the kernel keeps the value, its unit, its place in the order of writing, and what it means when the
kernel says no. Order matters because the kernel ties values together (Linux v6.12 block/elevator.c,
block/mq-deadline.c, checked on a live 6.18):

    the drive's cache → the kernel's view of it → queue depth → scheduler → nr_requests → the scheduler's tunables → the rest
    → read-ahead

- switching the scheduler sets nr_requests anew, gives every tunable its default, and bfq switches write-back throttling
  off;
- setting nr_requests moves mq-deadline's async_depth;
- bfq's slice_idle and slice_idle_us are one value in two units: the finer one is written last (alphabetical order does
  it);
- a limit of dirty pages in bytes sets the one in per cent to 0, and the other way round;
- changing a limit or a feature of the queue (max_sectors_kb, the cache, add_random) sets read-ahead to its default
  (block/blk-settings.c blk_apply_bdi_limits): it is written last, also where nobody asks for it.

Not covered: what only a vendor's tool can set (NVMe volatile write cache, hardware RAID policies).
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from seekwise import schedulers, suggestion
from seekwise.control import sysfs
from seekwise.errors import UsageError
from seekwise.linux import facts


@dataclass(frozen=True)
class Refusal:
    """What was asked, what the kernel answered (`errno_value` None: it took the value and shows another)."""

    device: str
    folder: Path
    attribute: str
    asked: str
    in_force: str | None
    errno_value: int | None


@dataclass(frozen=True)
class Attribute:
    name: str
    unit: str
    order: int
    hint: Callable[[Refusal], str]
    survives_boot: bool = False


# The schedulers Linux has or had, with the module that holds each. `None`: gone with the single-queue path in 5.0.
SCHEDULER_MODULES: dict[str, str | None] = {row.name: row.module for row in schedulers.registry().values()}


def scheduler_hint(refusal: Refusal) -> str:
    """What to do about a scheduler that the kernel refused."""
    offered = schedulers_offered(refusal.folder)
    stands_on_others = any((refusal.folder / "slaves").glob("*"))
    if refusal.asked in offered or (stands_on_others and set(offered) <= {"none"}):
        return "this device takes no scheduler of its own: set it on the drives below, `seekwise devices` shows them"
    module = SCHEDULER_MODULES.get(refusal.asked)
    if module:
        return f"load the module first: `modprobe {module}`"
    if refusal.asked in SCHEDULER_MODULES and module is None:
        return f"{refusal.asked} left Linux with version 5.0; `--backend simulated` still has it"
    return suggestion.hint(refusal.asked, offered, "choose one of the offered")


def _queue_depth_hint(refusal: Refusal) -> str:
    if refusal.in_force is None:
        return "only SCSI and SATA drives have it; NVMe and virtio set their depth by nr_requests"
    return (
        "the driver decides: a SATA drive takes 1 to 31 or 32, and only 1 if the kernel or the drive has NCQ off "
        "(libata.force=noncq, AHCI mode in the firmware setup); see `seekwise explain ncq`"
    )


def _nr_requests_hint(refusal: Refusal) -> str:
    depth = sysfs.read(refusal.folder / "nr_hw_queues") or ""
    if refusal.errno_value == errno.EINVAL:
        without = (
            "without a scheduler it cannot exceed the device's own depth; " if _scheduler(refusal) == "none" else ""
        )
        return f"{without}the kernel takes 4 to the depth of the device's tag set{depth and f' ({depth} queues)'}"
    return "the kernel raises anything below 4 to 4"


def _wbt_hint(refusal: Refusal) -> str:
    if refusal.in_force is None or refusal.errno_value in (errno.EINVAL, errno.EOPNOTSUPP):
        return "this kernel or device has no write-back throttling (CONFIG_BLK_WBT, request-based devices only)"
    return "bfq switches write-back throttling off: choose another scheduler, or leave it at 0"


def _async_depth_hint(refusal: Refusal) -> str:
    if refusal.in_force is None:
        return "since Linux 7.0; before, mq-deadline and kyber have it: iosched/async_depth"
    return "the kernel takes 1 to nr_requests, and nothing without a scheduler"


def _iosched_hint(refusal: Refusal) -> str:
    scheduler = _scheduler(refusal)
    if refusal.in_force is None:
        known = ", ".join(sorted(name.removeprefix(IOSCHED) for name in tunables(refusal.folder)))
        return f"{scheduler} has the tunables {known}" if known else f"{scheduler} has no tunables"
    return f"{scheduler} keeps times in clock ticks and clips to its own bounds: ask for {refusal.in_force}, or another value"


def _small_range_hint(refusal: Refusal) -> str:
    return f"the kernel takes {row(refusal.attribute).unit}"


def _stripe_cache_hint(refusal: Refusal) -> str:
    if refusal.in_force is None:
        return "only md RAID 4, 5 and 6 have it"
    if refusal.attribute == "md/group_thread_cnt":
        return "md takes 0 to 8192 threads (Linux v6.12 drivers/md/raid5.c)"
    return "md takes 17 to 32768 stripes (Linux v6.12 drivers/md/raid5.c)"


def _max_sectors_hint(refusal: Refusal) -> str:
    limit = sysfs.read(refusal.folder / "queue/max_hw_sectors_kb")
    return f"the kernel takes one memory page to the lower of the device's limit and the driver's ({limit} KiB)"


def _always(text: str) -> Callable[[Refusal], str]:
    return lambda _: text


_dirty_hint = _always("bytes: two memory pages at the least; per cent: 0 to 100; hundredths of a second: 0 and more")
_sync_speed_hint = _always(
    "md takes KiB/s of a drive, or `system` for the limit of the whole machine; RAID 0 has nothing to sync"
)
_read_ahead_hint = _always("read-ahead is whole memory pages: ask for a multiple of 4")
_cache_type_hint = _always("the drive or its controller does not let its write cache be switched")
_write_cache_hint = _always(
    "queue/write_cache is only the kernel's view: it cannot give a drive a cache that it did not report; "
    "`hdparm -W` or `nvme set-feature -f 6` ask the drive itself"
)

IOSCHED = "queue/iosched/"
SYNC_LIMITS = frozenset({"md/sync_speed_max", "md/sync_speed_min"})
CACHE_TYPE = "cache_type"
READ_AHEAD = "queue/read_ahead_kb"
WBT = "queue/wbt_lat_usec"
SCHEDULER = "queue/scheduler"
ASYNC_DEPTH = "queue/async_depth"
"""Since Linux 7.0; before, a tunable of the scheduler. Follows nr_requests; under `none` it cannot be written."""
NR_REQUESTS = "queue/nr_requests"
MAX_SECTORS = "queue/max_sectors_kb"
RESETS_READ_AHEAD = frozenset({CACHE_TYPE, "queue/write_cache", "queue/max_sectors_kb", "queue/add_random"})

REGISTRY: tuple[Attribute, ...] = (
    Attribute(CACHE_TYPE, "words", 10, _cache_type_hint, survives_boot=True),
    Attribute("queue/write_cache", "words", 20, _write_cache_hint),
    Attribute("device/queue_depth", "commands", 30, _queue_depth_hint),
    Attribute("queue/scheduler", "name", 40, scheduler_hint),
    Attribute("queue/nr_requests", "requests", 50, _nr_requests_hint),
    Attribute(ASYNC_DEPTH, "requests", 55, _async_depth_hint),
    Attribute(IOSCHED + "*", "per tunable", 60, _iosched_hint),
    Attribute("queue/wbt_lat_usec", "µs", 70, _wbt_hint),
    Attribute("queue/max_sectors_kb", "KiB", 80, _max_sectors_hint),
    Attribute("queue/nomerges", "0, 1, 2", 80, _small_range_hint),
    Attribute("queue/rq_affinity", "0, 1, 2", 80, _small_range_hint),
    Attribute("queue/add_random", "0, 1", 80, _small_range_hint),
    Attribute("md/stripe_cache_size", "pages per member", 80, _stripe_cache_hint),
    Attribute("md/group_thread_cnt", "threads", 80, _stripe_cache_hint),
    Attribute("md/sync_speed_max", "KiB/s", 80, _sync_speed_hint),
    Attribute("md/sync_speed_min", "KiB/s", 80, _sync_speed_hint),
    Attribute(READ_AHEAD, "KiB", 90, _read_ahead_hint),
    Attribute("dirty_background_bytes", "bytes", 100, _dirty_hint),
    Attribute("dirty_background_ratio", "per cent of what memory can hold", 100, _dirty_hint),
    Attribute("dirty_bytes", "bytes", 100, _dirty_hint),
    Attribute("dirty_ratio", "per cent of what memory can hold", 100, _dirty_hint),
    Attribute("dirty_expire_centisecs", "1/100 s", 100, _dirty_hint),
)
TWINS = {
    "dirty_bytes": "dirty_ratio",
    "dirty_ratio": "dirty_bytes",
    "dirty_background_bytes": "dirty_background_ratio",
    "dirty_background_ratio": "dirty_background_bytes",
}
"""One limit in two units: writing either sets the other to 0, and 0 bytes cannot be written (Linux v6.12
mm/page-writeback.c, dirty_bytes_handler, dirty_ratio_handler). What counts is the one that is not 0."""
_ROWS = {row.name: row for row in REGISTRY}
_SHORT = {row.name.rpartition("/")[2]: row.name for row in REGISTRY if not row.name.endswith("*")}


def canonical(name: str) -> str:
    """`scheduler` → `queue/scheduler`, `iosched.fifo_batch` → `queue/iosched/fifo_batch`; unknown names are refused."""
    if name.startswith(("iosched/", "iosched.")):
        name = f"queue/iosched/{name[len('iosched/') :]}"
    tunable = name.removeprefix(IOSCHED)
    if tunable != name and tunable.replace("_", "").isalnum():
        return name
    name = _SHORT.get(name, name)
    if name not in _ROWS or name.endswith("*"):
        known = [row.name for row in REGISTRY]
        raise UsageError(
            f"no setting is called `{name}`", suggestion.hint(name, [*_SHORT, *known], f"settings: {', '.join(known)}")
        )
    return name


def row(name: str) -> Attribute:
    """What is known of an attribute; of a scheduler's tunables one row for all."""
    if name.startswith("queue/") and not is_known(name):
        return Attribute(name, "", 85, _always("no setting that seekwise knows"))
    return _ROWS[IOSCHED + "*"] if name.startswith(IOSCHED) else _ROWS[name]


def is_known(name: str) -> bool:
    """Whether it is in the registry or a scheduler's own."""
    return name in _ROWS or name.startswith(IOSCHED)


def in_force(name: str, values: Mapping[str, str]) -> tuple[str, str] | None:
    """(name, value) that puts this value in force again: of a limit in two units the one that is not 0; None if its
    twin does that."""
    twin = TWINS.get(name)
    if twin is not None and values[name] == "0" and values.get(twin, "0") != "0":
        return None
    return name, values[name]


def path(name: str, folder: Path) -> Path:
    """File of an attribute under a device's folder; it may not exist."""
    if name != CACHE_TYPE:
        return folder / name
    # The drive's own cache: SCSI and SATA under the disk's driver, virtio beside the queue.
    files = sorted(folder.glob("device/scsi_disk/*/cache_type"))
    return files[0] if files else folder / "cache_type"


def value(name: str, text: str | None) -> str | None:
    """What an attribute's text says: of a scheduler list the one in brackets, of a sync limit whose it is, else the
    text itself."""
    if text is not None and name in SYNC_LIMITS:
        # `200000 (system)` follows the limit of the whole machine, and `system` puts it there again; `50000 (local)` is
        # the array's own.
        number, _, whose = text.partition(" ")
        return "system" if "system" in whose else number
    if text is None or name != "queue/scheduler":
        return text
    words = text.split()
    return next((word[1:-1] for word in words if word.startswith("[")), words[0] if words else None)


def current(name: str, folder: Path) -> str | None:
    """The value in force below a device's folder; None where it cannot be read."""
    return value(name, sysfs.read(path(name, folder)))


def driver_tags(folder: Path) -> int | None:
    """Depth of the device's tag set: what nr_requests shows right after a switch to `none` (block/blk-mq-sysfs.c,
    `nr_tags`)."""
    return _whole(sysfs.read(folder / "mq/0/nr_tags"))


def driver_tags_in_use(folder: Path) -> int | None:
    """How many of the driver's tags requests can have, which `nr_requests` written under `none` bounds and a switch of
    the scheduler leaves (block/blk-mq-debugfs.c, `tags`); None where debugfs is not mounted."""
    text = sysfs.read(folder.parents[2] / "sys/kernel/debug/block" / folder.name / "hctx0/tags") or ""
    lines = dict(line.partition("=")[::2] for line in text.split("bitmap_reserved_tags")[0].splitlines())
    depth = _whole(lines.get("depth"))
    return None if depth is None else depth + (_whole(lines.get("nr_reserved_tags")) or 0)


def largest_default_kib(folder: Path) -> int:
    """The largest max_sectors_kb that the kernel can choose itself here.

    Linux block/blk-settings.c blk_validate_limits: the device's limit, of which at most 1280 KiB count, 4096 KiB since
    6.17 (commit 9b8b84879d4a), or the optimal I/O size.
    """
    release = facts.kernel_version(sysfs.read(folder.parents[2] / "proc/sys/kernel/osrelease"))
    limit = _whole(sysfs.read(folder / "queue/max_hw_sectors_kb")) or 0
    optimal = (_whole(sysfs.read(folder / "queue/optimal_io_size")) or 0) // 1024
    return min(limit, max(1280 if release < (6, 17) and release else 4096, optimal))


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def may_move(name: str, asked: Iterable[str]) -> bool:
    """Whether writing `asked` can change `name` as well, in some version of Linux."""
    asked = set(asked)
    if name.startswith(IOSCHED):
        # A tunable can be tied to another one; a scheduler brings its own, and they follow the number of requests.
        return any(name in ("queue/scheduler", "queue/nr_requests") or name.startswith(IOSCHED) for name in asked)
    if name in (CACHE_TYPE, "queue/write_cache"):
        return bool(asked & {CACHE_TYPE, "queue/write_cache"})
    if name == READ_AHEAD:
        return bool(asked & RESETS_READ_AHEAD)
    if name in TWINS:
        return TWINS[name] in asked
    if name == ASYNC_DEPTH:
        return bool(asked & {SCHEDULER, NR_REQUESTS})
    if name not in _ROWS:
        return bool(asked & {SCHEDULER, NR_REQUESTS})
    if name in (NR_REQUESTS, WBT):
        return SCHEDULER in asked or (name == NR_REQUESTS and "device/queue_depth" in asked)
    return False


def everything(folder: Path) -> dict[str, str]:
    """Every attribute of the registry that this device has and that can be read.

    What cannot be read because of an error is not passed over: SeekwiseError, since nobody could restore it.
    """
    names = [row.name for row in REGISTRY if not row.name.endswith("*")]
    read = tunables(folder)
    for name in names:
        if (text := value(name, sysfs.read_or_raise(path(name, folder)))) is not None:
            read[name] = text
    return {name: read[name] for name in sorted(read, key=order)}


def remembered(folder: Path) -> dict[str, str]:
    """Everything, and what else can be written below `queue/`: a newer kernel's attribute may follow one of ours."""
    return _writable(folder / "queue", "queue/") | everything(folder)


def tunables(folder: Path) -> dict[str, str]:
    """{queue/iosched/NAME: value} of the scheduler in force: what can be read and written, one line each.

    Schedulers that no table knows have more there than settings: versions and learned figures to read (several lines,
    or no write permission), switches that reset a statistic (no read permission). ADIOS 3 has all of these; none of
    them can be restored.
    """
    return _writable(folder / "queue/iosched", IOSCHED)


def _writable(place: Path, prefix: str) -> dict[str, str]:
    values = {}
    for file in place.iterdir() if place.is_dir() else ():
        mode = file.stat().st_mode
        if stat.S_ISREG(mode) and mode & stat.S_IRUSR and mode & stat.S_IWUSR:
            # An attribute without a function to show it answers EIO (Linux v6.12 block/elevator.c elv_attr_show).
            # Only twice in a row: one read that fails would leave a setting that nobody restores.
            text = sysfs.read_or_raise(file, no_value=frozenset({errno.EIO}))
            if text is None:
                text = sysfs.read_or_raise(file, no_value=frozenset({errno.EIO}))
            if text is not None and "\n" not in text:
                values[prefix + file.name] = text
    return values


def order(name: str) -> tuple[int, str]:
    """Sort key: the order of writing, the same for setting and for putting back."""
    return row(name).order, name


def same(name: str, asked: str, shown: str | None) -> bool:
    """Whether the value found is the one asked for, numbers by value."""
    if shown is None:
        return False
    if name == WBT and asked == "-1":
        return False  # asks for the kernel's default, which is not to be read: it has to be written to know
    if asked == shown:
        return True
    try:
        return int(asked) == int(shown)
    except ValueError:
        return False


def accepted(name: str, asked: str, shown: str | None) -> bool:
    """Whether what is read after the write is what was asked for."""
    if name == WBT and asked == "-1":
        return shown is not None
    return same(name, asked, shown)


def schedulers_offered(folder: Path) -> tuple[str, ...]:
    """Every scheduler that the kernel offers for the device."""
    text = sysfs.read(folder / "queue/scheduler") or ""
    return tuple(word.strip("[]") for word in text.split())


def _scheduler(refusal: Refusal) -> str:
    return current("queue/scheduler", refusal.folder) or "none"
