"""How good each setting was in one figure of one use: robust estimates from rounds, and how sure they are.

A value y = ln(goodness) of a period is modelled as

    y = round + setting + e,   e ~ Student t with 4 degrees of freedom (heavy tails: write-back, a neighbour on the host)

and fitted by reweighting (Lange, Little and Taylor 1989, J. American Statistical Association 84(408)). Round effects
are drawn towards their mean as far as rounds resemble each other, so a setting that runs in every tenth round only is
compared with all rounds of a steady disk.

A period with less than half of a setting's usual goodness, far beyond its scatter, is a *stall*: it leaves the fit and
counts as a rate, as one such period in ten costs a program 5 to 10 % on average and says nothing of the other nine.

Variance by setting after Grubbs (1948, J. American Statistical Association 43(242)); few rounds know it badly, so it is
drawn towards the variance of the entry, and that towards entries of the same kind (Smyth 2004, Statistical Applications
in Genetics and Molecular Biology 3(1)).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seekwise import special

Array = NDArray[np.float64]

STUDENT_DF = 4.0
FIT_STEPS = 9
COVARIATES_EVERY = 3
"""Steps between two looks at what was known before a period: weights and places settle in between."""
STALL_LOG = math.log(2)
STALL_SIGMAS = 4.0
TRADED_LOG = STALL_LOG / 2
ENTRY_DF = 8.0
"""What the entry's variance counts for, in degrees of freedom, when a setting's own is estimated."""
VARIANCE_LEAST = 1e-8
"""Equal numbers (rounded, or an exact model) are not known better than 0.01 %."""
VARIANCE_UNKNOWN = 0.1**2
"""Of a value that was measured once: a tenth, known with one degree of freedom, so that nothing narrow is said of
it."""
ROUND_SHRINK_MIN_ROUNDS = 6
PRIOR_DF_MOST = 60.0
CARRY_LEAST = 3
"""Periods per setting below which nothing is said of what settings leave behind."""
KNOWN_LEAST = 12
"""Values below which nothing is asked of what was known before."""
CARRY_SURE = 2.5
"""Their means must differ by so many times what noise makes of them, in variance."""


@dataclass(frozen=True)
class Observed:
    """Values of one figure as they were observed, in any order. `y`: ln of the value, turned so that more is better;
    finite."""

    settings: tuple[str, ...]
    setting: NDArray[np.intp]
    round: NDArray[np.intp]
    y: Array
    stretch: NDArray[np.intp]
    """Starts of the load; periods of one stretch share what a start brings (place of the files, fill of the cache)."""
    before: NDArray[np.intp]
    """Setting of the period before; −1 where there is none, or it is not known."""
    known: Array | None = None
    """[value, quantity] what was known before a period began and may explain it, as the bytes that lay unwritten."""
    traded: NDArray[np.bool_] | None = None
    """Values of periods in which another job did far better than usual: what one loses to the other is the setting's
    doing, no stall from outside."""

    def counts(self) -> NDArray[np.intp]:
        """Values by setting."""
        return np.bincount(self.setting, minlength=len(self.settings))


@dataclass(frozen=True)
class Effects:
    """Estimates by setting, each [settings]; NaN mean where a setting has no value."""

    mean: Array
    """ln goodness relative to the mean over settings, stalls left out."""
    variance: Array
    """Of one value about it."""
    df: Array
    """Degrees of freedom with which `variance` is known."""
    rounds: NDArray[np.intp]
    """Values that the estimate rests on."""
    error: Array
    """Variance of `mean`."""
    stalls: NDArray[np.intp]
    """Periods in which a setting stalled."""
    periods: NDArray[np.intp]
    stall_depth: Array
    """Mean goodness in a stall as a share of the usual one."""
    entry_variance: float
    entry_df: float


@dataclass
class _Fit:
    place: Array
    luck: Array
    weight: Array
    residual: Array


def _fit(data: Observed, used: NDArray[np.bool_]) -> _Fit:
    """Reweighted least squares on rounds and settings."""
    k, rounds = len(data.settings), int(data.round.max()) + 1
    weight = used.astype(float)
    place = np.array(
        [np.median(data.y[used & (data.setting == j)]) if (used & (data.setting == j)).any() else 0.0 for j in range(k)]
    )
    luck, shrink = np.zeros(rounds), 0.0
    left = np.zeros(len(data.y))
    precision = np.ones(k)
    for step in range(FIT_STEPS):
        w = weight * precision[data.setting]
        by_round = np.bincount(data.round, w, rounds)
        luck = np.bincount(data.round, w * (data.y - left - place[data.setting]), rounds) / np.maximum(
            by_round + shrink, 1e-12
        )
        luck -= np.average(luck, weights=by_round) if by_round.sum() > 0 else 0.0
        by_setting = np.bincount(data.setting, w, k)
        place = np.bincount(data.setting, w * (data.y - left - luck[data.round]), k) / np.maximum(by_setting, 1e-12)
        residual = data.y - left - place[data.setting] - luck[data.round]
        n = np.bincount(data.setting, used, k)
        freedom = max(1.0, used.sum() - (n > 0).sum() - (np.bincount(data.round, used, rounds) > 0).sum() + 1)
        scale2 = max(float((weight * residual**2)[used].sum() / freedom), VARIANCE_LEAST)
        own2 = np.bincount(data.setting, weight * residual**2 * used, k) * (used.sum() / freedom)
        own2 = (ENTRY_DF * scale2 + own2) / (ENTRY_DF + n)
        weight = used * (STUDENT_DF + 1) / (STUDENT_DF + residual**2 / own2[data.setting])
        precision = scale2 / own2
        if rounds >= ROUND_SHRINK_MIN_ROUNDS:
            # Variance of the rounds' own luck beyond what noise gives a mean of so many values.
            noise = float(np.mean(scale2 / np.maximum(by_round, 1e-12)))
            seen = float(np.var(luck))
            shrink = scale2 / max(seen - noise, 0.05 * scale2)
            shrink = min(shrink, 20.0)
        if step % COVARIATES_EVERY == COVARIATES_EVERY - 1:
            rest = residual + left
            left = _left_behind(data, w, rest, scale2)
            left = left + _explained(data, w, rest - left, scale2)
        residual = data.y - left - place[data.setting] - luck[data.round]
    return _Fit(place, luck, weight, residual)


def _left_behind(data: Observed, w: Array, rest: Array, variance: float) -> Array:
    """What the setting before adds to each value, as far as all of them together show that settings leave something
    behind."""
    known = data.before >= 0
    k = len(data.settings)
    if known.sum() < CARRY_LEAST * k:
        return np.zeros(len(rest))
    weight = np.bincount(data.before[known], w[known], k)
    mean = np.bincount(data.before[known], (w * rest)[known], k) / np.maximum(weight, 1e-12)
    mean -= np.average(mean, weights=weight)
    noise = variance * float(np.mean(1 / np.maximum(weight, 1e-12)))
    beyond = float(np.sum(mean**2) / max(k - 1, 1)) - CARRY_SURE * noise
    if beyond <= 0:
        return np.zeros(len(rest))
    effect = mean * beyond / (beyond + noise)
    return np.where(known, effect[data.before], 0.0)


def _explained(data: Observed, w: Array, rest: Array, variance: float) -> Array:
    """What quantities that were known before each period explain of it, one after the other, drawn towards nothing as
    far as chance would explain as much."""
    explained = np.zeros(len(rest))
    if data.known is None or len(rest) < KNOWN_LEAST:
        return explained
    for column in data.known.T:
        x = np.where(np.isfinite(column), column, np.nanmean(column) if np.isfinite(column).any() else 0.0)
        x = x - np.average(x, weights=w)
        power = float((w * x * x).sum())
        if power <= 1e-12:
            continue
        slope = float((w * x * (rest - explained)).sum()) / power
        explained = (
            explained + max(0.0, 1 - CARRY_SURE * variance / (slope**2 * power)) * slope * x if slope else explained
        )
    return explained


def estimate(data: Observed) -> Effects:
    """Estimates of one entry, its variance not yet drawn towards others (`shared`)."""
    k = len(data.settings)
    used = np.ones(len(data.y), bool)
    periods = data.counts()
    if len(data.y) == 0:
        nothing = np.full(k, np.nan)
        zeros = np.zeros(k, np.intp)
        return Effects(nothing, nothing, nothing, zeros, nothing, zeros, zeros, nothing, math.nan, 0.0)
    stalled = _stalls(data)
    used &= ~stalled
    fit = _fit(data, used)
    n = np.bincount(data.setting, used, k).astype(np.intp)
    w_mean = np.bincount(data.setting, fit.weight, k) / np.maximum(n, 1)
    influence = fit.weight * fit.residual / np.maximum(w_mean, 1e-12)[data.setting]
    own, df, entry, entry_df = _variances(data, used, influence, n)
    stalls = np.bincount(data.setting, stalled, k).astype(np.intp)
    place = np.where(n > 0, fit.place, np.nan)
    gone = np.exp(np.minimum(data.y - place[data.setting] - fit.luck[data.round], 0.0))
    depth = np.bincount(data.setting[stalled], gone[stalled], k) / np.maximum(stalls, 1)
    between = _between_stretches(data, used, fit)
    return Effects(
        place - np.nanmean(place),
        own,
        df,
        n,
        between,
        stalls,
        periods,
        np.where(stalls > 0, depth, 0.0),
        entry,
        entry_df,
    )


def _stalls(data: Observed) -> NDArray[np.bool_]:
    """Periods far below the usual of their setting. A setting most of whose periods are slow is slow, not stalled."""
    k = len(data.settings)
    middle = np.array([np.median(data.y[data.setting == j]) if (data.setting == j).any() else 0.0 for j in range(k)])
    below = data.y - middle[data.setting]
    spread = 1.4826 * float(np.median(np.abs(below)))
    stalled: NDArray[np.bool_] = below < -max(STALL_LOG, STALL_SIGMAS * spread)
    return stalled if data.traded is None else stalled & ~data.traded


def with_trades(data: Sequence[Observed], uses: Sequence[str], jobs: Sequence[str]) -> list[Observed]:
    """Each figure with the periods in which another job of its use did far better than usual."""
    far_better = [_far_better(observed) for observed in data]
    with_trade = []
    for i, observed in enumerate(data):
        others = [far_better[j] for j in range(len(data)) if uses[j] == uses[i] and jobs[j] != jobs[i]]
        periods = set().union(*others)
        traded = np.array([key in periods for key in _keys(observed)], bool)
        with_trade.append(replace(observed, traded=traded) if traded.any() else observed)
    return with_trade


def _keys(data: Observed) -> list[tuple[str, int, int]]:
    """(setting, round, which of its periods there): names a period in every figure of a use."""
    seen: Counter[tuple[str, int]] = Counter()
    keys = []
    for j, number in zip(data.setting, data.round, strict=True):
        key = (data.settings[j], int(number))
        keys.append((*key, seen[key]))
        seen[key] += 1
    return keys


def _far_better(data: Observed) -> set[tuple[str, int, int]]:
    middle = {j: np.median(data.y[data.setting == j]) for j in np.unique(data.setting)}
    above = data.y - np.array([middle[j] for j in data.setting])
    return {key for key, y in zip(_keys(data), above, strict=True) if y > TRADED_LOG}


def _variances(
    data: Observed, used: NDArray[np.bool_], influence: Array, n: NDArray[np.intp]
) -> tuple[Array, Array, float, float]:
    """(variance of one value by setting, its degrees of freedom, the entry's mean variance, its degrees of freedom)."""
    k = len(data.settings)
    have = n > 0
    m = int(have.sum())
    squares = np.bincount(data.setting, influence**2 * used, k)
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)
    per_round = used.sum() / max(1, len(np.unique(data.round[used])))
    if m < 2 or per_round <= 1.0 or not np.isfinite(raw).any():
        known = float(np.nanmean(raw)) if np.isfinite(raw).any() else VARIANCE_UNKNOWN
        return np.where(np.isfinite(raw), raw, known), np.maximum(n - 1.0, 0.5), known, max(1.0, float(used.sum() - m))
    # A residual is e minus its round's mean: what is left of each setting's own variance, solved for it.
    mean = float(np.nanmean(raw)) / (1 - 1 / per_round)
    if per_round > 2.05:
        own = (raw - mean / per_round) / (1 - 2 / per_round)
    else:
        own = np.full(k, mean)
    own = np.where(np.isfinite(own), np.maximum(own, 0.1 * mean), mean)
    df = np.maximum(n - 1.0, 0.5) if per_round > 2.05 else np.maximum((n - 1.0) / 2, 0.5)
    entry_df = max(1.0, float((n[have] - 1).sum()) * (1 - 1 / per_round))
    return np.maximum(own, VARIANCE_LEAST), df, max(mean, VARIANCE_LEAST), entry_df


