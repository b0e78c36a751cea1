"""Moderated variances: the prior found again, limits, and the tests they reduce to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from seekwise.judge.moderate import NO_PRIOR, Prior, fit_prior, t_two_sided


def one(d0: float, s0_squared: float) -> Prior:
    return Prior(np.array([d0]), np.array([s0_squared]), np.array([1.0]))


@pytest.mark.parametrize(("d0", "s0_squared", "df"), [(2.0, 1.0, 2.0), (4.0, 0.0009, 2.0), (8.0, 0.01, 7.0)])
def test_prior_is_found_again_from_many_combinations(d0: float, s0_squared: float, df: float) -> None:
    rng = np.random.default_rng(11)
    sigma_squared = d0 * s0_squared / rng.chisquare(d0, size=20_000)
    s_squared = sigma_squared * rng.chisquare(df, size=20_000) / df
    found = fit_prior(s_squared, np.full(20_000, df))
    assert found.d0_mean == pytest.approx(d0, rel=0.05)
    assert np.exp(np.log(found.s0_squared) @ found.weight) == pytest.approx(s0_squared, rel=0.05)
    assert found.weight.sum() == pytest.approx(1)


def test_few_combinations_leave_the_prior_open() -> None:
    rng = np.random.default_rng(2)
    found = fit_prior(rng.chisquare(2, size=10) / 2, np.full(10, 2.0))
    assert found.d0.min() <= 2 and found.d0.max() >= 20


def test_combinations_with_little_in_common_borrow_little() -> None:
    rng = np.random.default_rng(2)
    scale = np.exp(rng.uniform(-6, 6, size=40))
    assert fit_prior(scale * rng.chisquare(4, size=40) / 4, np.full(40, 4.0)).d0_mean < 1


def test_squeeze_by_hand() -> None:
    variance, df = one(4.0, 2.0).squeeze(np.array([5.0]), np.array([2.0]))
    assert variance[0] == pytest.approx((4 * 2 + 2 * 5) / 6)
    assert df[0] == 6


def test_moderated_p_by_hand() -> None:
    # Smyth 2004: t = mean / sqrt(s̃²/n) with d0 + df degrees of freedom.
    p = one(4.0, 2.0).p(np.array([3.0]), np.array([5.0]), np.array([3.0]), np.array([2.0]))
    assert p[0] == pytest.approx(2 * stats.t.sf(3.0 / np.sqrt(3.0 / 3), 6))


def test_without_a_prior_it_is_the_t_test_of_scipy() -> None:
    d = np.array([0.1, 0.3, 0.15, 0.4])
    p = NO_PRIOR.p(np.array([d.mean()]), np.array([d.var(ddof=1)]), np.array([4.0]), np.array([3.0]))
    assert p[0] == pytest.approx(stats.ttest_1samp(d, 0).pvalue)


@pytest.mark.parametrize("combinations", [20, 60])
def test_moderated_p_keeps_its_level_far_out_even_with_few_combinations(combinations: int) -> None:
    # Far out is where a table with many combinations decides: p below 0.05 / combinations.
    rng = np.random.default_rng(5)
    tables, n, d0 = 2000, 3, 4.0
    level = 0.05 / combinations
    below = 0
    for _ in range(tables):
        sigma = np.sqrt(d0 / rng.chisquare(d0, size=combinations))
        d = sigma[:, None] * rng.normal(size=(combinations, n))
        s_squared, df = d.var(axis=1, ddof=1), np.full(combinations, n - 1.0)
        below += bool(
            (fit_prior(s_squared, df).p(d.mean(axis=1), s_squared, np.full(combinations, float(n)), df) < level).any()
        )
    # Exact would be 5 in 100, one estimate in place of the prior gives 10 (60 combinations); the rule's level covers the rest.
    assert below / tables < 0.08


def test_two_sided_p_equals_scipy() -> None:
    t, df = np.array([0.0, -2.5, 40.0]), np.array([1.0, 4.0, 2.5])
    np.testing.assert_allclose(t_two_sided(t, df), 2 * stats.t.sf(np.abs(t), df), rtol=1e-10)
