"""Whole distributions: quantile ratios with block bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from seekwise.judge.quantiles import block_bootstrap, quantile_ratios


def runs(
    rng: np.random.Generator, scale: float, tail: float, repetitions: int, operations: int = 20_000
) -> dict[int, dict[int, int]]:
    made = {}
    for repetition in range(repetitions):
        t = 1e6 * scale * np.exp(rng.normal(0, 0.3, operations) + rng.normal(0, 0.005))
        slow = rng.random(operations) < 0.02
        t[slow] *= tail
        values, counts = np.unique(np.round(t, -3).astype(int), return_counts=True)
        made[repetition] = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return made


def test_a_longer_tail_shows_where_the_medians_agree() -> None:
    rng = np.random.default_rng(1)
    found = {q.percent: q for q in quantile_ratios(runs(rng, 1.0, 10.0, 5), runs(rng, 1.0, 1.0, 5))}
    assert found[50.0].ratio_low < 1 < found[50.0].ratio_high or abs(found[50.0].ratio - 1) < 0.02
    assert found[99.0].ratio_low > 1.5


def test_quantiles_without_support_are_left_out() -> None:
    rng = np.random.default_rng(1)
    found = quantile_ratios(runs(rng, 1, 1, 3, operations=2000), runs(rng, 1, 1, 3, operations=2000))
    assert [q.percent for q in found] == [1.0, 5.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0]


def test_only_common_repetitions_are_compared() -> None:
    rng = np.random.default_rng(1)
    a, b = runs(rng, 1, 1, 4), runs(rng, 1, 1, 4)
    del b[2]
    assert {q.repetitions for q in quantile_ratios(a, b)} == {3}
    assert quantile_ratios(a, {}) == []


@pytest.mark.parametrize("n", [3, 5, 8])
def test_block_bootstrap_holds_the_truth_about_nineteen_times_in_twenty(n: int) -> None:
    rng = np.random.default_rng(n)
    inside = 0
    for i in range(600):
        low, high = block_bootstrap(rng.normal(0, 1, n), seed=i, draws=400)
        inside += low <= 0 <= high
    assert 0.90 < inside / 600 < 0.985


def test_block_bootstrap_is_near_students_interval() -> None:
    values = np.random.default_rng(0).normal(2, 1, 40)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert block_bootstrap(values, draws=20_000) == pytest.approx((expected.low, expected.high), abs=0.06)


def test_one_repetition_has_no_interval() -> None:
    assert all(math.isnan(x) for x in block_bootstrap(np.array([1.0])))
