"""Simulated live-switched runs: periods one after the other, with noise that remembers, and known true differences.

    autocorrelated  noise of a period is φ of the one before it (φ 0, 0.3, 0.6, 0.9)
    drifting        the device becomes faster or slower over the run
    bursty          some periods lose a large part (garbage collection, a stall)
    neighbour       somebody else works on the device, on and off for several periods
    carry-over      what one setting leaves behind slows the next period

The order is that of a real run: rounds in random order, neighbours balanced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.judge.decision.pairs import pairs
from seekwise.judge.decision.priors import PROGRAMS
from seekwise.judge.decision.table import Conditions, UseFigure, values_of
from seekwise.judge.decision.verdicts import Judged, judge, log_of_share
from seekwise.workload.study.rounds import Order
from seekwise_proof.calibration.score import Score, of_table

KINDS = ("autocorrelated", "drifting", "bursty", "neighbour", "carry-over")
THRESHOLD = 0.05


@dataclass(frozen=True)
class PeriodDesign:
    """One kind of run."""

    kind: str
    phi: float = 0.3
    settings: int = 4
    rounds: int = 6
    uses: int = 6
    noise: float = 0.03
    effects: tuple[float, ...] = ()
    """True ln differences from the first setting, by setting; missing ones are zero."""


def entries(design: PeriodDesign, rng: np.random.Generator) -> list[UseFigure]:
    """One table: a use after the other, each with one metric."""
    names = tuple(f"setting {i}" for i in range(design.settings))
    effect = np.array([*design.effects, *([0.0] * design.settings)])[: design.settings]
    figures = []
    for use in range(design.uses):
        order = Order(int(rng.integers(2**31)))
        sequence = [name for _ in range(design.rounds) for name in order.round(names)]
        index = np.array([names.index(name) for name in sequence])
        logs = 5.0 + effect[index] + noise(design, len(sequence), rng)
        if design.kind == "carry-over":
            logs[1:] += np.where(index[:-1] == design.settings - 1, -0.1, 0.0)
        values = values_of(list(zip(sequence, np.exp(logs).tolist(), strict=True)))
        conditions = Conditions(family="rate")
        figures.append(UseFigure(f"use {use}", "rate", "MB/s", True, THRESHOLD, values, conditions=conditions))
    return figures


def noise(design: PeriodDesign, count: int, rng: np.random.Generator) -> np.ndarray:
    """Noise of `count` periods on the log scale."""
    steps = rng.normal(0, design.noise * np.sqrt(1 - design.phi**2), count)
    made = np.empty(count)
    last = rng.normal(0, design.noise)
    for t in range(count):
        last = design.phi * last + steps[t]
        made[t] = last
    if design.kind == "drifting":
        made += np.linspace(0, float(rng.choice([-0.3, 0.3])), count)
    elif design.kind == "bursty":
        made -= (rng.random(count) < 0.1) * rng.exponential(0.5, count)
    elif design.kind == "neighbour":
        on = False
        for t in range(count):
            on = (not on) if rng.random() < 0.2 else on
            made[t] -= on * float(rng.normal(0.3, 0.1))
    return made


def _scored(found: Sequence[Judged], effects: Iterable[np.ndarray]) -> Score:
    """One table. `effects`: true logarithms by setting, of each of its uses."""
    of_figure = {id(judged): effect for judged, effect in zip(found, effects, strict=True)}
    rows = []
    for pair in pairs(found):
        effect, (a, b) = of_figure[id(pair.figure)], map(_number, pair.settings)
        rows.append((pair, float(effect[a] - effect[b])))
    return of_table(rows, lambda _: log_of_share(THRESHOLD, True))


def score(design: PeriodDesign, tables: int, rng: np.random.Generator) -> Score:
    """Judges `tables` tables of one design."""
    effect = np.array([*design.effects, *([0.0] * design.settings)])[: design.settings]
    total = Score()
    for _ in range(tables):
        judged = judge(entries(design, rng), None, PROGRAMS)
        total += _scored(judged, [effect] * len(judged))
    return total


def _number(setting: str) -> int:
    return int(setting.split()[1])


def designs(**fixed: object) -> list[PeriodDesign]:
    """Every kind, and every autocorrelation."""
    made = [PeriodDesign("autocorrelated", phi=phi, **fixed) for phi in (0.0, 0.3, 0.6, 0.9)]  # type: ignore[arg-type]
    return made + [PeriodDesign(kind, **fixed) for kind in KINDS[1:]]  # type: ignore[arg-type]
