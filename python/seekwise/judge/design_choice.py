"""Which array to build of a sweep.

An array that survives no failure is recommended only where it was asked for. Without a wanted rate the fastest array is
named, and among those that the model cannot tell from it (`gain_error` of levels) the one that survives more, then the
larger; with one, the array of fewest drives that reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seekwise.errors import NotMetError
from seekwise.judge.front import on_front
from seekwise.number_text import three
from seekwise.simulate.design.kept import Asked, Finalist
from seekwise.simulate.design.search import CPU, P99, RATE
from seekwise.simulate.design.space import Point
from seekwise.simulate.gain_error import gain_error

ERROR = gain_error(("raid_level", "drives"))
NAMES = {"raid0": "RAID 0", "raid1": "RAID 1", "raid10": "RAID 10", "raid5": "RAID 5", "raid6": "RAID 6"}


def name_of(point: Point) -> str:
    """`RAID 5 of 4, chunk 64 KiB`; levels without stripes have no chunk."""
    chunk = f", chunk {point.chunk_kib} KiB" if point.chunk_kib else ""
    return f"{NAMES[point.array.level]} of {point.array.drives}{chunk}"


@dataclass(frozen=True)
class ArrayResult:
    """The best point of an array, over its seeds."""

    point: Point
    equals: dict[str, list[str | int]] = field(hash=False)
    """{setting: values that do as well, each in place of the array's own value alone}."""
    rates_mb_s: dict[str, float] = field(hash=False)
    """{load: MB/s (10⁶ bytes)}: each use by its first foreground job, then its further ones."""
    p99_ms: float
    cpu_us: float
    score: float
    """Rate relative to the fastest array's, geometric mean over uses, and within a use over its foreground jobs."""
    seeds: int
    on_front: bool

    @property
    def name(self) -> str:
        """`RAID 5 of 4, chunk 64 KiB`."""
        return name_of(self.point)


@dataclass(frozen=True)
class DesignChoice:
    """The array to build of those that a sweep tried."""

    asked: Asked
    chosen: ArrayResult
    rows: tuple[ArrayResult, ...]
    """Every array, the fastest first."""

    @property
    def level(self) -> list[ArrayResult]:
        """The fastest, and all that are as fast within what counts as a difference, by the same right to be chosen."""
        return [row for row in self.rows if row.score >= 1 - ERROR and row.point.array.survives > 0] or [self.chosen]


def choose(asked: Asked, finalists: Sequence[Finalist]) -> DesignChoice:
    """Raises NotMetError where no array reaches the wanted rate. `finalists`: the points that stand for each array."""
    # {finalist: logarithms of rate, p99 and CPU: means over seeds and loads, so that ratios are geometric means}.
    logs = [
        np.log([[load.rate_mb_s, load.p99_ms, load.cpu_us] for seed in finalist.figures for load in seed]).mean(axis=0)
        for finalist in finalists
    ]
    top = max(float(log[RATE]) for log in logs)
    criteria = [_criteria(finalist.point, log) for finalist, log in zip(finalists, logs, strict=True)]
    rows = [
        ArrayResult(
            point=finalist.point,
            equals=finalist.equals,
            rates_mb_s={
                f"{use} {job}".strip(): math.exp(
                    float(np.mean([math.log(seed[place].rates_mb_s[job]) for seed in finalist.figures]))
                )
                for place, use in enumerate(asked.uses)
                for job in finalist.figures[0][place].rates_mb_s
            },
            p99_ms=float(np.exp(log[P99])),
            cpu_us=float(np.exp(log[CPU])),
            score=float(np.exp(log[RATE] - top)),
            seeds=len(finalist.figures),
            on_front=is_on,
        )
        for finalist, log, is_on in zip(finalists, logs, on_front(criteria), strict=True)
    ]
    rows.sort(key=lambda row: -row.score)
    return DesignChoice(asked, _chosen(rows, asked), tuple(rows))


def _criteria(point: Point, logs: NDArray[np.float64]) -> list[float]:
    """Rate, p99, CPU, usable capacity and number of drives, such that more is better. Figures within 1 % count as
    equal."""
    rate, p99, cpu = (round(float(log), 2) for log in logs)
    return [rate, -p99, -cpu, float(point.array.capacity_bytes), -float(point.array.drives)]


def _chosen(rows: Sequence[ArrayResult], asked: Asked) -> ArrayResult:
    if (wanted_mb_s := asked.wanted_mb_s) is None:
        level = [row for row in rows if row.score >= 1 - ERROR]
        return max(level, key=lambda row: (row.point.array.survives, row.point.array.capacity_bytes, row.score))
    least = {row: min(row.rates_mb_s[use] for use in asked.uses) for row in rows}
    enough = [row for row in rows if least[row] >= wanted_mb_s]
    if not enough:
        raise NotMetError(
            f"no array of these reaches {three(wanted_mb_s)} MB/s: the fastest, {rows[0].name}, gives {three(least[rows[0]])} MB/s",
            hint="more drives (`--drives`), other drives, or a smaller `--rate`",
        )
    return min(enough, key=lambda row: (row.point.array.drives, -row.point.array.survives, -row.score))
