"""The one judge: from entries to what is to be expected of each setting, and in which words it may be said.

Against the setting in force, a setting is

    same      within a bound that is worth naming (the threshold, or 10 %) with 90 % probability
    better    better with 95 % probability
    worse     worse with 95 % probability
    unknown   none of these; the interval says what is known

Every probability comes from one posterior of all entries of the table (`posterior.py`), which is what makes them hold however many are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision import next_program, posterior
from seekwise.judge.decision.effects import Effects, Observed, estimate, shared, with_trades
from seekwise.judge.decision.next_program import Next, of_draws
from seekwise.judge.decision.periods import AGAIN, Merged
from seekwise.judge.decision.posterior import Prior
from seekwise.judge.decision.priors import SET_UPS
from seekwise.judge.decision.table import Conditions, UseFigure, Values
from seekwise.judge.rule import (
    INTERVAL_TAIL,
    P_BETTER,
    P_DIFFERS,
    P_LIKELY,
    P_SAME,
    ROUNDS_MIN,
    SAME_BOUNDS,
)
from seekwise.workload.live_plan import CONTROL_SUFFIX

Array = NDArray[np.float64]
Word = Literal["better", "same", "worse", "unknown"]
TAILS = ("tail", "p99", "p999")
"""Kinds of figures of the slowest units: of the next program's nothing is foretold."""
DRAWS_OF_MANY = 1000
MANY_ENTRIES = 60
LARGEST_LOG = 700.0
"""A ratio beyond it is no number any more."""
NOTHING_LOG = 1e-6
"""Simulated values that differ by less are the same but for rounding."""
STARVED_LOG = math.log(2)
"""A job that gets less than half of what the best setting gives it."""


@dataclass(frozen=True)
class Difference:
    """How much better one setting is than another, as ln goodness: above zero where it is better."""

    mean: float
    low: float
    high: float
    """90 % interval."""
    p_better: float
    p_worse: float
    bound: float
    """The least of `rule.SAME_BOUNDS` (as a share) within which the two are with 90 % probability; infinite beyond the largest."""
    is_within_model: bool = False
    """Less than the model that simulated both can tell."""

    @classmethod
    def from_draws(cls, draws: Array, limit: float, model_error: float = 0.0) -> Difference:
        """From draws. `limit`: the entry's threshold as a share."""
        draws = np.clip(draws, -LARGEST_LOG, LARGEST_LOG)
        low, middle, high = np.quantile(draws, (INTERVAL_TAIL, 0.5, 1 - INTERVAL_TAIL))
        size = np.expm1(np.quantile(np.abs(draws), P_SAME))
        bound = next((candidate for candidate in (limit, *SAME_BOUNDS) if size <= candidate), math.inf)
        return cls(
            float(middle), float(low), float(high), float((draws > 0).mean()), float((draws < 0).mean()), float(bound),
            bool(size <= model_error),
        )  # fmt: skip

    @property
    def word(self) -> Word:
        """The other setting is the one that a reader compares with."""
        if self.is_within_model or self.bound <= SAME_BOUNDS[0]:
            return "same"
        if self.p_better >= P_BETTER:
            return "better"
        if self.p_worse >= P_BETTER:
            return "worse"
        return "same" if math.isfinite(self.bound) else "unknown"


@dataclass(frozen=True)
class CandidateVerdict:
    """A setting in one use by one metric, against the setting in force."""

    HIDDEN: ClassVar = ("rounds", "bound", "is_within_model")

    setting: str
    verdict: Word
    """better, same, worse or unknown, against what is in force; the setting in force itself is `same`."""
    value: float | None
    """In `value_unit`."""
    ratio: float | None
    """Expected value divided by that of the setting in force."""
    low: float | None
    high: float | None
    """90 % interval of the ratio."""
    p_better: float | None
    """Probability that it is better than what is in force, and that it is worse; null for what is in force itself."""
    p_worse: float | None
    rounds: int
    next: Next | None = None
    """What it does to the next program of the use's kind; null for what is in force, and for figures of no kind."""
    bound: float | None = None
    """With `same`: the share within which the two lie."""
    is_within_model: bool = False
    """They differ, by less than the model that simulated both can tell."""
    stalls: int = 0
    """Periods with less than half of its usual goodness."""
    periods: int = 0


