"""The stages of a designed sweep.

    spread   half of the trials: points spread evenly over the space, one seed
    guided   a quarter: points that a surrogate of those so far expects on the Pareto front, in three rounds
    race     a quarter: the best points, seed after seed, losers dropping out (sequential halving, `analysis.racing`)
    arrays   for each array the settings that the surrogate expects to be fastest there, and those of the race's winner: no array is judged by
             settings that do not suit it
    front    three seeds for the best point of each array, the points that are printed

A point's score is its rate under each load relative to the best there, as a geometric mean over the loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.racing import race_scores
from seekwise.measure.live.simulated import Model
from seekwise.settings.design import surrogate, trial
from seekwise.settings.design.front import front
from seekwise.settings.design.space import SAMPLINGS, UNSTRIPED, Array, Point, Space
from seekwise.settings.design.trial import LoadFigures, Simulate
from seekwise.workload.study.plan import trial_seed
from seekwise.workload.study.uses import Use

SHARE_SPREAD, SHARE_GUIDED = 0.5, 0.25
ROUNDS_GUIDED = 3
RACERS = 24
RACE_REPETITIONS = 8
FRONT_SEEDS = 3
POOL_MOST = 20_000
"""Points that the surrogate is asked about at once."""
RATE, P99, CPU = range(3)

Tell = Callable[[int, int, str], None]
"""(trials done, of, what is being done)."""


@dataclass
class Sweep:
    """Everything simulated so far. A trial is a point with a seed, under every load."""

    model: Model
    space: Space
    uses: tuple[Use, ...]
    data_bytes: int
    seed: int
    trials_most: int
    simulate: Simulate
    sampling: str = SAMPLINGS[0]
    tell: Tell = lambda *_: None
    found: dict[tuple[Point, int], tuple[LoadFigures, ...]] = field(default_factory=dict)
    """{(point, number of the seed): figures by load}."""
    stages: dict[str, int] = field(default_factory=dict)
    """{stage: trials}."""
    surrogate: surrogate.Surrogate | None = None

    def run(self, asked: Sequence[tuple[Point, int]], stage: str) -> None:
        """Simulates (point, number of the seed) pairs that are not known yet, in batches; `stage` is what they are counted under."""
        todo = [each for each in dict.fromkeys(asked) if each not in self.found]
        size = max(64, len(todo) // 8)
        for start in range(0, len(todo), size):
            part = todo[start : start + size]
            self.tell(len(self.found), self.trials_most, stage)
            specs = [
                trial.spec(self.model, use, point, self.data_bytes, trial_seed(self.seed, number))
                for point, number in part
                for use in self.uses
            ]
            results = iter(self.simulate(specs))
            for each in part:
                self.found[each] = tuple(trial.figures(use, next(results)) for use in self.uses)
        self.stages[stage] = self.stages.get(stage, 0) + len(todo)

    @property
    def points(self) -> list[Point]:
        """Every point with at least one trial, in the order in which they were first simulated."""
        return list(dict.fromkeys(point for point, _ in self.found))

    def logs(self, points: Sequence[Point]) -> NDArray[np.float64]:
        """Logarithms of rate, p99 and CPU, a row per point: means over its seeds and loads (so that ratios are geometric means)."""
        by_point: dict[Point, list[list[float]]] = {point: [] for point in points}
        for (point, _), figures in self.found.items():
            if point in by_point:
                logs = np.log([[each.rate_mb_s, each.p99_ms, each.cpu_us] for each in figures])
                by_point[point].append(list(logs.mean(axis=0)))
        return np.array([np.mean(rows, axis=0) for rows in by_point.values()])

    def seeds_of(self, point: Point) -> list[int]:
        """Numbers of the seeds simulated so far, ascending; empty for an unknown point."""
        return sorted(number for each, number in self.found if each == point)


def criteria(points: Sequence[Point], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rate, p99, CPU, usable capacity and number of drives, such that more is better. Figures within 1 % count as equal."""
    rounded = np.round(logs * np.array([1.0, -1.0, -1.0]), 2)
    capacity = np.array([[point.array.capacity_bytes, -point.array.drives] for point in points], dtype=float)
    return np.hstack([rounded, capacity])


