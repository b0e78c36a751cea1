"""Every combination of the space, simulated; then the best of each array again with other seeds. Where a use runs
programs, whose trials take a hundred times as long, each setting by itself and the best of each together.

A point's score is its rate under each load relative to the best, as a geometric mean over the loads. Points of an array
that the model cannot tell from its best (`gain_error` of what differs) are equals: of them the one that changes least
(scheduler, queue depth, chunk) stands for the array, whatever seed was drawn.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seekwise.simulate.design import trial
from seekwise.simulate.design.space import Array, Point, Space
from seekwise.simulate.design.trial import LoadFigures, Simulate
from seekwise.simulate.gain_error import gain_error
from seekwise.simulate.spec import Spec
from seekwise.simulate.use_trials import Model
from seekwise.workload.study.plan import trial_seed
from seekwise.workload.study.uses import Use

SEEDS = 3
FINALISTS = 8
"""Points of an array that are simulated with every seed, at most."""
COSTLY_FINALISTS = 2
"""The same where trials are costly."""
SPREAD = 16
"""Trials follow one another at so large a step of their order."""
BATCH_S = 2.0
"""About so long nothing is told of how far it is."""
CHUNK_KIB = 512
"""mdadm's default since kernel 2.6.39 (mdadm(8), --chunk)."""
RATE, P99, CPU = range(3)

Tell = Callable[[int, int], None]
"""(trials done, of about)."""


@dataclass
class Sweep:
    """Everything simulated so far. A trial is a point with a seed, under every load."""

    model: Model
    space: Space
    uses: tuple[Use, ...]
    data_bytes: int
    seed: int
    simulate: Simulate
    tell: Tell = lambda *_: None
    found: dict[tuple[Point, int], tuple[LoadFigures, ...]] = field(default_factory=dict)
    """{(point, number of the seed): figures by load}."""

    @property
    def is_costly(self) -> bool:
        """Whether trials take so long that not every combination is tried."""
        return any(use.runs_programs for use in self.uses)

    def run(self, wanted: Sequence[tuple[Point, int]], later: int = 0) -> None:
        """Simulates (point, number of the seed) pairs that are not known yet, in batches. `later`: trials that may
        follow."""
        todo = [pair for pair in dict.fromkeys(wanted) if pair not in self.found]
        total = len(self.found) + len(todo) + later
        size = os.cpu_count() or 1
        # From everywhere, so that the first ones foretell the rest: arrays of few drives take less.
        todo = [pair for first in range(SPREAD) for pair in todo[first::SPREAD]]
        # The same on arrays of the same size: placing recordings takes as long as some trials.
        phases: dict[tuple[int, int, str], list[Spec]] = {}
        while todo:
            self.tell(len(self.found), total)
            part, todo = todo[:size], todo[size:]
            began = time.monotonic()
            specs = []
            for (point, number), use in itertools.product(part, self.uses):
                size_bytes, seed = point.array.capacity_bytes, trial_seed(self.seed, number)
                key = (size_bytes, number, use.name)
                if key not in phases:
                    phases[key] = trial.phases(self.model, use, size_bytes, self.data_bytes, seed)
                specs.append(trial.spec(self.model, use, point, seed, phases[key]))
            results = iter(self.simulate(specs))
            for pair in part:
                self.found[pair] = tuple(trial.figures(use, next(results)) for use in self.uses)
            size = max(1, min(4 * size, round(size * BATCH_S / max(time.monotonic() - began, 1e-3))))

    def logs(self, point: Point) -> NDArray[np.float64]:
        """Logarithms of rate, p99 and CPU of a point: means over its seeds and loads (so that ratios are geometric
        means)."""
        rows = [
            np.log([[result.rate_mb_s, result.p99_ms, result.cpu_us] for result in self.found[point, number]]).mean(
                axis=0
            )
            for number in range(SEEDS)
            if (point, number) in self.found
        ]
        mean: NDArray[np.float64] = np.mean(rows, axis=0)
        return mean

    def changes(self, point: Point) -> tuple[float, ...]:
        """How far a point is from what the kernel and mdadm do by themselves; the smallest is preferred among
        equals."""
        chunk = abs(math.log2(point.chunk_kib / CHUNK_KIB)) if point.chunk_kib else 0.0
        return (
            point.scheduler != self.model.default,
            point.depth != max(self.space.depths),
            chunk,
            point.read_ahead_kib,
            self.space.schedulers.index(point.scheduler),
        )