def _between_stretches(data: Observed, used: NDArray[np.bool_], fit: _Fit) -> Array:
    """Variance of a setting's place that stretches show beyond the scatter within them, for the mean over them; zero
    with fewer than three."""
    k = len(data.settings)
    kinds = np.unique(data.stretch)
    if len(kinds) < 3:
        return np.zeros(k)
    squares, expected = [], []
    for stretch in kinds:
        for j in range(k):
            mine = used & (data.stretch == stretch) & (data.setting == j)
            if mine.sum() >= 2:
                squares.append(float(fit.residual[mine].mean()) ** 2)
                expected.append(float(fit.residual[mine].var(ddof=1)) / mine.sum())
    if len(squares) < 3 * k / 2:
        return np.zeros(k)
    beyond = max(0.0, float(np.mean(squares)) - float(np.mean(expected)))
    return np.full(k, beyond / len(kinds))


def shared(entries: Sequence[Effects], kinds: Sequence[str], added_log: Sequence[float]) -> list[Effects]:
    """Variances drawn towards those of entries of the same kind, and the error of each mean.

    `added_log`: standard deviation of a setting's place from run to run that no round of one run shows.
    """
    priors: dict[str, tuple[float, float]] = {}
    for kind in dict.fromkeys(kinds):
        mine = [entry for entry, name in zip(entries, kinds, strict=True) if name == kind and entry.entry_df > 0]
        priors[kind] = _prior([entry.entry_variance for entry in mine], [entry.entry_df for entry in mine])
    return [
        _with_error(entry, *priors[kind], added) for entry, kind, added in zip(entries, kinds, added_log, strict=True)
    ]


