"""Simulated live-switched runs of programs: many units in each period, whose slow ones come in swings or bursts, and
known true differences.

    even     units are slow now and then, whatever the time
    swings   write-back comes and goes for several periods; while it is there, one unit in eight waits for a flush
    bursts   one period in twenty is full of slow units, all others are quiet
    smooth   one wide hump of times that moves with write-back

A slow unit takes about eighteen times as long as others (a commit next to a backup: 5 ms, or 90 ms while a flush is
under way), so quantiles lie near a gap, and a mean hangs on how many bursts it holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seekwise.judge.decision.periods import JobPeriod, Merged, histogram
from seekwise.judge.decision.priors import PROGRAMS
from seekwise.judge.decision.table import UseFigure
from seekwise.judge.decision.verdicts import judge
from seekwise.workload.study.rounds import Order
from seekwise_proof.calibration.score import EQUAL, Counts

KINDS = ("even", "swings", "bursts", "smooth")
METRICS = ("time", "tail")
THRESHOLD = 0.10
FAST_NS, SLOW_NS = 5e6, 90e6
SWING_CHANGES = 0.15
SWING_SHARE = 0.3


@dataclass(frozen=True)
class UnitDesign:
    """One kind of run."""

    kind: str
    rounds: int = 20
    units: float = 150.0
    """In a period, on average."""
    effects: tuple[float, ...] = (0.0, 0.0, 0.0)
    """True ln of the time of a unit, by setting."""

    @property
    def settings(self) -> tuple[str, ...]:
        """`setting 0` and so on, one per true effect; the first is what others are compared with."""
        return tuple(f"setting {i}" for i in range(len(self.effects)))


def entries(design: UnitDesign, rng: np.random.Generator) -> list[UseFigure]:
    """The time of a unit and its slow tail, of one use."""
    figures = {metric: Merged(design.settings, metric) for metric in METRICS}
    order, is_swinging = Order(int(rng.integers(2**31))), False
    for number in range(design.rounds):
        for name in order.round(design.settings):
            if rng.random() < SWING_CHANGES:
                is_swinging = bool(rng.random() < SWING_SHARE)
            times_ns = _times_ns(design, is_swinging, rng) * math.exp(design.effects[design.settings.index(name)])
            period = JobPeriod(1.0, len(times_ns), 4096 * len(times_ns), float(times_ns.sum()), histogram(times_ns))
            for figure in figures.values():
                figure.add(name, number, period)
    return [UseFigure("u", metric, "ms", False, THRESHOLD, figure) for metric, figure in figures.items()]


def _times_ns(design: UnitDesign, is_swinging: bool, rng: np.random.Generator) -> np.ndarray:
    count = max(1, int(rng.poisson(design.units)))
    if design.kind == "smooth":
        return np.exp(rng.normal(math.log(FAST_NS), 0.8, count) + 0.7 * is_swinging)
    if design.kind == "bursts":
        share = 0.5 if rng.random() < 0.05 else 0.002
    elif design.kind == "swings":
        share = 0.12 if is_swinging else 0.004
    else:
        share = 0.03
    fast, slow = rng.normal(math.log(FAST_NS), 0.4, count), rng.normal(math.log(SLOW_NS), 0.3, count)
    return np.exp(np.where(rng.random(count) < share, slow, fast))


@dataclass
class UnitScore(Counts):
    """What statements on programs are worth."""

    statements: int = 0
    named: int = 0
    false_named: int = 0
    effects: int = 0
    found: int = 0


def score(design: UnitDesign, runs: int, rng: np.random.Generator) -> UnitScore:
    """Judges `runs` runs of one design."""
    total = UnitScore()
    for _ in range(runs):
        for entry in judge(entries(design, rng), None, PROGRAMS):
            for standing in entry.standings[1:]:
                gain = design.effects[0] - design.effects[design.settings.index(standing.setting)]
                named = standing.verdict in ("better", "worse")
                wrong = named and (abs(gain) < EQUAL or (gain > 0) != (standing.verdict == "better"))
                total.statements += 1
                total.named += named
                total.false_named += wrong
                total.effects += abs(gain) >= EQUAL
                total.found += named and not wrong
    return total


def over(effects: tuple[float, ...], runs: int, rng: np.random.Generator) -> UnitScore:
    """Every kind, few rounds and many."""
    lengths = ((6, 150.0), (20, 150.0), (60, 60.0))
    designs = (UnitDesign(kind, rounds, units, effects) for kind in KINDS for rounds, units in lengths)
    return sum((score(design, runs, rng) for design in designs), UnitScore())