@dataclass(frozen=True)
class Judged(UseFigure):
    """An entry with what was found."""

    base: str = ""
    """The setting that the others are held against: what is in force."""
    standings: tuple[CandidateVerdict, ...] = ()
    rounds: int = 0
    quantile: float | None = None
    """Of a slow tail, where it lies."""
    draws: Array = field(default_factory=lambda: np.zeros((1, 0)), repr=False, compare=False)
    """[draw, setting] ln goodness from the posterior, up to a constant; NaN where a setting has no value."""
    spreads: Mapping[str, float] = field(default_factory=dict)
    """{setting: ln by which programs of the kind differ in what it does to them}; empty where nothing is foretold."""

    @property
    def counts(self) -> bool:
        """Whether it may decide anything: enough rounds, or exact values."""
        return self.rounds >= ROUNDS_MIN or self.conditions.exact

    def is_probable(self, standing: CandidateVerdict) -> bool:
        """Whether it is known well enough to name its direction with its probability."""
        return self.counts and max(standing.p_better or 0.0, standing.p_worse or 0.0) >= P_LIKELY

    def standing(self, setting: str) -> CandidateVerdict | None:
        """None for a setting that was not compared here."""
        return next((standing for standing in self.standings if standing.setting == setting), None)

    def gain(self, setting: str, other: str | None = None) -> Array | None:
        """Draws of how much better a setting is than another (the one in force), as ln goodness; None where either was not measured."""
        mine, theirs = self._drawn(setting), self._drawn(self.base if other is None else other)
        return None if mine is None or theirs is None else mine - theirs

    def next_gain(self, setting: str) -> Array | None:
        """The same against what is in force for the next program of the kind; None where nothing is foretold."""
        gain = self.gain(setting) if setting in self.spreads else None
        if gain is None:
            return None
        own = math.sqrt(2) * self.spreads[setting] * next_program.luck(self.part, setting, len(gain))
        return next_program.typical_share(self.conditions.program) * gain + own

    def _drawn(self, setting: str) -> Array | None:
        names = self.figures.settings
        places = self.draws[:, names.index(setting)] if setting in names else None
        return places if places is not None and np.isfinite(places).all() else None

    def difference(self, setting: str, other: str | None = None) -> Difference | None:
        """The same in numbers."""
        gain = self.gain(setting, other)
        return None if gain is None else Difference.from_draws(gain, self.threshold, self.conditions.model_error)

    def behind_best(self, setting: str) -> tuple[float, float, float] | None:
        """(factor by which the best setting is better, 90 % interval), 1 for the best itself; None where it was not measured."""
        mine = self._drawn(setting)
        if mine is None:
            return None
        lost = np.nanmax(self.draws, axis=1) - mine
        low, middle, high = np.exp(np.minimum(np.quantile(lost, (INTERVAL_TAIL, 0.5, 1 - INTERVAL_TAIL)), LARGEST_LOG))
        return float(middle), float(low), float(high)

    @property
    def named(self) -> tuple[CandidateVerdict, ...]:
        """Settings that are better or worse than what is in force."""
        return tuple(standing for standing in self.standings if standing.verdict in ("better", "worse"))

    @property
    def best(self) -> tuple[str, ...]:
        """Settings that no other one is better than, by the same words; empty while nothing is known."""
        known = [standing.setting for standing in self.standings if standing.value is not None]
        best = []
        for name in known:
            against = [each for other in known if other != name and (each := self.difference(name, other)) is not None]
            if against and all(standing.word in ("better", "same") for standing in against):
                best.append(name)
        return tuple(best)

    @property
    def is_open(self) -> bool:
        """Whether some setting is neither alike nor different."""
        return any(standing.verdict == "unknown" for standing in self.standings)


def judge(entries: Sequence[UseFigure], base: str | None = None, prior: Prior = SET_UPS) -> list[Judged]:
    """Every candidate of every entry. The entries are one table: they are estimated together.

    `base`: the setting in force; without it, or where it did not run, the first one of an entry.
    """
    drawn = _without_starved(entries, _drawn(entries, prior))
    return _with_next(
        [_judged(entry, effects, draws, base) for entry, (effects, draws) in zip(entries, drawn, strict=True)]
    )


def _with_next(judged: Sequence[Judged]) -> list[Judged]:
    """With what each setting does to the next program of a kind."""
    effects: dict[tuple[str, str], float] = {}
    mine = [entry for entry in judged if entry.conditions.program and entry.counts and entry.kind not in TAILS]
    for entry in mine:
        for name in entry.figures.settings:
            gain = entry.gain(name)
            key = (name, entry.conditions.background)
            sure = 0.0 if gain is None else abs(float(gain.mean())) - float(gain.std())
            effects[key] = max(effects.get(key, 0.0), sure)
    return [_foretold(entry, effects) if any(entry is one for one in mine) else entry for entry in judged]


