"""From bounds to words: best, within the threshold, worse, undecided.

    within      at most the threshold behind the best, shown (95 %)
    worse       shown to be behind the best, and not shown to be within the threshold
    best        all others are worse
    undecided   neither; the bound says how much it can lose at most

"Worse" is corrected for the number of statements of the whole table (Benjamini and Hochberg 1995): in a table without any
difference, nobody is called worse in 95 % of all cases. "Within" needs no such correction, as each statement is tested by itself
(intersection-union; Berger 1982).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from seekwise.analysis.decision.bounds import ALPHA, Ahead, Bounds, bounds
from seekwise.analysis.decision.periods import Merged
from seekwise.analysis.decision.table import Entry
from seekwise.analysis.families import benjamini_hochberg
from seekwise.study.uses import Purpose

Word = Literal["best", "within", "worse", "undecided"]
DECISION_RULE_VERSION = "4"
LEVEL_WORSE = 0.03
"""Nominal level of "worse": with it at most 5 % of tables without any difference call somebody worse (`verify judgement`)."""
STARVED_SHARE = 0.5
BOUND_FACTOR = 3.0
"""An undecided candidate is bounded well when it can lose at most this many thresholds."""


@dataclass(frozen=True)
class Standing:
    """One candidate by one metric of one use. Losses are shares against the best (0.35 = 35 % behind)."""

    setting: str
    verdict: Word
    value: float | None
    loss: float | None
    low: float
    high: float | None
    """None: nothing bounds it yet."""
    rounds: int

    @property
    def factor(self) -> float | None:
        """How many times the best is better: 2 for half the rate or twice the latency."""
        return self._factor

    _factor: float | None = None


@dataclass(frozen=True)
class Judged:
    """One metric of one use, judged."""

    use: str
    metric: str
    unit: str
    more_is_better: bool
    threshold: float
    role: str
    group: str
    title: str
    standings: tuple[Standing, ...]
    rounds: int
    s_log: float
    """Typical noise of one round's difference on the log scale."""
    purpose: Purpose = "throughput"
    job: str = ""
    work: str = ""
    """What one unit of work is called; empty for requests."""
    kind: str = ""
    quantile: float | None = None
    """Of a slow tail, where it lies."""
    ahead: Mapping[tuple[str, str], Ahead] = field(default_factory=dict)
    """{(a, b): how much better a is than b}, of every pair that is known."""

    @property
    def limit_log(self) -> float:
        """The threshold on the log scale."""
        return log_of_share(self.threshold, self.more_is_better)

    def of(self, setting: str) -> Standing | None:
        return next((each for each in self.standings if each.setting == setting), None)

    @property
    def best(self) -> tuple[str, ...]:
        """The best one; of a tie, all that are within the threshold; empty while nothing is known."""
        alone = tuple(each.setting for each in self.standings if each.verdict == "best")
        return alone or tuple(each.setting for each in self.standings if each.verdict == "within")

    @property
    def open(self) -> tuple[Standing, ...]:
        return tuple(each for each in self.standings if each.verdict == "undecided")

    @property
    def disagrees(self) -> bool:
        """Whether the choice matters here: somebody is shown to be worse."""
        return any(each.verdict == "worse" for each in self.standings)


def judge(entries: Sequence[Entry], *, alpha: float = ALPHA, final: bool = True) -> list[Judged]:
    """Every candidate of every entry. The entries are one table: they share one error rate for "worse"."""
    starved = _starved(entries, alpha, final)
    found = [
        bounds(entry, alpha=alpha, final=final, starved=starved.get((entry.use, entry.job), frozenset()))
        if entry.is_latency
        else bounds(entry, alpha=alpha, final=final)
        for entry in entries
    ]
    found = [
        replace(each, ahead=_without_starved(each.ahead, starved.get((entry.use, entry.job), frozenset())))
        if entry.is_latency
        else each
        for entry, each in zip(entries, found, strict=True)
    ]
    rejected = _benjamini_hochberg([each.p for each in found], LEVEL_WORSE * alpha / ALPHA)
    return [_judged(entry, each, worse) for entry, each, worse in zip(entries, found, rejected, strict=True)]


