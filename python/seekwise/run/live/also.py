"""`--also`: settings beside the scheduler that multiply with it, as single values to try; which of them matter is measured.

The values are chosen around what the kernel gives by itself; what a device lacks or the kernel refuses is left out and said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from seekwise import schedulers
from seekwise.backend.kernel.target import Target
from seekwise.control import attributes, sysfs
from seekwise.errors import UsageError
from seekwise.run.live.candidates import Candidate, in_force_values, offered_schedulers
from seekwise.study.factors import ISCHED_PREFIX, Value, factor
from seekwise.study.uses import Use

# Around the defaults: 128 KiB of read-ahead (Linux v6.12 include/linux/pagemap.h VM_READAHEAD_PAGES), 2 × the smaller of depth and
# 128 requests (block/blk-mq-sched.c), 2 or 75 ms of write-back latency (block/blk-wbt.c wbt_default_latency_nsec).
LEVELS: dict[str, dict[str, tuple[int, ...]]] = {
    "read-ahead": {"read_ahead_kb": (128, 1024, 4096)},
    "requests": {"nr_requests": (32, 1024)},
    "depth": {"queue_depth": (1, 31)},
    "write-back": {"wbt_lat_usec": (0, 2000, 75000)},
}
OPTIONS = "scheduler-options"
AREAS = (*LEVELS, OPTIONS)
ALL = "all"


@dataclass(frozen=True)
class Space:
    """Values to try beside each scheduler. `combinations`: of all of them, had each been tried with each."""

    levels: tuple[Candidate, ...]
    combinations: int
    notes: tuple[str, ...]


def areas_of(text: str) -> tuple[str, ...]:
    """The areas that `--also` names; UsageError with what there is."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = next((word for word in words if word not in (*AREAS, ALL, "scheduler")), None)
    if unknown is not None or not words:
        said = f"--also {unknown} is nothing to try" if unknown is not None else "--also names nothing to try"
        raise UsageError(said, hint=f"it takes {', '.join(AREAS)}, or all")
    return AREAS if ALL in words else tuple(area for area in AREAS if area in words)


def space(target: Target, areas: Iterable[str]) -> Space:
    """What these areas hold for the drives below this target; UsageError when that is nothing."""
    names = {name: values for area in areas if area in LEVELS for name, values in LEVELS[area].items()}
    notes, shared = [], {}
    for name, values in names.items():
        if _is_there(target, name):
            shared[name] = values
        else:
            notes.append(f"{name} is not tried: no device here has it")
    found: list[Candidate] = []
    combinations = 0
    for scheduler in offered_schedulers(target) or [""]:
        row = schedulers.known().get(scheduler)
        own = row.trials if row is not None and OPTIONS in areas else {}
        values_by_name = {**shared, **{ISCHED_PREFIX + name: values for name, values in own.items()}}
        for name, values in values_by_name.items():
            for value in values:
                found.append(_level(target, scheduler, name, value))
        combinations += math.prod(len(values) + 1 for values in values_by_name.values())
    if not found:
        raise UsageError("none of what --also names is there to change", hint="; ".join(notes) or None)
    return Space(tuple(found), combinations, tuple(notes))


def combined(target: Target, scheduler: str, levels: dict[str, Value]) -> Candidate:
    """One candidate of a scheduler with these further values."""
    values: dict[str, Value] = {**({"scheduler": scheduler} if scheduler else {}), **levels}
    said = [str(scheduler)] if scheduler else []
    said += [f"{name.removeprefix(ISCHED_PREFIX)}={value}" for name, value in levels.items()]
    return Candidate(" ".join(said), values, target.changes(values))


def is_felt(name: str, use: Use) -> bool:
    """Whether a use can feel this setting at all."""
    if name == "read_ahead_kb":
        return any(job.feels_read_ahead for job in use.job)
    if name == "wbt_lat_usec":
        return any(job.writes and job.is_buffered for job in use.job)
    return True


def further(candidate: Candidate) -> tuple[str, Value]:
    """(name, value) of what a level adds to its scheduler."""
    return next((name, value) for name, value in candidate.values.items() if name != "scheduler")


def scheduler_of(candidate: Candidate) -> str:
    return str(candidate.values.get("scheduler", ""))


def _level(target: Target, scheduler: str, name: str, value: int) -> Candidate:
    return combined(target, scheduler, {name: value})


def _is_there(target: Target, name: str) -> bool:
    row = factor(name)
    return any(
        attributes.path(row.attribute, sysfs.device_folder(device.name)).exists() for device in target.devices_for(row)
    ) and bool(in_force_values(target, [name]))
