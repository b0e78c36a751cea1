"""The one judge: from tested pairs to words.

    of a pair     a winner is shown to be better (corrected over all pairs of its table), and not shown to be within the threshold;
                  a tie is shown to be within the threshold on either side, each side tested at 5 %
    of a setting  within      at most the threshold behind the best, shown (95 %)
                  worse       some pair has another winner
                  best        all others are worse
                  undecided   none of these; the bound says how much it can lose at most

The correction is that of Benjamini, Krieger and Yekutieli (2006): in a table without any difference no setting is called worse in 95 % of
all cases. "Within" needs none, as each statement is tested by itself (intersection-union; Berger 1982).

How far a setting can be behind the best, on the log scale, δ(i, j) being how much better j is than i:

    loss(i)   the greatest δ(i, j) over all j, never below zero
    high(i)   an upper bound of it: the greatest upper bound of δ(i, j). One j is the best in truth and its bound is among them,
              so the statement holds with the probability of a single bound, whichever setting is best
              (multiple comparisons with the best; Hsu 1984, Annals of Statistics 12(3))
    low(i)    the greatest lower bound of δ(i, j), each at a level divided by the number of j
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from seekwise.judge.decision.pair_verdicts import ComparedPair, verdict_of
from seekwise.judge.decision.periods import Merged
from seekwise.judge.decision.statistics import Ahead, spent_at, tested, whole_of
from seekwise.judge.decision.table import UseFigure
from seekwise.judge.families import two_stage
from seekwise.judge.observation import Verdict
from seekwise.judge.rule import ALPHA, INTERVAL_LEVEL, LEVEL, ROUNDS_MIN

Word = Literal["best", "within", "worse", "undecided"]
Rows = Mapping[tuple[str, str], ComparedPair]
"""Of one entry, by pair of settings."""
STARVED_SHARE = 0.5
BOUND_FACTOR = 3.0
"""An undecided candidate is bounded well when it can lose at most this many thresholds."""


@dataclass(frozen=True)
class CandidateVerdict:
    """A setting in one use by one metric. Losses are shares against the best: 0.35 is 35 % behind."""

    HIDDEN: ClassVar = ("rounds", "_factor")

    setting: str
    verdict: Word
    value: float | None
    """In `value_unit`."""
    loss: float | None
    low: float
    high: float | None
    """95 % interval of the loss: from low to high; null: nothing bounds it yet."""
    rounds: int

    @property
    def factor(self) -> float | None:
        """How many times the best is better: 2 for half the rate or twice the latency."""
        return self._factor

    _factor: float | None = None


@dataclass(frozen=True)
class Judged(UseFigure):
    """An entry with what was found."""

    standings: tuple[CandidateVerdict, ...] = ()
    rounds: int = 0
    quantile: float | None = None
    """Of a slow tail, where it lies."""
    ahead: Mapping[tuple[str, str], Ahead] = field(default_factory=dict)
    """{(a, b): how much better a is than b}, of every pair that is known."""
    verdicts: tuple[Verdict, ...] = ()
    """Of every pair."""

    @property
    def counts(self) -> bool:
        """Whether it may decide anything: enough rounds, or exact values."""
        return self.rounds >= ROUNDS_MIN or self.conditions.exact

    @property
    def limit_log(self) -> float:
        """The threshold on the log scale."""
        return log_of_share(self.threshold, self.more_is_better)

    def of(self, setting: str) -> CandidateVerdict | None:
        """None for a setting that was not compared here."""
        return next((each for each in self.standings if each.setting == setting), None)

    @property
    def best(self) -> tuple[str, ...]:
        """The best one; of a tie, all that are within the threshold; empty while nothing is known."""
        alone = tuple(each.setting for each in self.standings if each.verdict == "best")
        return alone or tuple(each.setting for each in self.standings if each.verdict == "within")

    @property
    def open(self) -> tuple[CandidateVerdict, ...]:
        """Standings that are still undecided."""
        return tuple(each for each in self.standings if each.verdict == "undecided")

    @property
    def disagrees(self) -> bool:
        """Whether the choice matters here: somebody is shown to be worse."""
        return any(each.verdict == "worse" for each in self.standings)


def judge(entries: Sequence[UseFigure], *, alpha: float = ALPHA, final: bool = True) -> list[Judged]:
    """Every candidate of every entry. The entries are one table: they share one error rate for "worse"."""
    pairs = tested(entries)
    shares = [spent_at(*entry.looks, final) * entry.conditions.share for entry in entries]
    level = LEVEL * alpha / ALPHA
    q = two_stage(np.minimum([each.p / shares[each.entry] for each in pairs], 1.0), level)
    by_entry: list[dict[tuple[str, str], ComparedPair]] = [{} for _ in entries]
    alone = np.array([alpha * shares[each.entry] for each in pairs])
    others = np.array([max(len(entries[each.entry].figures.settings) - 1, 1) for each in pairs])
    se, df = (np.array([getattr(each.ahead, name) for each in pairs]) for name in ("se", "df"))
    halves = [special.stdtrit(df, 1 - at) * se for at in (alone, alone / others, (1 - INTERVAL_LEVEL) / 2)]
    for i, each in enumerate(pairs):
        by_entry[each.entry][each.a, each.b] = ComparedPair(
            each, float(q[i]), level, float(alone[i]), *(float(half[i]) for half in halves)
        )
    starved = _starved(entries, by_entry)
    return [
        _judged(entry, rows, starved.get((entry.use, entry.job), frozenset()) if entry.is_latency else frozenset())
        for entry, rows in zip(entries, by_entry, strict=True)
    ]


def _starved(entries: Sequence[UseFigure], by_entry: Sequence[Rows]) -> dict[tuple[str, str], frozenset[str]]:
    """{(use, job): candidates whose rate is shown to be below `STARVED_SHARE` of the best rate}.

    A closed-loop load issues no requests while it is starved, so its latency percentiles omit the wait ("coordinated omission").
    Starved candidates get a latency verdict of their own, but the other candidates are not compared with their latency.
    """
    found = {}
    for entry, rows in zip(entries, by_entry, strict=True):
        if entry.is_rate and entry.job:
            known = [_behind(name, entry, rows, ()) for name in entry.figures.settings]
            found[entry.use, entry.job] = frozenset(
                each.setting for each in known if each.low >= -math.log(STARVED_SHARE)
            )
    return found


@dataclass(frozen=True)
class Behind:
    """How far one setting is behind the best, on the log scale."""

    setting: str
    loss: float = 0.0
    low: float = 0.0
    high: float = 0.0
    """Infinite where nothing bounds it."""


def _behind(name: str, entry: UseFigure, rows: Rows, starved: Collection[str]) -> Behind:
    """Loss with bounds. No loss is counted against the `starved`."""
    loss = low = high = 0.0
    for other in entry.figures.settings:
        if other == name or other in starved:
            continue
        row, sign = (rows.get((name, other)), 1.0) if (name, other) in rows else (rows.get((other, name)), -1.0)
        if row is None or not row.tested.decides:
            high = math.inf
            continue
        mean = sign * row.tested.ahead.mean
        loss = max(loss, mean)
        high = max(high, mean + row.half)
        low = max(low, mean - row.half_of_many)
    return Behind(name, loss, low, high)


def share(log_loss: float, more_is_better: bool) -> float:
    """Loss as a share: a rate 35 % lower is 0.35 behind, a latency 35 % longer is 0.35 behind."""
    if not math.isfinite(log_loss):
        return math.inf
    return -math.expm1(-log_loss) if more_is_better else math.expm1(min(log_loss, 700.0))


def log_of_share(loss: float, more_is_better: bool) -> float:
    """The log ratio of a loss as a share; the inverse of `share`."""
    return -math.log1p(-loss) if more_is_better else math.log1p(loss)


def _judged(entry: UseFigure, rows: Rows, starved: Collection[str]) -> Judged:
    names = entry.figures.settings
    limit = log_of_share(entry.threshold, entry.more_is_better)
    verdicts = tuple(verdict_of(entry, a, b, rows.get((a, b)), limit, starved) for a, b in combinations(names, 2))
    behind = [_behind(name, entry, rows, starved) for name in names]
    rounds = [len(entry.figures.rounds(name)) for name in names]
    words = _words(entry, behind, rounds, limit, {each.loser for each in verdicts if each.winner is not None})
    ahead = {}
    for (a, b), row in rows.items():
        if row.tested.decides:
            ahead[b, a], ahead[a, b] = row.tested.ahead, row.tested.ahead.turned()
    return Judged(
        **vars(entry) | {"kind": entry.kind or entry.metric},
        standings=tuple(_standing(entry, *each) for each in zip(behind, words, rounds, strict=True)),
        rounds=max(rounds, default=0),
        quantile=entry.figures.tail if entry.kind == "tail" and isinstance(entry.figures, Merged) else None,
        ahead=_without_starved(ahead, starved),
        verdicts=verdicts,
    )


def _words(
    entry: UseFigure, behind: Sequence[Behind], rounds: Sequence[int], limit: float, beaten: Collection[str | None]
) -> list[Word]:
    words: list[Word] = []
    for each in behind:
        if each.high <= limit and each.setting not in entry.conditions.unsteady:
            words.append("within")
        else:
            words.append("worse" if each.setting in beaten else "undecided")
    if len(words) > 1:
        leader = int(np.argmin([each.loss if count else math.inf for each, count in zip(behind, rounds, strict=True)]))
        if all(word == "worse" for i, word in enumerate(words) if i != leader):
            words[leader] = "best"
    return words


def _without_starved(ahead: Mapping[tuple[str, str], Ahead], starved: Collection[str]) -> dict[tuple[str, str], Ahead]:
    """No setting is ahead by the latency of a job that it starves, as that latency omits the wait: such pairs count as level."""
    level = Ahead(0.0, 0.0, 1.0)
    return {
        (a, b): level if (a in starved and each.mean > 0) or (b in starved and each.mean < 0) else each
        for (a, b), each in ahead.items()
    }


def _standing(entry: UseFigure, behind: Behind, word: Word, rounds: int) -> CandidateVerdict:
    value = whole_of(entry.figures, behind.setting, [entry.figures.rounds(behind.setting)])
    ran = rounds > 0 and math.isfinite(value)
    # All others are shown to be behind the best: its loss is zero.
    high = 0.0 if word == "best" else behind.high
    return CandidateVerdict(
        setting=behind.setting,
        verdict=word,
        value=math.exp(value) if ran else None,
        loss=share(behind.loss, entry.more_is_better) if ran else None,
        low=share(behind.low, entry.more_is_better),
        high=share(high, entry.more_is_better) if math.isfinite(high) else None,
        rounds=rounds,
        _factor=math.exp(min(behind.loss, 700.0)) if ran else None,
    )
