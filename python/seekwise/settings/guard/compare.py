"""Two periods of a load that nobody controls: is the second one worse than the first by more than a limit?

A latency of a period is a ratio of sums, Σ time / Σ requests, over intervals that depend on each other: a busy second is followed
by a busy one. So its standard error comes from a circular block bootstrap whose block length follows the data (Politis and
White 2004, with the correction of Patton, Politis and White 2009, for the mean of the linearised ratio), and the interval
uses Student's t with as many degrees of freedom as there are blocks in the shorter period, less one.

What the load asks for may change as well. A shift to larger requests raises the time per request and lowers the time per byte, a
shift to smaller ones the other way round; so "worse" needs both to be above the limit.

Where single requests were watched, the p99 of their latencies counts too, as it does when `tune --live` judges: a tail can suffer where
the mean does not. Its interval comes from the same bootstrap, over the intervals' histograms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit  # `scipy.stats` takes a second to load and 40 MB

from seekwise.judge.decision.periods import BINS_PER_OCTAVE, dense, quantile_ns
from seekwise.settings.guard.watch import Interval

RESAMPLES = 400
BLOCKS_MIN = 6
REQUESTS_MIN = 100
CONFIDENCE = 0.95
TAIL = 0.99
TAIL_REQUESTS_MIN = 1000
"""Ten requests beyond the p99."""
PRESSURE_MIN = 0.05
"""A change of I/O pressure below five points of a hundred is no reason to roll back."""


Word = Literal["worse", "better", "same", "inconclusive"]


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


def compare(
    before: Sequence[Interval], after: Sequence[Interval], limit: float, *, looks: int = 1, seed: int = 0
) -> GuardVerdict:
    """`limit` 0.1: worse by more than 10 % is too much. `looks`: how often this is asked of the same periods (Bonferroni)."""
    generator = np.random.default_rng(seed)
    watched = all(any(each.bins for each in period) for period in (before, after))
    level = 1 - (1 - CONFIDENCE) / looks / (4 if watched else 3)  # reads, writes, pressure, tail
    metrics: list[Metric] = []
    worse: list[str] = []
    judged: list[tuple[Metric, Metric]] = []
    word: Word
    for kind, count, size in (("read", "reads", "read_bytes"), ("write", "writes", "write_bytes")):
        pair = (
            _ratio(f"{kind} latency", "ms per request", f"{kind}_ms", count, count, before, after, level, generator),
            _ratio(f"{kind} time per byte", "ms per MB", f"{kind}_ms", size, count, before, after, level, generator),
        )
        metrics += pair
        if all(metric.low is not None for metric in pair):
            judged.append(pair)
            if all(metric.low > 1 + limit for metric in pair):  # type: ignore[operator]
                worse.append(
                    f"{pair[0].name} is {_times(pair[0])} as long ({pair[0].before:.3g} ms before, {pair[0].after:.3g} ms after)"
                )
    pressure = _pressure(before, after, level, generator)
    if pressure is not None:
        metrics.append(pressure[0])
        if pressure[1] > max(PRESSURE_MIN, limit * pressure[0].before) and not any(
            pair[0].high is not None and pair[0].high < 1 for pair in judged
        ):
            worse.append(
                f"tasks wait for I/O {100 * pressure[0].after:.0f} % of the time ({100 * pressure[0].before:.0f} % before)"
            )
    tail = _tail(before, after, level, generator) if watched else None
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
        word, reason = "inconclusive", _nothing_judged(before, after)
    else:
        word, reason = _not_worse(judged, tail, limit)
    return GuardVerdict(word, reason, tuple(metrics), limit, level)


def _nothing_judged(before: Sequence[Interval], after: Sequence[Interval]) -> str:
    asked = sorted((_requests(before), _requests(after)))
    if asked[1] < REQUESTS_MIN or asked[0] == 0:
        return "too little I/O to compare"
    return "the load changes too slowly to tell in this time"


def _not_worse(judged: Sequence[tuple[Metric, Metric]], tail: Metric | None, limit: float) -> tuple[Word, str]:
    """Whether that nothing is shown to be worse means better, the same, or nothing yet."""
    if all(pair[0].high is not None and pair[0].high < 1 for pair in judged):
        return "better", ", ".join(f"{pair[0].name} is {_times(pair[0])} as long" for pair in judged)
    highs = [min(pair, key=lambda metric: metric.high or math.inf).high for pair in judged]
    highs += [tail.high] if tail is not None else []
    if all(high is not None and high <= 1 + limit for high in highs):
        return "same", f"no metric is worse by more than {100 * limit:.0f} %"
    widest = max(pair[0].high or 0 for pair in judged)
    return "inconclusive", f"no sign of harm beyond the noise; latency up to {widest:.3g} times as long is possible"


def _times(metric: Metric) -> str:
    return f"{metric.low:.3g} to {metric.high:.3g} times"


def _requests(intervals: Sequence[Interval]) -> int:
    return sum(each.reads + each.writes for each in intervals)


def _ratio(
    name: str,
    unit: str,
    upper: str,
    lower: str,
    counted: str,
    before: Sequence[Interval],
    after: Sequence[Interval],
    level: float,
    generator: np.random.Generator,
) -> Metric:
    scale = 1e-6 if lower.endswith("bytes") else 1.0
    numbers = [
        (
            np.array([getattr(each, upper) for each in period], float),
            np.array([getattr(each, lower) for each in period], float) * scale,
        )
        for period in (before, after)
    ]
    values = [top.sum() / bottom.sum() if bottom.sum() > 0 else math.nan for top, bottom in numbers]
    plain = Metric(name, unit, *(float(value) for value in values))
    counts = [sum(getattr(each, counted) for each in period) for period in (before, after)]
    if min(counts) < REQUESTS_MIN or not all(value > 0 for value in values):
        return plain
    errors, blocks = [], []
    for top, bottom in numbers:
        length = block_length(top - top.sum() / bottom.sum() * bottom)
        blocks.append(len(top) / length)
        errors.append(_log_error(top, bottom, length, generator))
    return _with_interval(plain, errors, blocks, level)


def _with_interval(plain: Metric, errors: Sequence[float], blocks: Sequence[float], level: float) -> Metric:
    """The ratio with its interval, where enough blocks are independent of each other."""
    if min(blocks) < BLOCKS_MIN:
        return plain
    spread = math.hypot(*errors) * stdtrit(min(blocks) - 1, (1 + level) / 2)
    log = math.log(plain.after / plain.before)
    return Metric(
        plain.name, plain.unit, plain.before, plain.after,
        math.exp(log), math.exp(log - spread), math.exp(min(log + spread, 700)),
    )  # fmt: skip


def _mean_bytes(intervals: Sequence[Interval]) -> float:
    return sum(each.read_bytes + each.write_bytes for each in intervals) / max(1, _requests(intervals))


def _tail(
    before: Sequence[Interval], after: Sequence[Interval], level: float, generator: np.random.Generator
) -> Metric | None:
    """The p99 of single requests' latencies; None where too few were looked at."""
    periods = [np.array([dense(each.bins) for each in period if each.bins is not None]) for period in (before, after)]
    if min(float(each.sum()) for each in periods) < TAIL_REQUESTS_MIN:
        return None
    values = [quantile_ns(each.sum(axis=0), TAIL) for each in periods]
    metric = Metric("p99 latency", "ms", values[0] / 1e6, values[1] / 1e6)
    errors, blocks = [], []
    for histograms, value in zip(periods, values, strict=True):
        beyond = histograms[:, math.floor(math.log2(value) * BINS_PER_OCTAVE) + 1 :].sum(axis=1)
        counts = histograms.sum(axis=1)
        length = block_length(beyond - beyond.sum() / counts.sum() * counts)
        blocks.append(len(histograms) / length)
        index = _resampled(len(histograms), length, generator)
        weights = np.array([np.bincount(row, minlength=len(histograms)) for row in index], float)
        found = np.array([quantile_ns(row, TAIL) for row in weights @ histograms])
        errors.append(float(np.nanstd(np.log(found))) * math.sqrt(blocks[-1] / max(blocks[-1] - 1, 0.5)))
    return _with_interval(metric, errors, blocks, level)


