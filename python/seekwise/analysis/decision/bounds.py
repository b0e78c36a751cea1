"""How much each candidate can be behind the best: estimates and bounds on the log scale.

    δ(i, j)   how much better j is than i, from the rounds that both ran in
    loss(i)   the greatest δ(i, j) over all j, never below zero
    high(i)   an upper bound of it: the greatest upper bound of δ(i, j). One j is the best in truth and its bound is among them,
              so the statement holds with the probability of a single bound, whoever the best is
              (multiple comparisons with the best; Hsu 1984, Annals of Statistics 12(3))
    low(i)    the greatest lower bound of δ(i, j), each at a level divided by the number of j

Each δ is a jackknife over rounds, so that percentiles and ratios of sums are merged over rounds and never averaged, and its
t statistic is made of differences that are symmetric by the random order of each round. Such a t test keeps its level at 5 % and
below whatever the variances of the rounds are (Ibragimov and Müller 2010, J. Business & Economic Statistics 28(4); Bakirov and
Székely 2006), which covers autocorrelation, drift, bursts and a noisy neighbour alike. Pairs of one table share what they know of
the noise (`analysis.moderate`).

Looking several times spends the error rate in parts that add up to it: at look k of K the share (k/K)⁴ − ((k−1)/K)⁴ (power family of
Kim and DeMets 1987, Biometrika 74(1)). Early looks only save time where a difference is large; most is kept for the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seekwise.analysis.decision.table import Entry, Figures
from seekwise.analysis.moderate import NO_PRIOR, Prior, fit_prior

Array = NDArray[np.float64]

ALPHA = 0.05
ROUNDS_MIN = 3
"""Two rounds know their own noise to a factor of ten; nothing is said from them."""
SPENDING_POWER = 4
FAR_OUT = 2.5
"""Robust standard deviations from the centre of all rounds; with normal noise 1 % of the rounds lie beyond, and bounding costs 0.5 %."""
FAR_SHARE_MOST = 0.25
ONE_SIDED_P = 0.3
"""Far rounds whose split into above and below is less likely than this are a candidate's own."""
ONE_SIDED_MOST = 0.06
"""Nor may one side have more than the other by this share of the rounds: all of it lost would be a threshold of the rate."""
ROUNDS_TO_BOUND = 8
RARE_FACTOR = 2
"""One of two candidates is rare when the other ran in so many times the rounds that they share."""
NEIGHBOURS_MOST = 10
"""Rounds that are further away are no neighbours: the candidate ran no more."""
NEARLY_EQUAL_LOG = 0.7
"""Beyond a factor of two nothing hangs on a few rounds, and their differences are not symmetric."""
CENTRE_STEPS = 10
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
        return self.mean + float(special.stdtrit(self.df, 1 - level)) * self.se

    def turned(self) -> Ahead:
        """The other setting against this one."""
        return Ahead(-self.mean, self.se, self.df, self.rounds)


@dataclass(frozen=True)
class Bounds:
    """Losses on the log scale by candidate; arrays in the order of `settings`."""

    settings: tuple[str, ...]
    log_value: Array
    """Of all rounds of a candidate together; NaN where it never ran."""
    loss: Array
    low: Array
    high: Array
    """Infinite where nothing bounds it."""
    p: Array
    """One-sided p of "somebody is better", corrected for the number of others; 1 where nothing is known."""
    rounds: Array
    spent: float
    """Share of the error rate that this look used."""
    s_log: float
    """Typical noise of one round's difference, for planning."""
    ahead: dict[tuple[str, str], Ahead] = field(default_factory=dict)
    """{(a, b): how much better a is}, of every pair with enough rounds in common, both ways round."""


def spent_at(look: int, looks: int, final: bool) -> float:
    """Share of the error rate for this look; the final one takes what is left."""
    before = ((look - 1) / looks) ** SPENDING_POWER
    return 1.0 - before if final or look >= looks else (look / looks) ** SPENDING_POWER - before


def pair(entry: Entry, a: str, b: str) -> Pair | None:
    """Jackknife of the log ratio over the rounds that both ran in, or ran near one another; None below two."""
    figures = entry.figures
    of_a, of_b = together(figures.rounds(a), figures.rounds(b))
    count = len(of_a)
    if count < 2:
        return None
    sign = 1.0 if entry.more_is_better else -1.0

    whole = sign * (_whole(figures, b, of_b) - _whole(figures, a, of_a))
    without = sign * (figures.log_values_without_one(b, of_b) - figures.log_values_without_one(a, of_a))
    mean, s_squared = centre(whole, without)
    return Pair(mean, max(s_squared, NOISE_FLOOR_LOG**2), count, figures.added_variance(a, b))


def centre(whole: float, without: Array) -> tuple[float, float]:
    """(log ratio, variance of one round's log ratio) of a jackknife, from the relative difference (b − a) / (b + a) = tanh(δ / 2).

    Near equality this is the jackknife of the logarithm. A rate that is all but zero has a sure share of the other and an unsure
    logarithm: one round in which a little moved changes it by a factor of ten.

    What strikes from outside (a neighbour on the host, a write-back) strikes each candidate with the same probability, by the random
    order of each round, so the rounds that fall far out lie on both sides alike and are bounded (Huber 1964, Annals of Mathematical
    Statistics 35(1)). Where they lie on one side they belong to a candidate: stalls are part of its figure, and nothing is bounded.
    """
    count = len(without)
    share, shares = np.tanh(whole / 2), np.tanh(without / 2)
    slope = 0.5 * (1 - share**2)
    pseudo = count * share - (count - 1) * shares
    if not np.isfinite(pseudo).all() or slope <= 0:
        return whole, np.inf
    plain = float(np.var(pseudo, ddof=1) / slope**2)
    if count < ROUNDS_TO_BOUND or abs(whole) > NEARLY_EQUAL_LOG:
        return whole, plain
    found = _bounded(pseudo)
    if found is None:
        return whole, plain
    middle, variance = found
    return whole + float(middle - pseudo.mean()) / slope, min(plain, variance / slope**2)


