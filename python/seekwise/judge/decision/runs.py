"""Two live-switched runs against each other: the same setting before and after something changed.

The same judge as of settings within a run, with the two runs as the settings. What differs from run to run whatever is
set (the host, the place of the test files) is in no run's own noise, as the runs were not interleaved: a little is
added for it (`RUN_TO_RUN_LOG`), and a difference that one pair of runs shows is `unconfirmed` until further pairs all
show it. Simulated runs have no such noise: one pair is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from seekwise.judge.decision.effects import Observed
from seekwise.judge.decision.table import UseFigure
from seekwise.judge.decision.verdicts import Judged, judge
from seekwise.judge.rule import ROUNDS_MIN

UNCONFIRMED = "unconfirmed"
DIFFERENCES = {"regression", "improvement"}
PAIRS_LEAST = 2


@dataclass(frozen=True)
class UseChange:
    """The second run against the first, under one setting, in one use by one metric. `ratio`: new / base, with its 90 %
    interval."""

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
    """regression, improvement, unconfirmed (shown by some pairs of runs only), same (within the threshold),
    undecided"""
    unit: str = ""
    before: float | None = None
    """Values of both runs; of several pairs, of the newest."""
    after: float | None = None


BEFORE, AFTER = "before", "after"
RUN_TO_RUN_LOG = 0.03
"""What a figure differs by between two runs of the same setting on the same disk, beyond what the rounds of either
show."""


@dataclass(frozen=True)
class TwoRuns:
    """The values of one setting in two runs that share no round (`table.Figures`)."""

    runs: tuple[UseFigure, UseFigure]
    setting: str
    settings: tuple[str, ...] = (BEFORE, AFTER)

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Of one of the two runs."""
        return self.runs[self.settings.index(setting)].figures.rounds(self.setting)

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        """Of one of the two runs."""
        return self.runs[self.settings.index(setting)].figures.log_value(self.setting, rounds)

    def observed(self, sign: float, again: str = "") -> Observed:
        """All values as if of one round: there is none that both were in."""
        parts = []
        for run in self.runs:
            data = run.figures.observed(sign)
            parts.append(data.y[data.setting == data.settings.index(self.setting)])
        which = np.repeat([0, 1], [len(part) for part in parts]).astype(np.intp)
        nothing = np.zeros(len(which), np.intp)
        return Observed(self.settings, which, nothing, np.concatenate(parts), nothing, nothing - 1)


def changes(base: Sequence[UseFigure], new: Sequence[UseFigure], settings: Sequence[str]) -> list[UseChange]:
    """Every use and metric that both runs judged, under each of these settings; one table, estimated together."""
    others = {(figure.use, figure.metric): figure for figure in new}
    rows = []
    for entry in base:
        other = others.get((entry.use, entry.metric))
        if other is None:
            continue
        for setting in settings:
            if all(setting in side.figures.settings and side.figures.rounds(setting) for side in (entry, other)):
                conditions = replace(entry.conditions, added_log=RUN_TO_RUN_LOG)
                rows.append((setting, replace(entry, figures=TwoRuns((entry, other), setting), conditions=conditions)))
    judged = judge([entry for _, entry in rows], BEFORE, with_pairs=False)
    return [
        _change(row, setting)
        for (setting, _), row in zip(rows, judged, strict=True)
        if min(len(row.figures.rounds(name)) for name in (BEFORE, AFTER)) >= ROUNDS_MIN
    ]


OUTCOMES = {"better": "improvement", "worse": "regression", "same": "same", "unknown": "undecided"}


def _change(judged: Judged, setting: str) -> UseChange:
    after, before = judged.standing(AFTER), judged.standing(BEFORE)
    assert after is not None and before is not None
    return UseChange(
        judged.use,
        judged.metric,
        setting,
        judged.more_is_better,
        judged.threshold,
        after.ratio or math.nan,
        after.low or math.nan,
        after.high or math.nan,
        OUTCOMES[after.verdict],
        judged.unit,
        before.value,
        after.value,
    )


def together(outcomes: Sequence[str], *, needs_confirmation: bool) -> str:
    """The outcome of several pairs of runs, the newest last.

    What differs from run to run whatever is set is not in the noise of one run. So a difference is a regression or an
    improvement where all of at least `PAIRS_LEAST` pairs show it (one, without `needs_confirmation`), and `unconfirmed`
    where some do.
    """
    kinds = set(outcomes)
    if len(kinds) == 1 and not (kinds & DIFFERENCES and needs_confirmation and len(outcomes) < PAIRS_LEAST):
        return outcomes[-1]
    if kinds & DIFFERENCES:
        return UNCONFIRMED
    return "undecided" if "undecided" in kinds else "small"


def mean_interval(intervals: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Geometric mean of the ratios, the widest interval; the newest where fewer than two are known."""
    known = [interval for interval in intervals if all(math.isfinite(end) and end > 0 for end in interval)]
    if len(known) < 2:
        return intervals[-1]
    ratios, lows, highs = zip(*known, strict=True)
    return math.exp(sum(map(math.log, ratios)) / len(known)), min(lows), max(highs)


def over_pairs(pairs: Sequence[Sequence[UseChange]], *, needs_confirmation: bool) -> list[UseChange]:
    """The changes of the newest pair of runs, the last one, with what all pairs say together."""
    changes = []
    for newest in pairs[-1]:
        key = (newest.use, newest.metric, newest.setting)
        same = [change for pair in pairs for change in pair if (change.use, change.metric, change.setting) == key]
        outcome = together([change.outcome for change in same], needs_confirmation=needs_confirmation)
        ratio, low, high = mean_interval([(change.ratio, change.low, change.high) for change in same])
        changes.append(replace(newest, outcome=outcome, ratio=ratio, low=low, high=high))
    return changes
