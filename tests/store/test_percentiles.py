"""Percentiles of merged histograms, against NumPy's nearest rank on the same operations."""

from __future__ import annotations

import numpy as np
import pytest

from seekwise.store.percentiles import is_supported, merged, percentile_ns


@pytest.mark.parametrize("percent", [0.1, 1, 50, 90, 95, 99, 99.9, 100])
def test_percentile_equals_nearest_rank_over_all_operations(percent: float) -> None:
    rng = np.random.default_rng(3)
    jobs = [rng.integers(1, 4000, size=n) for n in (7, 100, 2531)]
    histograms = [dict(zip(*(x.tolist() for x in np.unique(job, return_counts=True)), strict=True)) for job in jobs]
    expected = np.percentile(np.concatenate(jobs), percent, method="inverted_cdf")
    assert percentile_ns(merged(histograms), percent) == expected


def test_percentile_of_merged_jobs_is_not_the_mean_of_percentiles() -> None:
    fast, slow = {10: 900}, {1000: 100}
    assert percentile_ns(merged([fast, slow]), 50) == 10
    assert percentile_ns(merged([fast, slow]), 99) == 1000


def test_p99_needs_two_thousand_operations() -> None:
    assert not is_supported(1999, 99)
    assert is_supported(2000, 99)
    assert is_supported(20_000, 99.9)
    assert not is_supported(19_999, 99.9)


def test_a_low_percentile_needs_as_many_operations_below_it() -> None:
    assert not is_supported(1999, 1)
    assert is_supported(2000, 1)


def test_no_operations_have_no_percentile() -> None:
    assert percentile_ns({}, 99) is None