def carry_out(sweep: Sweep) -> list[Point]:
    """All stages; the racers, best first."""
    space, most = sweep.space, sweep.trials_most
    sweep.run([(point, 0) for point in space.spread(int(most * SHARE_SPREAD), sweep.seed, sweep.sampling)], "spread")
    pool = space.every() if space.size <= POOL_MOST else space.spread(POOL_MOST, sweep.seed + 1)
    for _ in range(ROUNDS_GUIDED):
        guided = _guided(sweep, pool, int(most * SHARE_GUIDED / ROUNDS_GUIDED))
        sweep.run([(point, 0) for point in guided], "guided")
    points = sweep.points
    sweep.surrogate = surrogate.fit(space, points, sweep.logs(points), sweep.seed)
    racers = _race(sweep, max(most - len(sweep.found), RACERS))
    sweep.run([(point, 0) for point in _suited(sweep, pool, racers[0])], "arrays")
    best = [best_of(sweep, array) for array in space.arrays]
    sweep.run([(point, number) for point in best for number in range(FRONT_SEEDS)], "front")
    sweep.tell(len(sweep.found), len(sweep.found), "front")
    return racers


def _guided(sweep: Sweep, pool: Sequence[Point], count: int) -> list[Point]:
    """Points worth a trial by the surrogate: half of them expected to be fastest, half on the front in any way."""
    known = sweep.points
    made = surrogate.fit(sweep.space, known, sweep.logs(known), sweep.seed)
    seen = set(known)
    open_points = [point for point in pool if point not in seen]
    if made is None or not open_points or count < 1:
        return open_points[:count]
    expected = made.predict(open_points)
    fastest = list(np.argsort(-expected[:, RATE], kind="stable")[: (count + 1) // 2])
    # The best expected point of each array, then its place on the front: all pairs of thousands of points would take too long.
    best: dict[tuple[Array, int], int] = {}
    for column, sign in ((RATE, -1.0), (P99, 1.0), (CPU, 1.0)):
        for at in np.argsort(sign * expected[:, column], kind="stable"):
            best.setdefault((open_points[at].array, column), int(at))
    several = sorted(set(best.values()))
    on = front(criteria([open_points[at] for at in several], expected[several]))
    chosen = dict.fromkeys([*fastest, *(at for at, is_on in zip(several, on, strict=True) if is_on)])
    return [open_points[at] for at in list(chosen)[:count]]


def _suited(sweep: Sweep, pool: Sequence[Point], winner: Point) -> list[Point]:
    """For each array of the space: the winner's settings on it, and the best that is expected."""
    found = []
    for array in sweep.space.arrays:
        chunk = 0 if array.level in UNSTRIPED else winner.chunk_kib or sweep.space.chunks_kib[0]
        found.append(replace(winner, array=array, chunk_kib=chunk))
        own = [point for point in pool if point.array == array]
        if sweep.surrogate is not None and own:
            found.append(own[int(np.argmax(sweep.surrogate.predict(own)[:, RATE]))])
    return found


def _race(sweep: Sweep, trials: int) -> list[Point]:
    """The best points against each other; at most so many trials."""
    points = sweep.points
    order = np.argsort(-sweep.logs(points)[:, RATE], kind="stable")
    racers = [points[at] for at in order[:RACERS]]
    names = [str(at) for at in range(len(racers))]
    scores = np.full((RACE_REPETITIONS, len(racers)), np.nan)
    running = list(range(len(racers)))
    ranked = running
    for repetition in range(RACE_REPETITIONS):
        # The first seed chose them: the luckiest are among them, so it does not count.
        number = repetition + 1
        if sweep.stages.get("race", 0) + len(running) > trials and repetition:
            break
        sweep.run([(racers[at], number) for at in running], "race")
        for at in running:
            scores[repetition, at] = float(
                np.mean([np.log(each.rate_mb_s) for each in sweep.found[(racers[at], number)]])
            )
        state = race_scores(scores, names, RACE_REPETITIONS)
        ranked = [int(name) for name in state.order]
        if state.over:
            break
        running = [int(name) for name in state.running]
    return [racers[at] for at in ranked]


def best_of(sweep: Sweep, array: Array) -> Point:
    """The fastest point of an array."""
    points = [point for point in sweep.points if point.array == array]
    logs = sweep.logs(points)
    return points[int(np.argmax(logs[:, RATE]))]