def _bounded(values: Array) -> tuple[float, float] | None:
    """(Huber's centre, variance that one value adds to it); None where the far values do not lie on both sides alike."""
    middle = float(np.median(values))
    reach = FAR_OUT * 1.4826 * float(np.median(np.abs(values - middle)))
    if reach <= 0:
        return None
    for _ in range(CENTRE_STEPS):
        middle = float(np.clip(values, middle - reach, middle + reach).mean())
    above, below = int((values > middle + reach).sum()), int((values < middle - reach).sum())
    far = above + below
    if far == 0 or far > FAR_SHARE_MOST * len(values) or abs(above - below) > ONE_SIDED_MOST * len(values):
        return None
    if special.bdtr(min(above, below), far, 0.5) < ONE_SIDED_P / 2:
        return None
    clipped = np.clip(values, middle - reach, middle + reach)
    inside = 1 - far / len(values)
    return middle, float(((clipped - middle) ** 2).sum() / (len(values) - 1)) / inside**2


def bounds(entry: Entry, *, alpha: float = ALPHA, final: bool = True, starved: Collection[str] = frozenset()) -> Bounds:
    """Loss of every candidate with bounds; `final`: no later look will follow. No loss is counted against the `starved`."""
    names = entry.figures.settings
    k = len(names)
    found = {(i, j): pair(entry, names[i], names[j]) for i, j in combinations(range(k), 2)}
    known = {key: each for key, each in found.items() if each is not None and np.isfinite(each.s_squared)}
    prior = prior_of(list(known.values()))
    share = spent_at(*entry.looks, final)
    level = alpha * share
    log_value = np.array([_whole(entry.figures, name, [entry.figures.rounds(name)]) for name in names])
    loss, low = np.zeros(k), np.zeros(k)
    high, p = np.zeros(k), np.ones(k)
    rounds = np.array([len(entry.figures.rounds(name)) for name in names], dtype=float)
    for i in range(k):
        for j in range(k):
            if i == j or names[j] in starved:
                continue
            each = known.get((min(i, j), max(i, j)))
            if each is None or each.rounds < ROUNDS_MIN:
                high[i] = np.inf
                continue
            mean = each.mean if i < j else -each.mean
            down, up, p_one = interval(each, mean, prior, level, max(k - 1, 1))
            loss[i] = max(loss[i], mean)
            high[i] = max(high[i], up)
            low[i] = max(low[i], down)
            p[i] = min(p[i], min(1.0, p_one * (k - 1) / share))
    typical = float(np.sqrt(np.median([each.s_squared for each in known.values()]))) if known else float("nan")
    ahead = {}
    for (i, j), each in known.items():
        if each.rounds >= ROUNDS_MIN:
            ahead[names[j], names[i]] = Ahead(each.mean, *error(each, prior), each.rounds)
            ahead[names[i], names[j]] = ahead[names[j], names[i]].turned()
    return Bounds(names, log_value, loss, low, np.maximum(high, 0.0), p, rounds, share, typical, ahead)


def _whole(figures: Figures, name: str, groups: Sequence[Sequence[int]]) -> float:
    rounds = [number for group in groups for number in group]
    return figures.log_value(name, rounds) if rounds else float("nan")


def together(rounds_a: Sequence[int], rounds_b: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Rounds of a and of b that are compared with each other, group by group.

    Usually the rounds that both ran in, one by one. Where one of them needs long periods and runs only in every tenth round, its
    rounds have the other's nearest rounds around them: all of what is known of the other counts, and drift cancels.
    """
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


def prior_of(pairs: Sequence[Pair]) -> Prior:
    """What the pairs of one entry know of each other's noise; nothing below three pairs."""
    if len(pairs) < 3:
        return NO_PRIOR
    s_squared = np.array([each.s_squared for each in pairs])
    df = np.array([each.rounds - 1.0 for each in pairs])
    return fit_prior(s_squared, df)


def error(each: Pair, prior: Prior) -> tuple[float, float]:
    """(standard error of the mean, its degrees of freedom)."""
    n = float(each.rounds)
    variance, df = prior.squeeze(*_with_added(each))
    return float(np.sqrt(variance[0] / n)), float(df[0])


def _with_added(each: Pair) -> tuple[Array, Array]:
    """What is added to the variance of the mean counts as if each round had shown its part."""
    n = float(each.rounds)
    return np.array([each.s_squared + n * each.added_variance]), np.array([n - 1.0])


def interval(each: Pair, mean: float, prior: Prior, level: float, others: int) -> tuple[float, float, float]:
    """(lower bound at level / others, upper bound at level, one-sided p of "better by more than nothing")."""
    se, df = error(each, prior)
    t_low = float(special.stdtrit(df, 1 - level / others))
    t_high = float(special.stdtrit(df, 1 - level))
    s_squared, df_own = _with_added(each)
    p_two = float(prior.p(np.array([mean]), s_squared, np.array([float(each.rounds)]), df_own)[0])
    p_one = p_two / 2 if mean > 0 else 1 - p_two / 2
    return mean - t_low * se, mean + t_high * se, p_one
