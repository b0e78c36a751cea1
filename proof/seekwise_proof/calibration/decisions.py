"""How often a run like the last one ends in another decision: whole runs with known truth, repeated.

A scenario is a machine: uses with their figures, what each setting does to them in truth, and how much rounds scatter. Measured on a
virtio disk (2 cores, Linux 6.18): rounds of a start beside a copy scatter by 10 to 20 %, of programs alone by 5 %. Every scenario is run
many times with new noise. The decision of a run is the setting for everything and the setting for each purpose; it *flips* when it is
not the most frequent one of its scenario.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.judge.decision import choose
from seekwise.judge.decision.records import Decided, made
from seekwise.judge.decision.table import Conditions, UseFigure, values_of
from seekwise.judge.decision.verdicts import judge
from seekwise.judge.rule import THRESHOLD_OF_PERIODS
from seekwise.workload.study.uses import Judged, Purpose
from seekwise_proof.calibration.score import Counts, share

SETTINGS = ("mq-deadline", "none", "kyber", "bfq")
IN_FORCE = SETTINGS[0]
WITH_COPY, ALONE = 0.15, 0.05
"""Scatter of one round beside a copy, and alone (standard deviation of ln value)."""
TAIL_NOISE = 1.5
"""A slow tail scatters so many times as much as the mean."""


@dataclass(frozen=True)
class SimulatedFigure:
    """One judged figure. `effects`: true ln gain of each setting over the first one, above zero where it is better."""

    use: str
    kind: Judged
    purpose: Purpose
    effects: tuple[float, ...]
    noise: float
    rounds: int
    role: str = "foreground"


@dataclass(frozen=True)
class Scenario:
    name: str
    figures: tuple[SimulatedFigure, ...]


def _times(*factors: float) -> tuple[float, ...]:
    return tuple(math.log(each) for each in factors)


def _mixed(
    use: str, faster: tuple[float, ...], done: tuple[float, ...], rounds: int, noise: float = WITH_COPY
) -> tuple[SimulatedFigure, ...]:
    """A foreground beside a background: times of the one, what gets done of the other."""
    return (
        SimulatedFigure(use, "time", "responsive", faster, noise, rounds),
        SimulatedFigure(use, "tail", "responsive", faster, TAIL_NOISE * noise, rounds),
        SimulatedFigure(use, "done", "throughput", done, noise, rounds, "background"),
    )


def _alone(use: str, done: tuple[float, ...], rounds: int, noise: float = ALONE) -> tuple[SimulatedFigure, ...]:
    return (SimulatedFigure(use, "done", "throughput", done, noise, rounds),)


SAME = (0.0, 0.0, 0.0, 0.0)


SHORT, LONG = "2 minutes", "12 minutes"


def known() -> tuple[Scenario, ...]:
    """Machines as they are: short runs hold few rounds, long ones many."""
    # The ratios measured on the virtio disk: start beside cp 2.9, 2.6, 3.0, 2.3 s; pgbench 4750, 4650, 4520, 4510 transactions/s;
    # dd 1180, 1210, 1200, 900 MB/s; cat 1550, 1540, 1580, 1490 MB/s.
    start, copy = _times(1, 2.9 / 2.6, 2.9 / 3.0, 2.9 / 2.3), _times(1, 1, 840 / 920, 890 / 920)
    pgbench = _times(1, 4650 / 4750, 4520 / 4750, 4510 / 4750)
    dd, cat = _times(1, 1210 / 1180, 1200 / 1180, 900 / 1180), _times(1, 1540 / 1550, 1580 / 1550, 1490 / 1550)
    disk_start, disk_done = _times(1, 0.5, 0.9, 4.0), _times(1, 1.05, 1.0, 0.75)
    found = []
    for length, few, many in ((SHORT, 4, 8), (LONG, 20, 30)):
        found += [
            Scenario(f"virtio disk, {length}", (*_mixed("start", start, copy, few), *_alone("pgbench", pgbench, many))),
            Scenario(
                f"virtio disk, streams, {length}",
                (*_mixed("start", start, copy, few), *_alone("dd", dd, many), *_alone("cat", cat, many)),
            ),
            Scenario(f"no difference, {length}", (*_mixed("start", SAME, SAME, few), *_alone("pgbench", SAME, many))),
            Scenario(
                f"hard disk, {length}",
                (
                    *_mixed("start", disk_start, disk_done, many),
                    *_mixed("commit", _times(1, 0.4, 1.0, 30.0), disk_done, many),
                    *_alone("streams", disk_done, many),
                    *_alone("files", _times(1, 0.9, 1, 0.8), many),
                ),
            ),
            Scenario(
                f"NVMe, {length}",
                (
                    *_mixed("start", _times(1, 1, 1.02, 1.4), _times(1, 1.02, 1, 0.7), many, ALONE),
                    *_alone("streams", _times(1, 1.02, 1, 0.6), many),
                    *_alone("machines", _times(1, 1.08, 1.02, 0.65), many),
                ),
            ),
        ]
    return tuple(found)


def drawn(count: int, rng: np.random.Generator) -> list[Scenario]:
    """Machines of which nothing is known. Most schedulers differ little from each other; one that differs does so in times above all."""
    found = []
    for number in range(count):
        others = len(SETTINGS) - 1
        alike = rng.random(others) < 0.6
        figures: list[SimulatedFigure] = []
        for use in range(int(rng.integers(2, 6))):
            with_copy = rng.random() < 0.5
            rounds = int(rng.choice([4, 6, 8, 20] if with_copy else [8, 20, 30]))
            faster = (0.0, *np.where(alike, 0.02, 0.4) * rng.normal(0, 1, others))
            done = (0.0, *np.where(alike, 0.02, 0.15) * rng.normal(0, 1, others))
            noise = float(rng.uniform(0.1, 0.2))
            figures += (
                _mixed(f"use {use}", faster, done, rounds, noise) if with_copy else _alone(f"use {use}", done, rounds)
            )
        found.append(Scenario(f"drawn {number}", tuple(figures)))
    return found


def run(scenario: Scenario, rng: np.random.Generator) -> Decided:
    """One run of it, judged."""
    limits = THRESHOLD_OF_PERIODS
    entries = []
    for each in scenario.figures:
        more = each.kind == "done"
        periods = []
        for _ in range(each.rounds):
            order = rng.permutation(len(SETTINGS))
            luck = rng.normal(0, each.noise / 2)
            logs = np.array(each.effects)[order] + luck + rng.normal(0, each.noise, len(order))
            values = np.exp(logs if more else -logs)
            periods += [(SETTINGS[i], float(value)) for i, value in zip(order, values, strict=True)]
        figures = values_of(periods)
        entries.append(
            UseFigure(
                each.use,
                each.kind,
                "/s" if more else "ms",
                more,
                limits.of(each.kind, each.role),
                figures,
                each.role,
                "drawn",
                purpose=each.purpose,
                kind=each.kind,
                conditions=Conditions(f"{each.kind} {each.role}"),
            )  # fmt: skip
        )
    return made(judge(entries), IN_FORCE, SETTINGS)


def decision(found: Decided) -> tuple[str, ...]:
    """What a run says to set: for everything, and for each purpose."""
    return tuple(
        choice.setting if choice is not None else ""
        for choice in (found.choice, found.by_purpose.get("responsive"), found.by_purpose.get("throughput"))
    )


def loses_most(scenario: Scenario, setting: str) -> bool:
    """Whether in truth this setting loses more in most uses than it gains in one, by what counts."""
    parts: dict[tuple[str, str], list[float]] = {}
    for each in scenario.figures:
        parts.setdefault((each.use, each.purpose), []).append(each.effects[SETTINGS.index(setting)])
    worst = [choose.capped(min(each)) for each in parts.values()]
    gain = max(0.0, *(choose.capped(max(each)) for each in parts.values()))
    return 2 * sum(-each > max(gain, 0.05) for each in worst) > len(worst)


@dataclass
class Stability(Counts):
    """How often runs decide otherwise than usual."""

    runs: int = 0
    flips: int = 0
    everything_flips: int = 0
    advised: int = 0
    """Settings other than the one in force that were named, for everything or for a purpose."""
    harmful: int = 0
    """Those of them that lose more in most uses than they gain in one."""
    changes: int = 0
    """Runs that name another setting for anything."""

    @property
    def everything_flip_share(self) -> float:
        """Share of runs whose setting for everything is not the usual one of their scenario; 0 without runs."""
        return share(self.everything_flips, self.runs)

    @property
    def flip_share(self) -> float:
        """Share of runs with any other decision than the usual one of their scenario; 0 without runs."""
        return share(self.flips, self.runs)

    @property
    def harmful_share(self) -> float:
        """Share of the advised changes; 0 where none was advised."""
        return share(self.harmful, self.advised)


def stability(scenario: Scenario, runs: int, rng: np.random.Generator) -> Stability:
    """Runs of one scenario."""
    seen = Counter(decision(run(scenario, rng)) for _ in range(runs))
    advised = [
        (name, times) for said, times in seen.items() for name in dict.fromkeys(said) if name not in ("", IN_FORCE)
    ]
    return Stability(
        runs,
        runs - max(seen.values()),
        runs - max(Counter(said[0] for said in seen.elements()).values()),
        sum(times for _, times in advised),
        sum(times for name, times in advised if loses_most(scenario, name)),
        sum(times for said, times in seen.items() if any(name not in ("", IN_FORCE) for name in said)),
    )


def over(scenarios: Sequence[Scenario], runs: int, rng: np.random.Generator) -> Stability:
    """All of them together."""
    return sum((stability(each, runs, rng) for each in scenarios), Stability())