def carry_out(sweep: Sweep) -> dict[Array, Point]:
    """{array: the point that stands for it}."""
    grid: dict[Array, list[Point]] = {array: [] for array in sweep.space.arrays}
    for point in sweep.space.every():
        grid[point.array].append(point)
    if sweep.is_costly:
        points = _one_at_a_time(sweep, [min(own, key=sweep.changes) for own in grid.values()])
    else:
        points = grid
        sweep.run([(point, 0) for own in grid.values() for point in own], later=_later(sweep))
    finalists = {array: _finalists(sweep, own) for array, own in points.items()}
    sweep.run([(point, number) for own in finalists.values() for point in own for number in range(SEEDS)])
    return {array: min(near(sweep, own), key=sweep.changes) for array, own in finalists.items()}


def _later(sweep: Sweep) -> int:
    """Trials that follow the first pass, at most."""
    return len(sweep.space.arrays) * _finalists_most(sweep) * (SEEDS - 1)


def _one_at_a_time(sweep: Sweep, usual: Sequence[Point]) -> dict[Array, list[Point]]:
    """{array: points}: what the kernel and mdadm would do, each setting by itself, and the best of each together."""
    tried = {point.array: [point, *_around(sweep, point)] for point in usual}
    sweep.run([(point, 0) for own in tried.values() for point in own], later=_later(sweep) + len(usual))
    for point in usual:
        own = tried[point.array]
        together = {}
        for name in SETTINGS:
            alike = [each for each in own if replace(each, **{name: getattr(point, name)}) == point]
            together[name] = getattr(min(near(sweep, alike), key=sweep.changes), name)
        own.append(replace(point, **together))
    sweep.run([(own[-1], 0) for own in tried.values()], later=_later(sweep))
    return tried


def _around(sweep: Sweep, point: Point) -> list[Point]:
    return [
        replace(point, **{name: value})
        for name, values in _values(sweep, point).items()
        for value in values
        if value != getattr(point, name)
    ]


def _values(sweep: Sweep, point: Point) -> dict[str, Sequence[Any]]:
    """{setting: what it may be on the array of this point}."""
    return {
        "chunk_kib": sweep.space.chunks_kib if point.chunk_kib else (),
        "scheduler": sweep.space.schedulers,
        "depth": sweep.space.depths,
        "read_ahead_kib": sweep.space.read_aheads_kib,
    }


SETTINGS = ("chunk_kib", "scheduler", "depth", "read_ahead_kib")
"""Of a point, beside its array."""


def near(sweep: Sweep, points: Sequence[Point], errors: int = 1) -> list[Point]:
    """The points that are slower than the best of them by at most the model's error for what differs, or so many times
    that."""
    rates = {point: float(sweep.logs(point)[RATE]) for point in points}
    best = max(points, key=rates.__getitem__)

    def is_near(point: Point) -> bool:
        differing = [name for name in SETTINGS if getattr(point, name) != getattr(best, name)]
        return not differing or rates[best] - rates[point] <= errors * math.log1p(gain_error(differing))

    return [point for point in points if is_near(point)]


def _finalists(sweep: Sweep, points: Sequence[Point]) -> list[Point]:
    """The fastest by one seed, and of those that may be as fast the ones that change least."""
    most = _finalists_most(sweep)
    fastest = sorted(points, key=lambda point: -float(sweep.logs(point)[RATE]))[: max(1, most // 4)]
    least = sorted(near(sweep, points, errors=2), key=sweep.changes)
    return list(dict.fromkeys([*fastest, *least]))[:most]


def _finalists_most(sweep: Sweep) -> int:
    return COSTLY_FINALISTS if sweep.is_costly else FINALISTS


def equals(sweep: Sweep, point: Point) -> dict[str, list[str | int]]:
    """{setting: values that would do as well}: each in place of the point's own value alone, within the model's error
    for it."""
    equal_values: dict[str, list[str | int]] = {}
    own = float(sweep.logs(point)[RATE])
    for name, tried in _values(sweep, point).items():
        alike = [
            value
            for value in tried
            if ((other := replace(point, **{name: value})), 0) in sweep.found
            and abs(float(sweep.logs(other)[RATE]) - own) <= math.log1p(gain_error((name,)))
        ]
        if len(alike) > 1:
            equal_values[name] = alike
    return equal_values
