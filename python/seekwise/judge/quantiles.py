"""Whole distributions compared: how much later is each quantile of B than of A, with intervals.

A mean can hide what a tail shows. For each probability the quantile of every run is taken from its merged histogram; the
difference of the two settings, as a ratio, is averaged over repetitions (on the log scale), and its interval comes from drawing
repetitions with replacement (block bootstrap: a repetition is drawn with everything in it, so what its trials share stays together).

With three repetitions there are only ten different draws, and a bootstrap interval is too narrow; it is widened by
sqrt(n / (n − 1)) and by Student's over the normal quantile, which makes it right on average for normal errors.
Quantiles are given only where N (1 − p) and N p reach 20 operations in every run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from seekwise.store.percentiles import is_supported, percentile_ns

PERCENTS = (1.0, 5.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99)
DRAWS = 2000


@dataclass(frozen=True)
class QuantileRatio:
    """One quantile of A over the same of B."""

    percent: float
    ratio: float
    ratio_low: float
    ratio_high: float
    """95 % interval; equal to nothing (NaN) below two repetitions."""
    repetitions: int


def quantile_ratios(
    runs_a: Mapping[int, Mapping[int, int]],
    runs_b: Mapping[int, Mapping[int, int]],
    percents: Sequence[float] = PERCENTS,
    *,
    seed: int = 1,
    draws: int = DRAWS,
) -> list[QuantileRatio]:
    """`runs[repetition]` is one run's histogram {upper bound in ns: count}. Only repetitions that both have are compared."""
    repetitions = sorted(runs_a.keys() & runs_b.keys())
    operations = min((sum(runs[b].values()) for runs in (runs_a, runs_b) for b in repetitions), default=0)
    found = []
    for percent in percents:
        if not repetitions or not is_supported(operations, percent):
            continue
        logs = np.array([math.log(_quantile(runs_a[b], percent) / _quantile(runs_b[b], percent)) for b in repetitions])
        low, high = block_bootstrap(logs, seed=seed, draws=draws)
        mean = float(logs.mean())
        found.append(QuantileRatio(percent, math.exp(mean), math.exp(low), math.exp(high), len(repetitions)))
    return found


def block_bootstrap(
    values: np.ndarray, *, seed: int = 1, draws: int = DRAWS, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the mean of one value per repetition; NaN below two repetitions."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    means = values[rng.integers(0, n, (draws, n))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    widen = math.sqrt(n / (n - 1)) * float(special.stdtrit(n - 1, (1 + level) / 2) / special.ndtri((1 + level) / 2))
    centre = float(values.mean())
    return centre + widen * (float(low) - centre), centre + widen * (float(high) - centre)


def _quantile(histogram: Mapping[int, int], percent: float) -> int:
    value = percentile_ns(histogram, percent)
    assert value is not None  # supported quantiles have operations
    return max(value, 1)
