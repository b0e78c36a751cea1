"""The one statistics of every verdict: each pair of settings of a table, its difference, error and p.

Each figure is merged over rounds, never averaged over them, and its difference (`Figures.log_ratio`: of plain values the paired t test on the log
scale, else `pair_errors`) has a t statistic that is made of differences that are symmetric by the random order of each round. Such a t test keeps its level at 5 % and
below whatever the variances of the rounds are (Ibragimov and Müller 2010, J. Business & Economic Statistics 28(4); Bakirov and
Székely 2006), which covers autocorrelation, drift, bursts and a noisy neighbour alike.

Few rounds know their own noise badly, so pairs lend each other what they know of it (`moderate.py`): pairs of one entry, and of
all entries of a family that is large enough (`table.Conditions.family`).

Looking several times spends the error rate in parts that add up to it: at look k of K the share (k/K)⁴ − ((k−1)/K)⁴ (power family of
Kim and DeMets 1987, Biometrika 74(1)). Early looks only save time where a difference is large; most is kept for the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seekwise.judge.decision.table import Figures, UseFigure
from seekwise.judge.moderate import NO_PRIOR, fit_prior
from seekwise.judge.rule import ROUNDS_MIN

Array = NDArray[np.float64]

FAMILY_MIN = 5
"""Fewer entries say too little about how noise is distributed over them."""
PAIRS_MIN = 3
"""Fewer pairs of one entry lend each other nothing."""
SPENDING_POWER = 4
RARE_FACTOR = 2
"""One of two candidates is rare when the other ran in so many times the rounds that they share."""
NEIGHBOURS_MOST = 10
"""Rounds that are further away are no neighbours: the candidate ran no more."""
EXACT_DF = 1e6
NOISE_FLOOR_LOG = 1e-4
"""Equal numbers (rounded, or an exact model) are not known better than 0.01 %."""


@dataclass(frozen=True)
class Pair:
    """b against a: δ > 0 when b is better."""

    mean: float
    s_squared: float
    """Variance of one round's difference."""
    rounds: int
    added_variance: float = 0.0
    """Of the mean, beyond what the rounds show."""


@dataclass(frozen=True)
class Ahead:
    """How much better one setting is than another on the log scale, as an estimate whose error follows a t distribution."""

    mean: float
    se: float
    df: float
    rounds: int = 0

    def low_alone(self, level: float) -> float:
        """The lower bound by its own rounds alone, nothing borrowed from other pairs."""
        return self.mean - float(special.stdtrit(max(1.0, self.rounds - 1.0), 1 - level)) * self.se

    def low(self, level: float) -> float:
        """One-sided lower bound; not above it with probability `level` if the estimate is all noise."""
        return self.mean - float(special.stdtrit(self.df, 1 - level)) * self.se

    def high(self, level: float) -> float:
        """One-sided upper bound; not below it with probability `level` if the estimate is all noise."""
        return self.mean + float(special.stdtrit(self.df, 1 - level)) * self.se

    def turned(self) -> Ahead:
        """The other setting against this one."""
        return Ahead(-self.mean, self.se, self.df, self.rounds)


def spent_at(look: int, looks: int, final: bool) -> float:
    """Share of the error rate for this look; the final one takes what is left."""
    before = ((look - 1) / looks) ** SPENDING_POWER
    return 1.0 - before if final or look >= looks else (look / looks) ** SPENDING_POWER - before


def pair(entry: UseFigure, a: str, b: str) -> Pair | None:
    """The log ratio over the rounds that both ran in, or ran near one another; None below two.

    Of exact values one round is enough, and has no noise.
    """
    figures = entry.figures
    of_a, of_b = together(figures.rounds(a), figures.rounds(b))
    count = len(of_a)
    if count < (1 if entry.conditions.exact else 2):
        return None
    sign = 1.0 if entry.more_is_better else -1.0
    if entry.conditions.exact and count < ROUNDS_MIN:
        whole = sign * (whole_of(figures, b, of_b) - whole_of(figures, a, of_a))
        return Pair(whole, NOISE_FLOOR_LOG**2, count)
    log_ratio, s_squared = figures.log_ratio(a, of_a, b, of_b)
    return Pair(sign * log_ratio, max(s_squared, NOISE_FLOOR_LOG**2), count, figures.added_variance(a, b))


def whole_of(figures: Figures, name: str, groups: Sequence[Sequence[int]]) -> float:
    """Logarithm of the figure over all rounds of these groups; NaN without any."""
    rounds = [number for group in groups for number in group]
    return figures.log_value(name, rounds) if rounds else float("nan")


