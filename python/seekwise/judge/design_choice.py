"""Which array to build of a sweep.

An array that survives no failure is recommended only where it was asked for. Without a wanted rate the fastest array is named, and among those that
the model cannot tell from it (`gain_error` of levels) the one that survives more, then the larger; with one, the array of fewest drives that reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise.errors import NotMetError
from seekwise.judge.front import on_front
from seekwise.number_text import three
from seekwise.simulate.design.search import CPU, P99, RATE, SEEDS, Sweep, equals
from seekwise.simulate.design.space import Array, Point
from seekwise.simulate.gain_error import gain_error

ERROR = gain_error(("raid_level", "drives"))
NAMES = {"raid0": "RAID 0", "raid1": "RAID 1", "raid10": "RAID 10", "raid5": "RAID 5", "raid6": "RAID 6"}


@dataclass(frozen=True)
class ArrayResult:
    """The best point of an array, over its seeds."""

    point: Point
    rates_mb_s: tuple[float, ...]
    """By load."""
    p99_ms: float
    cpu_us: float
    score: float
    """Rate relative to the fastest array's, geometric mean over loads."""
    seeds: int
    on_front: bool

    @property
    def name(self) -> str:
        """`RAID 5 of 4, chunk 64 KiB`; levels without stripes have no chunk."""
        chunk = f", chunk {self.point.chunk_kib} KiB" if self.point.chunk_kib else ""
        return f"{NAMES[self.point.array.level]} of {self.point.array.drives}{chunk}"

    @property
    def rate_mb_s(self) -> float:
        """Geometric mean over the loads, in MB/s (10⁶ bytes)."""
        return math.exp(sum(map(math.log, self.rates_mb_s)) / len(self.rates_mb_s))


@dataclass(frozen=True)
class DesignChoice:
    """The array to build of those that a sweep tried."""

    chosen: ArrayResult
    rows: tuple[ArrayResult, ...]
    """Every array, the fastest first."""
    wanted_mb_s: float | None
    equals: dict[str, list[str | int]]
    """{setting of the chosen array: values that do as well}."""

    @property
    def level(self) -> list[ArrayResult]:
        """The fastest, and all that are as fast within what counts as a difference, by the same right to be chosen."""
        return [row for row in self.rows if row.score >= 1 - ERROR and row.point.array.survives > 0] or [self.chosen]


def choose(sweep: Sweep, best: Mapping[Array, Point], wanted_mb_s: float | None) -> DesignChoice:
    """Raises NotMetError where no array reaches the wanted rate. `best`: the point that stands for each array."""
    points = [best[array] for array in sorted(best)]
    logs = [sweep.logs(point) for point in points]
    top = max(float(log[RATE]) for log in logs)
    rows = [
        ArrayResult(
            point=point,
            rates_mb_s=_throughputs(sweep, point),
            p99_ms=float(np.exp(log[P99])),
            cpu_us=float(np.exp(log[CPU])),
            score=float(np.exp(log[RATE] - top)),
            seeds=SEEDS,
            on_front=is_on,
        )
        for point, log, is_on in zip(points, logs, on_front(list(map(_criteria, points, logs))), strict=True)
    ]
    rows.sort(key=lambda row: -row.score)
    return DesignChoice(
        _chosen(rows, wanted_mb_s), tuple(rows), wanted_mb_s, equals(sweep, _chosen(rows, wanted_mb_s).point)
    )


def _criteria(point: Point, logs: NDArray[np.float64]) -> list[float]:
    """Rate, p99, CPU, usable capacity and number of drives, such that more is better. Figures within 1 % count as equal."""
    rate, p99, cpu = (round(float(each), 2) for each in logs)
    return [rate, -p99, -cpu, float(point.array.capacity_bytes), -float(point.array.drives)]


def _throughputs(sweep: Sweep, point: Point) -> tuple[float, ...]:
    figures = [found for (each, _), found in sweep.found.items() if each == point]
    return tuple(
        float(np.exp(np.mean([math.log(each[place].rate_mb_s) for each in figures])))
        for place in range(len(sweep.uses))
    )


def _chosen(rows: Sequence[ArrayResult], wanted_mb_s: float | None) -> ArrayResult:
    if wanted_mb_s is None:
        level = [row for row in rows if row.score >= 1 - ERROR]
        return max(level, key=lambda row: (row.point.array.survives, row.point.array.capacity_bytes, row.score))
    enough = [row for row in rows if min(row.rates_mb_s) >= wanted_mb_s]
    if not enough:
        raise NotMetError(
            f"no array of these reaches {three(wanted_mb_s)} MB/s: the fastest, {rows[0].name}, gives {three(min(rows[0].rates_mb_s))} MB/s",
            hint="more drives (`--drives`), other drives, or a smaller `--rate`",
        )
    return min(enough, key=lambda row: (row.point.array.drives, -row.point.array.survives, -row.score))
