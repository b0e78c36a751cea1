"""How sure a ratio of two settings is, where their figure is made of all rounds together: a rate, a mean time per unit, a quantile.

The usual way, leaving out rounds in turn, fails where rounds are very unlike. A quantile near a gap (a commit takes 5 ms, or 90 ms while a flush
is under way) jumps over it or does not, and leave-one-out values tell nothing of its error (Miller 1974, Biometrika 61(1), section 2). Of means, the
influence of a quiet round hangs on how many bursts the mean happens to hold. Tried on invented runs whose slow periods come in swings or bursts: 12 of 100
quantiles and 24 to 43 of 100 mean times were called different that were not, at a level of 3.

So the question is turned round. Is b times as large as a by this factor? Divide b by it, and ask whether the two are then exchangeable: each round
gives a plain difference about a level that is common to both, and those are symmetric by the random order of each round, as a t test wants
(`statistics`). What is not refused is the interval (Hodges and Lehmann 1963, Annals of Mathematical Statistics 34(2)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision.bounded import bounded

Array = NDArray[np.float64]
Statistic = Callable[[float], float]
"""t by the logarithm of the factor that b is divided by; grows with it, and is zero at the estimate."""

REFUSED = 2.0
"""Standard errors at which a factor is refused: where the interval is measured that gives the error."""
FIRST_STEP_LOG = 0.01
LOG_MOST = 24 * math.log(2)
"""A factor that is not known to this is not known."""
BISECTIONS = 8
SURELY = 1e3
"""t of differences that are all the same."""


@dataclass(frozen=True)
class RatioSums:
    """A figure that is a ratio of sums, by round: bytes and seconds, or waiting time and units."""

    of: Array
    over: Array


def error_of(statistic: Statistic, estimate: float) -> float:
    """Standard error of the logarithm of b over a, whose estimate is given; infinite where the rounds do not bound it.

    Whether the two differ at all is asked at the factor one, where they are exchangeable. The far side of the interval counts only
    where they are not shown to differ: a program that is all but stopped is surely slower, by a factor that is anything but sure.
    """
    at_one = abs(statistic(0.0))
    down, up = _refused(statistic, estimate, -1), _refused(statistic, estimate, 1)
    near, far = (down, up) if estimate > 0 else (up, down)
    error = near if at_one >= REFUSED else max(near, far)
    if abs(estimate) > FIRST_STEP_LOG:
        error = max(error, REFUSED * abs(estimate) / at_one if at_one > 0 else math.inf)
    return error / REFUSED


def _refused(statistic: Statistic, start: float, way: int) -> float:
    """How far from the estimate, downwards or upwards, the first factor lies that is refused; infinite where none is."""
    reached, step = 0.0, FIRST_STEP_LOG
    while way * statistic(start + way * (reached + step)) < REFUSED:
        reached, step = reached + step, 2 * step
        if reached > LOG_MOST:
            return math.inf
    for _ in range(BISECTIONS):
        step /= 2
        if way * statistic(start + way * (reached + step)) < REFUSED:
            reached += step
    return reached + step


def estimate_of(statistic: Statistic, start: float) -> float:
    """The factor's logarithm at which the statistic is zero, near `start`; `start` where there is none."""
    way = -1 if statistic(start) > 0 else 1
    reached, step = 0.0, FIRST_STEP_LOG
    while way * statistic(start + way * (reached + step)) < 0:
        reached, step = reached + step, 2 * step
        if reached > LOG_MOST:
            return start
    for _ in range(2 * BISECTIONS):
        step /= 2
        if way * statistic(start + way * (reached + step)) < 0:
            reached += step
    return start + way * reached


def of_sums(a: RatioSums, b: RatioSums, *, bounds: bool) -> Statistic:
    """Statistic of a ratio of sums. `bounds`: rounds that lie far out on both sides alike are given a limit (`bounded`)."""
    over_a, over_b = a.over.sum(), b.over.sum()
    mean_a, mean_b = a.of.sum() / over_a, b.of.sum() / over_b
    one, two = a.over / over_a, b.over / over_b

    def t(log_factor: float) -> float:
        scale = math.exp(-log_factor)
        level = (mean_a + mean_b * scale) / 2
        return _t(a.of / over_a - level * one - (b.of / over_b * scale - level * two), bounds=bounds)

    return t


def of_quantile(a: Array, b: Array, q: float, bin_log: float) -> Statistic:
    """Statistic of the q-quantile: shares beyond the quantile of both together. `a`, `b`: counts by round and bin of latency, whose bins are
    `bin_log` wide on the log scale.
    """
    there = np.flatnonzero(a.any(axis=0) | b.any(axis=0))
    used = slice(there[0], there[-1] + 1)
    a, b = a[:, used] / a.sum(), b[:, used] / b.sum()
    width, share = a.shape[1], 1 - q
    beyond_a, beyond_b = _beyond(a), _beyond(b)
    all_a, all_b = beyond_a.sum(axis=0), beyond_b.sum(axis=0)
    asked = share * (a.sum(axis=1) - b.sum(axis=1))

    def t(log_factor: float) -> float:
        # Column i of `beyond` counts what lies at bin i and above; what b has there after the division lay further up before it.
        places = np.clip(np.arange(width + 1) + round(log_factor / bin_log), 0, width)
        both = all_a + all_b[places]
        at = bin_of(both, 2 * share)
        inside = both[at] - both[at + 1]
        # Of the bin as much counts as makes the share exact.
        part = (2 * share - both[at + 1]) / inside if inside > 0 else 0.0
        more = (1 - part) * beyond_a[:, at + 1] + part * beyond_a[:, at]
        less = (1 - part) * beyond_b[:, places[at + 1]] + part * beyond_b[:, places[at]]
        return _t(more - less - asked, bounds=False)

    return t


def _t(differences: Array, *, bounds: bool) -> float:
    found = bounded(differences) if bounds else None
    if found is None:
        found = float(differences.mean()), float(differences.var(ddof=1))
    middle, variance = found
    if variance <= 0:
        return math.copysign(SURELY, middle) if middle else 0.0
    return middle / math.sqrt(variance / len(differences))


def own_quantile_error(counts: Array, q: float, bin_log: float) -> float:
    """Standard error of the logarithm of one setting's q-quantile; `counts`: [round, bin], two rounds or more.

    The interval of the share beyond the quantile, carried over to latencies (Woodruff 1952, J. American Statistical Association 47(260)).
    """
    beyond = _beyond(counts / counts.sum())
    shares, rounds = beyond.sum(axis=0), len(counts)
    at = bin_of(shares, 1 - q)
    more = beyond[:, at] - shares[at] * beyond[:, 0]
    error = REFUSED * math.sqrt(rounds / (rounds - 1) * float(more @ more))
    low, high = bin_of(shares, min(1 - q + error, 1.0)), bin_of(shares, max(1 - q - error, 0.0))
    return max(high - at, at - low, 1.0) / REFUSED * bin_log


def _beyond(counts: Array) -> Array:
    """[round, i]: what lies at bin i and above; the last column is zero."""
    found = np.zeros((len(counts), counts.shape[1] + 1))
    found[:, :-1] = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return found


def bin_of(shares: Array, share: float) -> int:
    """The last bin from which on there is at least this share."""
    return min(max(int(np.searchsorted(-shares, -share, side="right")) - 1, 0), len(shares) - 2)