def _starved(entries: Sequence[Entry], alpha: float, final: bool) -> dict[tuple[str, str], frozenset[str]]:
    """{(use, job): candidates whose rate is shown to be below `STARVED_SHARE` of the best rate}.

    A closed-loop load issues no requests while it is starved, so its latency percentiles omit the wait ("coordinated omission").
    Starved candidates get a latency verdict of their own, but the other candidates are not compared with their latency.
    """
    found = {}
    for entry in entries:
        if entry.is_rate and entry.job:
            seen = bounds(entry, alpha=alpha, final=final)
            behind = np.flatnonzero(seen.low >= -math.log(STARVED_SHARE))
            found[entry.use, entry.job] = frozenset(seen.settings[i] for i in behind)
    return found


def _without_starved(ahead: Mapping[tuple[str, str], Ahead], starved: frozenset[str]) -> dict[tuple[str, str], Ahead]:
    """No setting is ahead by the latency of a job that it starves, as that latency omits the wait: such pairs count as level."""
    level = Ahead(0.0, 0.0, 1.0)
    return {
        (a, b): level if (a in starved and each.mean > 0) or (b in starved and each.mean < 0) else each
        for (a, b), each in ahead.items()
    }


def _benjamini_hochberg(p_values: Sequence[np.ndarray], alpha: float) -> list[np.ndarray]:
    """Which hypotheses are rejected, in the shape in which they came."""
    if not p_values:
        return []
    rejected = passed(np.concatenate([np.asarray(each) for each in p_values]), alpha)
    return np.split(rejected, np.cumsum([len(each) for each in p_values])[:-1])


def passed(p: np.ndarray, alpha: float) -> np.ndarray:
    """Benjamini and Hochberg 1995: rejected at a false discovery rate of alpha."""
    if len(p) == 0:
        return np.zeros(0, dtype=bool)
    return benjamini_hochberg(np.clip(p, 0.0, 1.0)) <= alpha


def share(log_loss: float, more_is_better: bool) -> float:
    """Loss as a share: a rate 35 % lower is 0.35 behind, a latency 35 % longer is 0.35 behind."""
    if not math.isfinite(log_loss):
        return math.inf
    return -math.expm1(-log_loss) if more_is_better else math.expm1(min(log_loss, 700.0))


def log_of_share(loss: float, more_is_better: bool) -> float:
    """The log ratio of a loss as a share; the inverse of `share`."""
    return -math.log1p(-loss) if more_is_better else math.log1p(loss)


def _judged(entry: Entry, found: Bounds, worse: np.ndarray) -> Judged:
    limit = log_of_share(entry.threshold, entry.more_is_better)
    words: list[Word] = []
    for i in range(len(found.settings)):
        if math.isfinite(found.high[i]) and found.high[i] <= limit:
            words.append("within")
        else:
            words.append("worse" if worse[i] else "undecided")
    leader = int(np.argmin(np.where(found.rounds > 0, found.loss, np.inf))) if len(words) else 0
    if len(words) > 1 and all(word == "worse" for i, word in enumerate(words) if i != leader):
        words[leader] = "best"
    standings = tuple(_standing(entry, found, i, words[i]) for i in range(len(words)))
    return Judged(
        entry.use,
        entry.metric,
        entry.unit,
        entry.more_is_better,
        entry.threshold,
        entry.role,
        entry.group,
        entry.title,
        standings,
        int(found.rounds.max(initial=0)),
        found.s_log,
        entry.purpose,
        entry.job,
        entry.work,
        entry.kind or entry.metric,
        entry.figures.tail if entry.kind == "tail" and isinstance(entry.figures, Merged) else None,
        found.ahead,
    )


def _standing(entry: Entry, found: Bounds, i: int, word: Word) -> Standing:
    ran = found.rounds[i] > 0 and math.isfinite(found.log_value[i])
    low, high = max(0.0, float(found.low[i])), float(found.high[i])
    if word == "best":
        # All others are shown to be behind it: its loss is zero.
        high = 0.0
    loss = float(found.loss[i])
    return Standing(
        setting=found.settings[i],
        verdict=word,
        value=math.exp(found.log_value[i]) if ran else None,
        loss=share(loss, entry.more_is_better) if ran else None,
        low=share(low, entry.more_is_better),
        high=share(high, entry.more_is_better) if math.isfinite(high) else None,
        rounds=int(found.rounds[i]),
        _factor=math.exp(min(loss, 700.0)) if ran else None,
    )
