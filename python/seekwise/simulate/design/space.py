"""What may be chosen: RAID level × drives × chunk × scheduler × queue depth × read-ahead.

Levels and numbers of drives that make no array are left out, as are those that survive fewer failures than asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.errors import UsageError
from seekwise.simulate import options, trial_spec
from seekwise.simulate.use_trials import Model, phase_of
from seekwise.workload.study.factors import Value
from seekwise.workload.study.quantity import counted

LEVELS = ("raid0", "raid1", "raid10", "raid5", "raid6")
CHUNKS_KIB = (64, 128, 256, 512, 1024)
"""Smaller ones cut usual requests into pieces that cost a request each. Where 16 KiB led, it was by at most 12 %, and the
model errs by 10 %."""
READ_AHEADS_KIB = (128, 1024, 8192)
UNSTRIPED = ("raid1",)
MIRRORED_MOST = 3
"""Copies of a RAID 1 beyond which no array is built."""


@dataclass(frozen=True, order=True)
class Array:
    """A level on a number of drives, with what is known of it without simulating a load."""

    level: str
    drives: int
    capacity_bytes: int
    survives: int
    rebuild_s: float | None


@dataclass(frozen=True, order=True)
class Point:
    """One combination."""

    array: Array
    chunk_kib: int
    """0: the level has no chunks."""
    scheduler: str
    depth: int
    read_ahead_kib: int
    """0: no load reads through the page cache, so it has no effect."""

    @property
    def values(self) -> dict[str, Value]:
        """As settings of a study."""
        values: dict[str, Value] = {"raid_level": self.array.level, "drives": self.array.drives}
        if self.chunk_kib:
            values["chunk_kib"] = self.chunk_kib
        values |= {"scheduler": self.scheduler, "queue_depth": self.depth}
        return values | ({"read_ahead_kb": self.read_ahead_kib} if self.read_ahead_kib else {})


@dataclass(frozen=True)
class Space:
    arrays: tuple[Array, ...]
    chunks_kib: tuple[int, ...]
    schedulers: tuple[str, ...]
    depths: tuple[int, ...]
    read_aheads_kib: tuple[int, ...]

    @property
    def size(self) -> int:
        """Combinations; a level without chunks counts once for all of them."""
        settings = len(self.schedulers) * len(self.depths) * len(self.read_aheads_kib)
        return settings * sum(1 if array.level in UNSTRIPED else len(self.chunks_kib) for array in self.arrays)

    def every(self) -> list[Point]:
        """The full grid. Levels without stripes get one point for all chunks, with chunk 0."""
        return [
            Point(array, chunk, scheduler, depth, read_ahead)
            for array in self.arrays
            for chunk in ((0,) if array.level in UNSTRIPED else self.chunks_kib)
            for scheduler in self.schedulers
            for depth in self.depths
            for read_ahead in self.read_aheads_kib
        ]


def parse_drives(text: str) -> tuple[int, ...]:
    """`4..12`, `8` or `4,6,8`; UsageError for what is neither or cannot be."""
    parts = text.replace(" ", "").split(",")
    counts: set[int] = set()
    for part in parts:
        named = re.fullmatch(r"([0-9]{1,4})(?:\.\.([0-9]{1,4}))?", part)
        if named is None:
            raise UsageError(f"`--drives {text}` is no number of drives", hint="for example: --drives 4..12")
        first, last = int(named[1]), int(named[2] or named[1])
        if last < first:
            raise UsageError(f"`--drives {text}` counts down", hint=f"for example: --drives {last}..{first}")
        counts |= set(range(first, last + 1))
    if not counts or min(counts) < 2 or max(counts) > 64:
        raise UsageError(f"`--drives {text}`: an array has 2 to 64 drives", hint="for example: --drives 4..12")
    return tuple(sorted(counts))


def arrays_of(model: Model, levels: Sequence[str], drives: Sequence[int], survives_least: int) -> tuple[Array, ...]:
    """Every array that can be built and survives enough; UsageError if there is none."""
    arrays, refused = [], {}
    for level in levels:
        for count in drives:
            if level == "raid1" and count > MIRRORED_MOST:
                continue
            try:
                spec = trial_spec.spec_of_trial(
                    model.system, {"raid_level": level, "drives": count}, seed=0, phases=[phase_of([], 0.1)]
                )
                known = trial_spec.describe(spec)["array"]
            except UsageError as error:
                refused[error.message] = level
                continue
            array = Array(
                level, count, int(known["capacity_bytes"]), int(known["survives_failures"]), known["rebuild_s"]
            )
            if array.survives >= survives_least:
                arrays.append(array)
    if not arrays:
        if len(refused) == 1 and len(levels) > 1:
            # One reason for all levels is about the drive.
            raise UsageError(next(iter(refused)), hint="another drive model: `seekwise explain models` lists them")
        counts = str(drives[0]) if len(drives) == 1 else f"{drives[0]} to {drives[-1]}"
        what = "can be built" if survives_least == 0 else f"survives {failures_text(survives_least)}"
        raise UsageError(
            f"no array of {counts} drives and level {', '.join(levels)} {what}",
            hint="more drives, other levels with `--level`, or a smaller `--survives`",
        )
    return tuple(sorted(arrays))


def failures_text(count: int) -> str:
    """`no drive failure`, `2 drive failures`."""
    return "no drive failure" if count == 0 else counted(count, "drive failure")


def space_of(model: Model, arrays: tuple[Array, ...], *, reads_ahead: bool, chunks: Sequence[int] = ()) -> Space:
    """The space of these arrays of a drive."""
    probe = trial_spec.spec_of_trial(model.system, {}, seed=0, phases=[phase_of([], 0.1)])
    most = int(trial_spec.describe(probe)["settings"]["queue_depth"])
    # One command at a time (NCQ off), or as many as the drive takes; NVMe has no such setting.
    depths = tuple(dict.fromkeys((1, most))) if options.has_depth(str(model.system.drive)) else (most,)
    return Space(
        arrays, tuple(chunks) or CHUNKS_KIB, model.schedulers, depths, READ_AHEADS_KIB if reads_ahead else (0,)
    )