def _foretold(entry: Judged, effects: Mapping[tuple[str, str], float]) -> Judged:
    about = entry.conditions
    spreads = {
        name: next_program.spread_log(about.program, about.background, effects[name, about.background])
        for name in entry.figures.settings
        if name != entry.base
    }
    entry = replace(entry, spreads=spreads)
    standings = [
        replace(one, next=None if (gain := entry.next_gain(one.setting)) is None else of_draws(gain, entry.sign))
        for one in entry.standings
    ]
    return replace(entry, standings=tuple(standings))


def of_any(parts: Sequence[Sequence[Judged]], base: str) -> list[Judged]:
    """What is to be expected of one drive out of several, each judged by itself: every draw is of one of them, in turn, so how much they differ is part
    of how sure anything is."""
    judged = []
    for use, metric in dict.fromkeys((entry.use, entry.metric) for part in parts for entry in part):
        known = [next((entry for entry in part if (entry.use, entry.metric) == (use, metric)), None) for part in parts]
        members = [entry for entry in known if entry is not None and entry.gain(base, base) is not None]
        if not members:
            continue
        names = [
            name for name in members[0].figures.settings if all(member.gain(name) is not None for member in members)
        ]
        # A figure that a drive lacks is taken from the others.
        turns = [
            entry if entry is not None and entry.gain(base, base) is not None else members[i % len(members)]
            for i, entry in enumerate(known)
        ]
        draws = np.empty((DRAWS_OF_MANY, len(names)))
        for i, turn in enumerate(turns):
            columns = [turn.figures.settings.index(name) for name in names]
            drawn = np.resize(turn.draws, (DRAWS_OF_MANY, turn.draws.shape[1]))[:, columns]
            draws[i :: len(turns)] = drawn[i :: len(turns)]
        values = tuple(
            (name, i, member.figures.log_value(name, member.figures.rounds(name)), None)
            for i, member in enumerate(members)
            for name in names
        )
        error = min(member.conditions.model_error for member in members)
        fields = {name: getattr(members[0], name) for name in UseFigure.__dataclass_fields__}
        entry = UseFigure(
            **fields
            | {"figures": Values(tuple(names), values), "conditions": Conditions(exact=True, model_error=error)}
        )
        judged.append(_judged(entry, None, draws, base))
    return judged


def control(entries: Sequence[UseFigure], base: str, prior: Prior = SET_UPS) -> list[tuple[UseFigure, Difference]]:
    """What is in force against itself under a second name, where it ran twice in each round: entries in which the two differ by what counts.

    Nothing but time lies between the two, so a difference says that this storage is not steady enough to compare anything.
    """
    again = base + CONTROL_SUFFIX
    mine = [figure for figure in entries if base in figure.figures.settings]
    data = [figure.figures.observed(figure.sign, again) for figure in mine]
    known = [(figure, one) for figure, one in zip(mine, data, strict=True) if one.counts()[-1] >= ROUNDS_MIN]
    if not known:
        return []
    pairs = []
    drawn = _of_observed([figure for figure, _ in known], [one for _, one in known], prior)
    for (entry, one), (_, draws) in zip(known, drawn, strict=True):
        gap = draws[:, -1] - draws[:, one.settings.index(base)]
        if np.isfinite(gap).all() and (np.abs(gap) > entry.limit_log).mean() >= P_DIFFERS:
            pairs.append((entry, Difference.from_draws(gap, entry.threshold)))
    return pairs


def _drawn(entries: Sequence[UseFigure], prior: Prior) -> list[tuple[Effects | None, Array]]:
    """Estimates and draws of each entry; exact values are their own draws."""
    measured = [entry for entry in entries if not _is_exact(entry)]
    drawn = iter(_of_observed(measured, [entry.figures.observed(entry.sign) for entry in measured], prior))
    return [(None, _exact(entry)) if _is_exact(entry) else next(drawn) for entry in entries]


def _without_starved(
    entries: Sequence[UseFigure], drawn: list[tuple[Effects | None, Array]]
) -> list[tuple[Effects | None, Array]]:
    """No setting is ahead by the latency of a job that it starves.

    A closed loop issues no requests while it is starved, so its latencies omit the wait ("coordinated omission").
    """
    starved: dict[tuple[str, str], set[str]] = {}
    for entry, (_, draws) in zip(entries, drawn, strict=True):
        if entry.is_rate and entry.job and draws.shape[1]:
            best = np.nanmax(draws, axis=1, keepdims=True) if np.isfinite(draws).any() else draws
            share_below = (draws < best - STARVED_LOG).mean(axis=0)
            names = [name for name, at in zip(entry.figures.settings, share_below, strict=True) if at >= P_BETTER]
            starved.setdefault((entry.use, entry.job), set()).update(names)
    kept = []
    for entry, (effects, draws) in zip(entries, drawn, strict=True):
        slowed = starved.get((entry.use, entry.job), set()) if entry.is_latency else set()
        at = [i for i, name in enumerate(entry.figures.settings) if name in slowed]
        others = [i for i in range(draws.shape[1]) if i not in at and np.isfinite(draws[:, i]).all()]
        if at and others:
            draws = draws.copy()
            draws[:, at] = np.minimum(draws[:, at], draws[:, others].min(axis=1, keepdims=True))
        kept.append((effects, draws))
    return kept