def together(rounds_a: Sequence[int], rounds_b: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Rounds of a and of b that are compared with each other, group by group.

    Usually the rounds that both ran in, one by one. Where one of them needs long periods and runs only in every tenth round, its
    rounds have the other's nearest rounds around them: all of what is known of the other counts, and drift cancels.
    """
    if rounds_a == rounds_b:
        alone = [[each] for each in rounds_a]
        return alone, alone
    a, b = set(rounds_a), set(rounds_b)
    common = sorted(a & b)
    if len(common) < 2 or max(len(a), len(b)) < RARE_FACTOR * len(common):
        return [[each] for each in common], [[each] for each in common]
    groups_a, groups_b = {each: [each] for each in common}, {each: [each] for each in common}
    for groups, alone in ((groups_a, sorted(a - b)), (groups_b, sorted(b - a))):
        for number in alone:
            nearest = min(common, key=lambda each: (abs(each - number), each))
            if abs(nearest - number) <= NEIGHBOURS_MOST:
                groups[nearest].append(number)
    return [groups_a[each] for each in common], [groups_b[each] for each in common]


@dataclass(frozen=True)
class Tested:
    """One pair of one entry: how much better b is than a on the log scale, and how surely."""

    entry: int
    a: str
    b: str
    ahead: Ahead
    """Of b."""
    p: float
    """Two-sided; NaN below the least number of rounds."""
    sd: float
    """Of one round's difference, as all that is known of it makes one expect."""

    @property
    def decides(self) -> bool:
        """False with fewer rounds than a test needs."""
        return not np.isnan(self.p)


def tested(entries: Sequence[UseFigure]) -> list[Tested]:
    """Every pair of every entry that two rounds or more tell of, in the order of entries and settings."""
    keys: list[tuple[int, str, str]] = []
    pairs: list[Pair] = []
    for number, entry in enumerate(entries):
        for a, b in combinations(entry.figures.settings, 2):
            each = pair(entry, a, b)
            if each is not None and np.isfinite(each.s_squared):
                keys.append((number, a, b))
                pairs.append(each)
    found: dict[int, Tested] = {}
    for members, lends in _lenders(entries, [number for number, _, _ in keys]):
        is_exact = np.array([entries[keys[at][0]].conditions.exact for at in members])
        aheads, p = _of_family([pairs[at] for at in members], is_exact, lends)
        for i, at in enumerate(members):
            sd = aheads[i].se * pairs[at].rounds ** 0.5
            found[at] = Tested(*keys[at], aheads[i], float(p[i]), sd)
    return [found[at] for at in range(len(pairs))]


def _lenders(entries: Sequence[UseFigure], numbers: Sequence[int]) -> list[tuple[list[int], bool]]:
    """Pairs that know of each other's noise, by place, and whether there are enough of them to lend."""
    by_family: dict[tuple[str, str], set[int]] = {}
    for number in numbers:
        entry = entries[number]
        by_family.setdefault((entry.conditions.family, entry.table), set()).add(number)
    groups: dict[object, list[int]] = {}
    for at, number in enumerate(numbers):
        family = (entries[number].conditions.family, entries[number].table)
        is_large = bool(family[0]) and len(by_family[family]) >= FAMILY_MIN
        groups.setdefault(family if is_large else number, []).append(at)
    return [(members, isinstance(key, tuple) or len(members) >= PAIRS_MIN) for key, members in groups.items()]


def _of_family(pairs: Sequence[Pair], is_exact: NDArray[np.bool_], lends: bool) -> tuple[list[Ahead], Array]:
    """(how much better b is, two-sided p) of pairs that share what they know of the noise."""
    mean = np.array([each.mean for each in pairs])
    own = np.array([each.s_squared for each in pairs])
    n = np.array([float(each.rounds) for each in pairs])
    # What is added to the variance of the mean counts as if each round had shown its part.
    s_squared = own + n * np.array([each.added_variance for each in pairs])
    exact = is_exact & (n < ROUNDS_MIN)
    df = np.where(exact, EXACT_DF, np.maximum(n - 1, 1.0))
    votes = (n >= ROUNDS_MIN) & ~exact
    prior = fit_prior(own[votes], df[votes]) if lends and votes.any() else NO_PRIOR
    variance, posterior_df = prior.squeeze(s_squared, df)
    p = np.full(len(mean), np.nan)
    if votes.any():
        p[votes] = prior.p(mean[votes], s_squared[votes], n[votes], df[votes])
    # A value that no chance has touched differs or does not.
    p[exact] = np.where(np.abs(mean[exact]) > NOISE_FLOOR_LOG, 0.0, 1.0)
    se = np.sqrt(np.where(exact, s_squared, variance) / n)
    freedom = np.where(exact, df, posterior_df)
    return [Ahead(float(mean[i]), float(se[i]), float(freedom[i]), pairs[i].rounds) for i in range(len(pairs))], p
