"""Simulated live-switched runs: periods one after the other, with noise that remembers, and known true differences.

    autocorrelated  noise of a period is φ of the one before it (φ 0, 0.3, 0.6, 0.9)
    drifting        the device becomes faster or slower over the run
    bursty          some periods lose a large part (garbage collection, a stall)
    neighbour       somebody else works on the device, on and off for several periods
    carry-over      what one setting leaves behind slows the next period

The order is that of a real run: rounds in random order, neighbours balanced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.analysis.calibration.score import EQUAL, Score
from seekwise.analysis.decision.pairs import compare
from seekwise.analysis.decision.table import Entry, values_of
from seekwise.analysis.decision.verdicts import judge, log_of_share
from seekwise.study.rounds import Order

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


def entries(design: PeriodDesign, rng: np.random.Generator) -> list[Entry]:
    """One table: a use after the other, each with one metric."""
    names = tuple(f"setting {i}" for i in range(design.settings))
    effect = np.array([*design.effects, *([0.0] * design.settings)])[: design.settings]
    found = []
    for use in range(design.uses):
        order = Order(int(rng.integers(2**31)))
        sequence = [name for _ in range(design.rounds) for name in order.round(names)]
        index = np.array([names.index(name) for name in sequence])
        logs = 5.0 + effect[index] + noise(design, len(sequence), rng)
        if design.kind == "carry-over":
            logs[1:] += np.where(index[:-1] == design.settings - 1, -0.1, 0.0)
        values = values_of(list(zip(sequence, np.exp(logs).tolist(), strict=True)))
        found.append(Entry(f"use {use}", "rate", "MB/s", True, THRESHOLD, values))
    return found


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


@dataclass
class PeriodScore:
    """Counts over tables of periods."""

    pairs: Score
    statements: int = 0
    false_statements: int = 0
    """Losses above their bound, "within" of what is not, "worse" of what is best."""


def score(design: PeriodDesign, tables: int, rng: np.random.Generator) -> PeriodScore:
    """Judges `tables` tables of one design."""
    total = PeriodScore(Score())
    effect = np.array([*design.effects, *([0.0] * design.settings)])[: design.settings]
    losses = effect.max() - effect
    for _ in range(tables):
        made = entries(design, rng)
        total.pairs += _pairs(made, effect)
        for judged in judge(made):
            for standing in judged.standings:
                total.statements += 1
                loss = float(losses[int(standing.setting.split()[1])])
                beyond = standing.high is not None and loss > log_of_share(min(standing.high, 0.999), True) + 1e-9
                wrong = beyond or (standing.verdict == "worse" and loss < EQUAL)
                total.false_statements += wrong
    return total


def _pairs(made: Sequence[Entry], effect: np.ndarray) -> Score:
    found = Score(tables=1, null_tables=int(not np.ptp(effect) > EQUAL))
    won = False
    limit = log_of_share(THRESHOLD, True)
    for each in compare(made):
        true = effect[int(each.setting_a.split()[1])] - effect[int(each.setting_b.split()[1])]
        found.effects += abs(true) >= EQUAL
        if each.winner is not None:
            won = True
            right = abs(true) >= EQUAL and (true > 0) == (each.winner == each.setting_a)
            found.winners += 1
            found.false_winners += not right
            found.found += right
        elif each.word == "tie":
            found.ties += 1
            found.false_ties += abs(true) >= limit * 0.999
    found.null_tables_with_winner = int(bool(found.null_tables) and won)
    return found


def designs(**fixed: object) -> list[PeriodDesign]:
    """Every kind, and every autocorrelation."""
    made = [PeriodDesign("autocorrelated", phi=phi, **fixed) for phi in (0.0, 0.3, 0.6, 0.9)]  # type: ignore[arg-type]
    return made + [PeriodDesign(kind, **fixed) for kind in KINDS[1:]]  # type: ignore[arg-type]