def _log_error(top: np.ndarray, bottom: np.ndarray, length: int, generator: np.random.Generator) -> float:
    """Standard error of log(Σ top / Σ bottom) by circular block bootstrap."""
    index = _resampled(len(top), length, generator)
    sums = top[index].sum(axis=1), bottom[index].sum(axis=1)
    usable = (sums[0] > 0) & (sums[1] > 0)
    if usable.sum() < RESAMPLES / 2:
        return math.inf
    blocks = len(top) / length
    # With m blocks a bootstrap variance is too small by (m - 1) / m.
    return float(np.log(sums[0][usable] / sums[1][usable]).std() * math.sqrt(blocks / max(blocks - 1, 0.5)))


def _resampled(count: int, length: int, generator: np.random.Generator) -> np.ndarray:
    starts = generator.integers(0, count, (RESAMPLES, -(-count // length)))
    index = (starts[:, :, None] + np.arange(length)) % count
    return index.reshape(RESAMPLES, -1)[:, :count]


def block_length(series: np.ndarray) -> int:
    """The block length that suits the series' autocorrelation; 1 for independent values."""
    count = len(series)
    centred = series - series.mean()
    variance = float(centred @ centred) / count
    if count < 8 or variance <= 0:
        return 1
    lags_max = min(count - 1, math.ceil(math.sqrt(count)) + max(5, math.ceil(math.log10(count))))
    covariance = np.array([float(centred[: count - lag] @ centred[lag:]) / count for lag in range(lags_max + 1)])
    significant = 2 * math.sqrt(math.log10(count) / count)
    run = max(5, math.ceil(math.sqrt(math.log10(count))))
    correlation = np.abs(covariance / variance)
    cut = next(
        (lag for lag in range(1, lags_max - run + 2) if np.all(correlation[lag : lag + run] < significant)), lags_max
    )
    width = min(2 * max(cut - 1, 0), lags_max)
    correlation_at_one = float(covariance[1] / variance)
    if width == 0:
        return min(_correlation_time(correlation_at_one, count), max(1, count // 3))
    lags = np.arange(-width, width + 1)
    share = np.abs(lags) / width
    window = np.where(share <= 0.5, 1.0, 2 * (1 - share))  # flat-top kernel
    values = window * covariance[np.abs(lags)]
    spectrum = float(values.sum())
    slope = float((values * np.abs(lags)).sum())
    best = (2 * slope**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * count ** (1 / 3) if spectrum > 0 else 1.0
    return int(min(max(1, math.ceil(best), _correlation_time(correlation_at_one, count)), max(1, count // 3)))


def _correlation_time(first: float, count: int) -> int:
    """Half as much again as the time over which a first-order process with this correlation forgets.

    A short series hides slow changes: its correlation is corrected for that bias (Kendall 1954), and blocks that are too long
    only make the answer more cautious.
    """
    first = min(first + (1 + 3 * first) / count, 0.99)
    return math.ceil(1.5 * (1 + first) / (1 - first)) if first > 0 else 1


def _pressure(
    before: Sequence[Interval], after: Sequence[Interval], level: float, generator: np.random.Generator
) -> tuple[Metric, float] | None:
    """The share of time in which some task waited, and the lower bound of its growth."""
    series = [
        np.array([each.pressure_some for each in period if each.pressure_some is not None], float)
        for period in (before, after)
    ]
    if min(len(each) for each in series) < 8:
        return None
    errors, blocks = [], []
    for each in series:
        length = block_length(each)
        blocks.append(len(each) / length)
        means = each[_resampled(len(each), length, generator)].mean(axis=1)
        errors.append(float(means.std()) * math.sqrt(blocks[-1] / max(blocks[-1] - 1, 0.5)))
    values = [float(each.mean()) for each in series]
    metric = Metric("I/O pressure", "share of time", *values)
    if min(blocks) < BLOCKS_MIN:
        return metric, -math.inf
    spread = math.hypot(*errors) * stdtrit(min(blocks) - 1, (1 + level) / 2)
    return metric, values[1] - values[0] - spread