def _is_exact(entry: UseFigure) -> bool:
    most = max((len(entry.figures.rounds(name)) for name in entry.figures.settings), default=0)
    return entry.conditions.exact and most < ROUNDS_MIN


def _exact(entry: UseFigure) -> Array:
    names = entry.figures.settings
    values = [entry.sign * entry.figures.log_value(n, r) if (r := entry.figures.rounds(n)) else math.nan for n in names]
    return np.broadcast_to(np.array(values), (DRAWS_OF_MANY, len(names)))


def _of_observed(
    entries: Sequence[UseFigure], data: Sequence[Observed], prior: Prior
) -> list[tuple[Effects | None, Array]]:
    data = with_trades(data, [entry.use for entry in entries], [entry.job for entry in entries])
    effects = shared(
        [estimate(one) for one in data],
        [f"{entry.table}/{entry.conditions.family or entry.metric}" for entry in entries],
        [entry.conditions.added_log for entry in entries],
    )
    figures = [
        posterior.Figure(one.settings, effect, entry.use, entry.purpose, entry.conditions.work)
        for entry, one, effect in zip(entries, data, effects, strict=True)
    ]
    count = DRAWS_OF_MANY if len(entries) > MANY_ENTRIES else posterior.DRAWS
    return list(zip(effects, posterior.draws(figures, prior, count), strict=True))


def log_of_share(loss: float, more_is_better: bool) -> float:
    """The log ratio of a loss as a share."""
    return -math.log1p(-loss) if more_is_better else math.log1p(loss)


def _judged(entry: UseFigure, effects: Effects | None, draws: Array, base: str | None) -> Judged:
    names = entry.figures.settings
    against = base if base in names else names[0] if names else ""
    judged = Judged(
        **vars(entry) | {"kind": entry.kind or entry.metric},
        base=against,
        rounds=max((_rounds(entry, name) for name in names), default=0),
        quantile=entry.figures.tail if entry.kind == "tail" and isinstance(entry.figures, Merged) else None,
        draws=draws,
    )
    standings = tuple(_standing(judged, effects, i, name) for i, name in enumerate(names))
    return replace(judged, standings=standings)


def _standing(judged: Judged, effects: Effects | None, index: int, name: str) -> CandidateVerdict:
    rounds = judged.figures.rounds(name)
    value = judged.figures.log_value(name, rounds) if rounds else math.nan
    known = judged.difference(name)
    enough = judged.conditions.exact or _rounds(judged, name) >= ROUNDS_MIN
    word: Word = "same" if name == judged.base else known.word if known is not None and enough else "unknown"
    if word == "better" and name in judged.conditions.unsteady:
        word = "unknown"
    ends = ratios(known, judged.more_is_better) if known is not None else (None, None, None)
    return CandidateVerdict(
        setting=name,
        verdict=word,
        value=math.exp(value) if math.isfinite(value) else None,
        ratio=ends[0],
        low=ends[1],
        high=ends[2],
        p_better=None if known is None or name == judged.base else round(known.p_better, 3),
        p_worse=None if known is None or name == judged.base else round(known.p_worse, 3),
        rounds=_rounds(judged, name),
        bound=known.bound if known is not None and word == "same" and math.isfinite(known.bound) else None,
        is_within_model=known is not None and known.is_within_model and abs(known.mean) > NOTHING_LOG,
        stalls=int(effects.stalls[index]) if effects is not None else 0,
        periods=int(effects.periods[index]) if effects is not None else len(rounds),
    )


def ratios(known: Difference, more_is_better: bool) -> tuple[float, float, float]:
    """(ratio, low, high) of the value itself."""
    if more_is_better:
        return math.exp(known.mean), math.exp(known.low), math.exp(known.high)
    return math.exp(-known.mean), math.exp(-known.high), math.exp(-known.low)


def _rounds(entry: UseFigure, setting: str) -> int:
    """Rounds with a value; what is in force may have two in one."""
    return len({number % AGAIN for number in entry.figures.rounds(setting)})
