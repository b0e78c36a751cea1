"""Two runs against each other, however they were made: the same setting before and after something changed.

The same judge as of settings within a run, with the two runs as the settings. What differs from run to run whatever is
set (the host, the place of the test files) is in no run's own noise, as the runs were not interleaved: a little is
added for it (`RUN_TO_RUN_LOG`), and a difference that one pair of runs shows is `unconfirmed` until further pairs all
show it. Simulated runs have no such noise: one pair is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from seekwise.judge.decision.effects import Observed
from seekwise.judge.decision.table import UseFigure
from seekwise.judge.decision.verdicts import Judged, Word, judge
from seekwise.judge.rule import ROUNDS_MIN

DIFFERENCES = {"better", "worse"}
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
    verdict: Word | Literal["unconfirmed"]
    """Of the second run: better, same, worse or unknown; unconfirmed where only some pairs of runs show a difference."""
    unit: str = ""
    before: float | None = None
    """Values of both runs, of which `ratio` is made; of several pairs their geometric means."""
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


def changes(base: Sequence[UseFigure], new: Sequence[UseFigure]) -> list[UseChange]:
    """Every use and metric that both runs have, under each setting that both have; one table, estimated together."""
    others = {(figure.use, figure.metric): figure for figure in new}
    rows = []
    for entry in base:
        other = others.get((entry.use, entry.metric))
        if other is None:
            continue
        for setting in entry.figures.settings:
            if entry.figures.rounds(setting) and setting in other.figures.settings and other.figures.rounds(setting):
                conditions = replace(entry.conditions, added_log=RUN_TO_RUN_LOG)
                rows.append((setting, replace(entry, figures=TwoRuns((entry, other), setting), conditions=conditions)))
    judged = judge([entry for _, entry in rows], BEFORE)
    return [_change(row, setting) for (setting, _), row in zip(rows, judged, strict=True)]


def _change(judged: Judged, setting: str) -> UseChange:
    after, before = judged.standing(AFTER), judged.standing(BEFORE)
    assert after is not None and before is not None
    is_enough = judged.conditions.exact or min(before.rounds, after.rounds) >= ROUNDS_MIN
    ratio, low, high = after.ratio or math.nan, after.low or math.nan, after.high or math.nan
    if before.value and after.value and low <= high:
        # The estimate leans on other figures where this one is little known. What is said beside its values does not contradict them.
        ratio = after.value / before.value
        is_enough = is_enough and low <= ratio <= high
        low, high = min(low, ratio), max(high, ratio)
    return UseChange(
        judged.use,
        judged.metric,
        setting,
        judged.more_is_better,
        judged.threshold,
        ratio,
        low,
        high,
        after.verdict if is_enough else "unknown",
        judged.unit,
        before.value,
        after.value,
    )


def _together(same: Sequence[UseChange], *, needs_confirmation: bool) -> Word | Literal["unconfirmed"]:
    """The verdict of several pairs of runs, the newest last.

    What differs from run to run whatever is set is not in the noise of one run. So the second run is better or worse
    where all of at least `PAIRS_LEAST` pairs show it (one, without `needs_confirmation`), and `unconfirmed` where some
    do.
    """
    kinds = {change.verdict for change in same}
    if len(kinds) == 1 and not (kinds & DIFFERENCES and needs_confirmation and len(same) < PAIRS_LEAST):
        return same[-1].verdict
    return "unconfirmed" if kinds & DIFFERENCES else "unknown"


def _over(same: Sequence[UseChange]) -> UseChange:
    """Geometric means and the widest interval of all pairs; the newest alone where fewer than two are known."""
    known = [change for change in same if change.low > 0 and math.isfinite(change.high)]
    if len(known) < 2:
        return same[-1]
    columns = ([getattr(change, name) for change in known] for name in ("ratio", "before", "after"))
    means = [math.exp(sum(map(math.log, column)) / len(column)) if all(column) else column[-1] for column in columns]
    low, high = min(change.low for change in known), max(change.high for change in known)
    return replace(same[-1], ratio=means[0], low=low, high=high, before=means[1], after=means[2])


def over_pairs(pairs: Sequence[Sequence[UseChange]], *, needs_confirmation: bool) -> list[UseChange]:
    """The changes of the newest pair of runs, the last one, with what all pairs say together."""
    changes = []
    for newest in pairs[-1]:
        key = (newest.use, newest.metric, newest.setting)
        same = [change for pair in pairs for change in pair if (change.use, change.metric, change.setting) == key]
        verdict = _together(same, needs_confirmation=needs_confirmation)
        changes.append(replace(_over(same), verdict=verdict))
    return changes
