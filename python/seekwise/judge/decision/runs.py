"""Two live-switched runs against each other: the same setting before and after something changed.

Each run's own noise comes from its rounds; Welch's t statistic joins the two. What differs from run to run whatever is set
(the host, the place of the test files) is not in that noise, as the runs were not interleaved: so a difference that one pair of runs shows is
`unconfirmed` until further pairs all show it. Simulated runs have no such noise: one pair is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import special

from seekwise.judge.decision.statistics import NOISE_FLOOR_LOG
from seekwise.judge.decision.table import UseFigure
from seekwise.judge.decision.verdicts import log_of_share
from seekwise.judge.families import two_stage
from seekwise.judge.rule import LEVEL, ROUNDS_MIN

UNCONFIRMED = "unconfirmed"
DIFFERENCES = {"regression", "improvement"}
PAIRS_LEAST = 2


@dataclass(frozen=True)
class UseChange:
    """The second run against the first, under one setting, in one use by one metric. `ratio`: new / base, with its 95 % interval."""

    HIDDEN: ClassVar = ("more_is_better", "threshold")

    use: str
    metric: str
    setting: str
    more_is_better: bool
    threshold: float
    ratio: float
    low: float
    high: float
    outcome: str
    """regression, improvement, unconfirmed (shown by some pairs of runs only), same (within the threshold), undecided"""
    unit: str = ""
    before: float | None = None
    """Values of both runs; of several pairs, of the newest."""
    after: float | None = None

    @property
    def gain_log(self) -> float:
        """Above zero when the new run is better."""
        return math.log(self.ratio) * (1 if self.more_is_better else -1)


def changes(base: Sequence[UseFigure], new: Sequence[UseFigure], settings: Sequence[str]) -> list[UseChange]:
    """Every use and metric that both runs judged, under each of these settings."""
    others = {(each.use, each.metric): each for each in new}
    rows = []
    for entry in base:
        other = others.get((entry.use, entry.metric))
        for setting in settings if other is not None else ():
            mine, its = _mean(entry, setting), _mean(other, setting)
            if mine is not None and its is not None:
                rows.append((entry, setting, (mine[0], its[0]), *_welch(mine, its)))
    clear = two_stage([row[-1] for row in rows], LEVEL) <= LEVEL
    return [_change(*row[:-1], bool(good)) for row, good in zip(rows, clear, strict=True)]


def together(outcomes: Sequence[str], *, needs_confirmation: bool) -> str:
    """The outcome of several pairs of runs, the newest last.

    What differs from run to run whatever is set is not in the noise of one run. So a difference is a regression or an improvement where all of
    at least `PAIRS_LEAST` pairs show it (one, without `needs_confirmation`), and `unconfirmed` where some do.
    """
    found = set(outcomes)
    if len(found) == 1 and not (found & DIFFERENCES and needs_confirmation and len(outcomes) < PAIRS_LEAST):
        return outcomes[-1]
    if found & DIFFERENCES:
        return UNCONFIRMED
    return "undecided" if "undecided" in found else "small"


def over_pairs(pairs: Sequence[Sequence[UseChange]], *, needs_confirmation: bool) -> list[UseChange]:
    """One list of changes from those of one or more pairs of runs: geometric mean of the ratios, the widest interval."""
    found = []
    for first in pairs[0]:
        key = (first.use, first.metric, first.setting)
        same = [each for pair in pairs for each in pair if (each.use, each.metric, each.setting) == key]
        outcome = together([each.outcome for each in same], needs_confirmation=needs_confirmation)
        ratio = math.exp(float(np.mean([math.log(each.ratio) for each in same])))
        low, high = min(each.low for each in same), max(each.high for each in same)
        newest = same[-1]
        found.append(replace(newest, ratio=ratio, low=low, high=high, outcome=outcome))
    return found


def _mean(entry: UseFigure, setting: str) -> tuple[float, float, int] | None:
    """(log value, its variance, degrees of freedom), or None below three rounds."""
    if setting not in entry.figures.settings:
        return None
    rounds = list(entry.figures.rounds(setting))
    n = len(rounds)
    if n < ROUNDS_MIN:
        return None
    error = max(entry.figures.own_error(setting, rounds), NOISE_FLOOR_LOG / n**0.5)
    return entry.figures.log_value(setting, rounds), error**2, n - 1


def _welch(a: tuple[float, float, int], b: tuple[float, float, int]) -> tuple[float, float, float, float]:
    """(log ratio b / a, standard error, degrees of freedom, two-sided p)."""
    variance = a[1] + b[1]
    df = variance**2 / (a[1] ** 2 / a[2] + b[1] ** 2 / b[2])
    difference, se = b[0] - a[0], math.sqrt(variance)
    return difference, se, df, float(2 * special.stdtr(df, -abs(difference / se)))


def _change(
    entry: UseFigure, setting: str, logs: tuple[float, float], difference: float, se: float, df: float, clear: bool
) -> UseChange:
    t = float(special.stdtrit(df, 0.975))
    low, high = difference - t * se, difference + t * se
    limit = log_of_share(entry.threshold, entry.more_is_better)
    if -limit <= low and high <= limit:
        outcome = "same"
    elif clear:
        outcome = "improvement" if (difference > 0) == entry.more_is_better else "regression"
    else:
        outcome = "undecided"
    return UseChange(
        entry.use,
        entry.metric,
        setting,
        entry.more_is_better,
        entry.threshold,
        math.exp(difference),
        math.exp(low),
        math.exp(high),
        outcome,
        entry.unit,
        math.exp(logs[0]),
        math.exp(logs[1]),
    )