def _with_error(effects: Effects, d0: float, s0: float, added: float) -> Effects:
    if not effects.entry_df:
        return effects
    entry_df = effects.entry_df + d0
    entry = (effects.entry_df * effects.entry_variance + d0 * s0) / entry_df
    lent = ENTRY_DF * entry_df / (ENTRY_DF + entry_df)
    variance = (lent * entry + effects.df * effects.variance) / (lent + effects.df)
    error = np.where(effects.rounds > 0, variance / np.maximum(effects.rounds, 1), np.nan) + effects.error + added**2
    return replace(
        effects, variance=variance, df=lent + effects.df, error=error, entry_variance=entry, entry_df=entry_df
    )


def _prior(variances: Sequence[float], dfs: Sequence[float]) -> tuple[float, float]:
    """(d0, s0²): what the variances of entries of one kind say about each other; d0 = 0 where there are too few."""
    log_s2, d = np.log(np.maximum(variances, VARIANCE_LEAST)), np.array(dfs, float)
    m = len(log_s2)
    if m < 3:
        return 0.0, VARIANCE_LEAST
    e = log_s2 - special.digamma(d / 2) + np.log(d / 2)
    excess = float(np.sum((e - e.mean()) ** 2) / (m - 1) - np.mean(special.trigamma(d / 2)))
    # Few entries resemble each other by chance: what they lend grows with their number.
    most = min(PRIOR_DF_MOST, 3.0 * m)
    least = float(special.trigamma(most / 2))
    if excess <= least:
        d0 = most
    else:
        d0 = 2 * special.trigamma_inverse(excess)
        d0 = min(d0, most)
    return d0, float(np.exp(e.mean() + special.digamma(d0 / 2) - np.log(d0 / 2)))
