"""`--also`: settings beside the scheduler that multiply with it, as single values to try; which of them matter is
measured.

The values are chosen around what the kernel gives by itself; what a device lacks or the kernel refuses is left out and
said.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from seekwise import schedulers
from seekwise.control import attributes, sysfs
from seekwise.errors import UsageError
from seekwise.linux import md
from seekwise.measure.kernel.target import Target
from seekwise.measure.live.candidates import in_force_values, left_out, tried_schedulers
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.factors import ISCHED_PREFIX, Value, checked
from seekwise.workload.study.uses import Use

# Around the defaults: 128 KiB of read-ahead (Linux v6.12 include/linux/pagemap.h VM_READAHEAD_PAGES), 2 × the smaller
# of depth and 128 requests (block/blk-mq-sched.c), 2 or 75 ms of write-back latency (block/blk-wbt.c
# wbt_default_latency_nsec). Limits of dirty pages are shares of memory (20 and 10 %), so those are tried as parts of
# what is in force. md's own limit is 200,000 KiB/s of a drive (drivers/md/md.c sysctl_speed_limit_max): a tenth and a
# quarter of it.
RESYNC = "resync-limits"
LEVELS: dict[str, dict[str, tuple[int, ...]]] = {
    "read-ahead": {"read_ahead_kb": (128, 1024, 4096)},
    "requests": {"nr_requests": (32, 1024)},
    "depth": {"queue_depth": (1, 31)},
    "write-back": {"wbt_lat_usec": (0, 2000, 75000)},
    RESYNC: {"sync_speed_max": (20_000, 50_000)},
}
DIRTY = "dirty-limits"
DIRTY_NAMES = ("dirty_bytes", "dirty_background_bytes", "dirty_expire_centisecs")
OPTIONS = "scheduler-options"
AREAS = (*LEVELS, DIRTY, OPTIONS)
NAMES = (*(name for values in LEVELS.values() for name in values), *DIRTY_NAMES)
ALL = "all"


MIB = 2**20
DIRTY_PARTS = (16, 64)
DIRTY_LEAST_BYTES = 16 * MIB
SYSTEM_WIDE = "acts on the whole machine, all of its drives and programs; restored afterwards like the rest"


@dataclass(frozen=True)
class ExtraLevels:
    """Values to try beside each scheduler. `combinations`: of all of them, had each been tried with each."""

    levels: tuple[Candidate, ...]
    combinations: int
    notes: tuple[str, ...]


NOTHING = ExtraLevels((), 0, ())
"""Without `--also`."""


def areas_of(text: str) -> tuple[str, ...]:
    """The areas, or single settings, that `--also` names; UsageError with what there is."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = next((word for word in words if word not in (*AREAS, *NAMES, ALL, "scheduler")), None)
    if unknown is not None or not words:
        said = f"--also {unknown} is nothing to try" if unknown is not None else "--also names nothing to try"
        raise UsageError(said, hint=f"it takes {', '.join(AREAS)}, single settings ({', '.join(NAMES)}), or all")
    return AREAS if ALL in words else tuple(area for area in (*AREAS, *NAMES) if area in words)


def values_of(areas: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """{setting: values to try} of these areas and single settings."""
    known = {name: values for level in LEVELS.values() for name, values in level.items()} | _dirty_limits()
    wanted = {name for area in areas for name in (LEVELS.get(area) or (DIRTY_NAMES if area == DIRTY else (area,)))}
    return {name: values for name, values in known.items() if name in wanted}


def _dirty_limits() -> dict[str, tuple[int, ...]]:
    """Fractions of what is in force now. The kernel names its limits in pages (Linux v6.12 mm/vmstat.c), whichever unit
    they were given in."""
    words = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    limits = {}
    for name, counter in (
        ("dirty_bytes", "nr_dirty_threshold"),
        ("dirty_background_bytes", "nr_dirty_background_threshold"),
    ):
        present = int(words.get(counter, 0)) * mmap.PAGESIZE
        parts = [present // part // MIB * MIB for part in DIRTY_PARTS]
        limits[name] = tuple(dict.fromkeys(max(DIRTY_LEAST_BYTES, size) for size in parts)) if present else ()
    age = sysfs.read(Path("/") / sysfs.SYSTEM_FOLDER / "dirty_expire_centisecs") or "0"
    limits["dirty_expire_centisecs"] = (int(age) // 10, int(age) // 3) if int(age) >= 100 else ()
    return {name: values for name, values in limits.items() if values}


def space(target: Target, areas: Iterable[str]) -> ExtraLevels:
    """What these areas hold for the drives below this target; UsageError when that is nothing."""
    areas = tuple(areas)
    notes, shared = [], {}
    for name, values in values_of(areas).items():
        if name in LEVELS[RESYNC] and not _is_resyncing(target):
            notes.append(f"{name} is not tried: no array here rebuilds, resyncs or checks")
        elif _is_there(target, name):
            shared[name] = values
        else:
            notes.append(f"{name} is not tried: no device here has it")
    if system := [name for name in shared if name in DIRTY_NAMES]:
        notes.append(f"{', '.join(system)}: {SYSTEM_WIDE}")
    candidates: list[Candidate] = []
    combinations = 0
    for scheduler in tried_schedulers(target)[0] or [""]:
        row = schedulers.registry().get(scheduler)
        own = row.trials if row is not None and OPTIONS in areas else {}
        values_by_name = {**shared, **{ISCHED_PREFIX + name: values for name, values in own.items()}}
        for name, values in values_by_name.items():
            for value in values:
                made = combined(target, scheduler, {name: value})
                if note := left_out(f"{name}={value}", made.changes):
                    notes += [note] if note not in notes else []
                else:
                    candidates.append(made)
        combinations += math.prod(len(values) + 1 for values in values_by_name.values())
    if not candidates:
        raise UsageError("none of what --also names is there to change", hint="; ".join(notes) or None)
    return ExtraLevels(tuple(candidates), combinations, tuple(notes))


def combined(target: Target, scheduler: str, levels: dict[str, Value]) -> Candidate:
    """One candidate of a scheduler with these further values."""
    values: dict[str, Value] = {**({"scheduler": scheduler} if scheduler else {}), **levels}
    said = [str(scheduler)] if scheduler else []
    said += [f"{name.removeprefix(ISCHED_PREFIX)}={value}" for name, value in levels.items()]
    return Candidate(" ".join(said), values, target.changes(values))


def has_effect(name: str, use: Use) -> bool:
    """Whether a use can feel this setting at all."""
    if name == "read_ahead_kb":
        return any(job.uses_read_ahead for job in use.job)
    if name == "wbt_lat_usec" or name in DIRTY_NAMES:
        return any(job.writes and job.is_buffered for job in use.job)
    return True


def further(candidate: Candidate) -> tuple[str, Value]:
    """(name, value) of what a level adds to its scheduler."""
    return next((name, value) for name, value in candidate.values.items() if name != "scheduler")


def scheduler_of(candidate: Candidate) -> str:
    """The scheduler that a setting names; empty where it leaves that as it is."""
    return str(candidate.values.get("scheduler", ""))


def _is_resyncing(target: Target) -> bool:
    return any(device.details.get("sync_action") in md.RESYNCING for device in target.resolved.chain())


def _is_there(target: Target, name: str) -> bool:
    row = checked(name)
    return any(
        attributes.path(row.attribute, sysfs.device_folder(device)).exists() for device in target.places(row)
    ) and bool(in_force_values(target, [name]))
