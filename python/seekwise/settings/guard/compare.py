"""Two periods of a load that nobody controls: is the second one worse than the first by more than a limit?

Seconds of a load depend on each other: a busy one is followed by a busy one. So the error of a figure comes from a
circular block bootstrap whose blocks are as long as the load remembers, and its interval uses Student's t with as many
degrees of freedom as there are blocks in the shorter period, less one.

What the load asks for may change as well. A shift to larger requests raises the time per request and lowers the time
per byte, a shift to smaller ones the other way round; so "worse" needs both to be above the limit.

Where single requests were watched, the p99 of their latencies counts too, as it does when `tune --live` judges: a tail
can suffer where the mean does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from seekwise.judge.decision.periods import dense, quantile_ns
from seekwise.settings.guard.watch import Interval
from seekwise.special import t_quantile

if TYPE_CHECKING:
    from seekwise.judge.decision.verdicts import Word

RESAMPLES = 400
BLOCKS_MIN = 6
REQUESTS_MIN = 100
CONFIDENCE = 0.95
TAIL = 0.99
TAIL_REQUESTS_MIN = 1000
"""Ten requests beyond the p99."""
PRESSURE_MIN = 0.05
"""A change of I/O pressure below five points of a hundred is no reason to roll back."""


@dataclass(frozen=True)
class Metric:
    """`ratio`, `low`, `high`: after to before, more is worse. None where there was too little to compare."""

    name: str
    unit: str
    before: float
    after: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class GuardVerdict:
    """The load after against the load before."""

    word: Word
    """same: no worse than the limit."""
    reason: str
    metrics: tuple[Metric, ...]
    limit: float
    level: float


def compare(before: Sequence[Interval], after: Sequence[Interval], limit: float, *, looks: int = 1) -> GuardVerdict:
    """`limit` 0.1: worse by more than 10 % is too much. `looks`: how often this is asked of the same periods
    (Bonferroni)."""
    periods = before, after
    watched = all(any(interval.bins for interval in period) for period in periods)
    level = 1 - (1 - CONFIDENCE) / looks / (4 if watched else 3)  # reads, writes, pressure, tail
    metrics: list[Metric] = []
    worse: list[str] = []
    judged: list[tuple[Metric, Metric]] = []
    word: Word
    for kind, count, size in (("read", "reads", "read_bytes"), ("write", "writes", "write_bytes")):
        is_enough = min(sum(getattr(interval, count) for interval in period) for period in periods) >= REQUESTS_MIN
        sums = [
            np.array([[getattr(interval, name) for name in (f"{kind}_ms", count, size)] for interval in period], float)
            for period in periods
        ]
        pair = (
            _metric(
                f"{kind} latency", "ms per request", sums, lambda s: s[0] / s[1] if s[1] else math.nan, level, is_enough
            ),
            _metric(
                f"{kind} time per byte",
                "ms per MB",
                sums,
                lambda s: 1e6 * s[0] / s[2] if s[2] else math.nan,
                level,
                is_enough,
            ),
        )
        metrics += pair
        if all(metric.low is not None for metric in pair):
            judged.append(pair)
            if all(metric.low > 1 + limit for metric in pair):  # type: ignore[operator]
                worse.append(
                    f"{pair[0].name} is {_times(pair[0])} as long ({pair[0].before:.3g} ms before, {pair[0].after:.3g} ms after)"
                )
    pressure = _pressure(periods, level)
    if pressure is not None:
        metrics.append(pressure[0])
        if pressure[1] > max(PRESSURE_MIN, limit * pressure[0].before) and not any(
            pair[0].high is not None and pair[0].high < 1 for pair in judged
        ):
            worse.append(
                f"tasks wait for I/O {100 * pressure[0].after:.0f} % of the time ({100 * pressure[0].before:.0f} % before)"
            )
    tail = _tail(periods, level) if watched else None
    if tail is not None:
        metrics.append(tail)
        # Larger requests take longer, each of them: no harm by itself.
        larger = _mean_bytes(after) > (1 + limit) * _mean_bytes(before)
        if tail.low is not None and tail.low > 1 + limit and not larger:
            worse.append(
                f"{tail.name} is {_times(tail)} as long ({tail.before:.3g} ms before, {tail.after:.3g} ms after)"
            )
    if worse:
        word, reason = "worse", "; ".join(worse)
    elif not judged:
        word, reason = "unknown", _nothing_judged(periods)
    else:
        word, reason = _not_worse(judged, tail, limit)
    return GuardVerdict(word, reason, tuple(metrics), limit, level)


def _nothing_judged(periods: Sequence[Sequence[Interval]]) -> str:
    least, most = sorted(map(_requests, periods))
    if most < REQUESTS_MIN or least == 0:
        return "too little I/O to compare"
    return "the load changes too slowly to tell in this time"


def _requests(intervals: Sequence[Interval]) -> int:
    return sum(interval.reads + interval.writes for interval in intervals)


def _not_worse(judged: Sequence[tuple[Metric, Metric]], tail: Metric | None, limit: float) -> tuple[Word, str]:
    """Whether that nothing is shown to be worse means better, the same, or nothing yet."""
    if all(pair[0].high is not None and pair[0].high < 1 for pair in judged):
        return "better", ", ".join(f"{pair[0].name} is {_times(pair[0])} as long" for pair in judged)
    highs = [min(pair, key=lambda metric: metric.high or math.inf).high for pair in judged]
    highs += [tail.high] if tail is not None else []
    if all(high is not None and high <= 1 + limit for high in highs):
        return "same", f"no metric is worse by more than {100 * limit:.0f} %"
    widest = max(pair[0].high or 0 for pair in judged)
    return "unknown", f"no sign of harm beyond the noise; latency up to {widest:.3g} times as long is possible"


def _times(metric: Metric) -> str:
    return f"{metric.low:.3g} to {metric.high:.3g} times"


def _mean_bytes(intervals: Sequence[Interval]) -> float:
    return sum(interval.read_bytes + interval.write_bytes for interval in intervals) / max(1, _requests(intervals))


Statistic = Callable[[np.ndarray], float]
"""From sums over some intervals to a figure."""


def _half_width(sums: Sequence[np.ndarray], statistic: Statistic, level: float) -> float | None:
    """Half the interval of the difference of a figure between two periods (a row per interval); None where too few
    blocks are independent."""
    generator = np.random.default_rng(0)
    errors, blocks = [], []
    for rows in sums:
        count, total = len(rows), rows.sum(axis=0)
        # What each interval does to the figure wanders as the load does.
        length = block_length(np.array([statistic(total - row) for row in rows]))
        blocks.append(count / length)
        if blocks[-1] < BLOCKS_MIN:
            return None
        starts = generator.integers(0, count, (RESAMPLES, -(-count // length)))
        index = ((starts[:, :, None] + np.arange(length)) % count).reshape(RESAMPLES, -1)[:, :count]
        resampled = np.array([statistic(np.bincount(drawn, minlength=count) @ rows) for drawn in index])
        # With m blocks a bootstrap variance is too small by (m - 1) / m.
        errors.append(float(np.nanstd(resampled)) * math.sqrt(blocks[-1] / (blocks[-1] - 1)))
    return math.hypot(*errors) * t_quantile(min(blocks) - 1, (1 + level) / 2)


def block_length(series: np.ndarray) -> int:
    """Intervals that a block has: half as much again as the time over which a first-order process with this correlation
    forgets.

    A short series hides slow changes: its correlation is corrected for that bias (Kendall 1954), and blocks that are
    too long only make the answer more cautious.
    """
    count = len(series)
    centred = series - series.mean()
    variance = float(centred @ centred)
    if count < 8 or not variance > 0:
        return 1
    first = float(centred[:-1] @ centred[1:]) / variance
    first = min(first + (1 + 3 * first) / count, 0.99)
    return min(math.ceil(1.5 * (1 + first) / (1 - first)) if first > 0 else 1, max(1, count // 3))


def _metric(
    name: str, unit: str, sums: Sequence[np.ndarray], statistic: Statistic, level: float, is_enough: bool
) -> Metric:
    """The ratio of a figure with its interval, where there was enough to compare."""
    before, after = (float(statistic(rows.sum(axis=0))) if len(rows) else math.nan for rows in sums)
    plain = Metric(name, unit, before, after)
    if not is_enough or not (before > 0 and after > 0):
        return plain
    spread = _half_width(sums, lambda s: math.log(value) if (value := statistic(s)) > 0 else math.nan, level)
    if spread is None:
        return plain
    log = math.log(after / before)
    return replace(plain, ratio=math.exp(log), low=math.exp(log - spread), high=math.exp(min(log + spread, 700)))


def _tail(periods: Sequence[Sequence[Interval]], level: float) -> Metric | None:
    """The p99 of single requests' latencies; None where too few were looked at."""
    sums = [np.array([dense(interval.bins) for interval in period if interval.bins is not None]) for period in periods]
    if min(float(total.sum()) for total in sums) < TAIL_REQUESTS_MIN:
        return None
    return _metric("p99 latency", "ms", sums, lambda counts: quantile_ns(counts, TAIL) / 1e6, level, True)


def _pressure(periods: Sequence[Sequence[Interval]], level: float) -> tuple[Metric, float] | None:
    """The share of time in which some task waited, and the lower bound of its growth."""
    sums = [
        np.array([(interval.pressure_some, 1.0) for interval in period if interval.pressure_some is not None])
        for period in periods
    ]
    if min(map(len, sums)) < 8:
        return None
    values = [float(rows[:, 0].mean()) for rows in sums]
    spread = _half_width(sums, lambda s: s[0] / s[1], level)
    return Metric("I/O pressure", "share of time", *values), values[1] - values[0] - (
        math.inf if spread is None else spread
    )
