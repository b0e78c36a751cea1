"""Moderated variances: the prior found again, limits, and the tests they reduce to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from seekwise.verdict.moderate import NO_PRIOR, Prior, fit_prior, t_two_sided, trigamma_inverse


@pytest.mark.parametrize("x", [0.01, 0.5, 1.0, 7.3, 900.0])
def test_trigamma_inverse_is_the_inverse(x: float) -> None:
    assert trigamma_inverse(float(special.polygamma(1, x))) == pytest.approx(x, rel=1e-6)


@pytest.mark.parametrize(("d0", "s0_squared", "df"), [(2.0, 1.0, 2.0), (4.0, 0.0009, 2.0), (8.0, 0.01, 7.0)])
def test_prior_is_found_again_from_many_cells(d0: float, s0_squared: float, df: float) -> None:
    rng = np.random.default_rng(11)
    sigma_squared = d0 * s0_squared / rng.chisquare(d0, size=200_000)
    s_squared = sigma_squared * rng.chisquare(df, size=200_000) / df
    found = fit_prior(s_squared, np.full(200_000, df))
    assert found.d0 == pytest.approx(d0, rel=0.05)
    assert found.s0_squared == pytest.approx(s0_squared, rel=0.03)


def test_squeeze_by_hand() -> None:
    variance, df = Prior(4.0, 2.0).squeeze(np.array([5.0]), np.array([2.0]))
    assert variance[0] == pytest.approx((4 * 2 + 2 * 5) / 6)
    assert df[0] == 6


def test_without_a_prior_the_variance_stays() -> None:
    variance, df = NO_PRIOR.squeeze(np.array([5.0]), np.array([2.0]))
    assert (variance[0], df[0]) == (5.0, 2.0)


def test_moderated_t_is_t_distributed_when_its_model_holds() -> None:
    # Smyth 2004, section 4: under the null the moderated t has d0 + df degrees of freedom.
    rng = np.random.default_rng(5)
    cells, n, d0 = 200_000, 3, 4.0
    sigma = np.sqrt(d0 / rng.chisquare(d0, size=cells))
    d = sigma[:, None] * rng.normal(size=(cells, n))
    s_squared, df = fit_prior(d.var(axis=1, ddof=1), np.full(cells, n - 1.0)).squeeze(
        d.var(axis=1, ddof=1), np.full(cells, n - 1.0)
    )
    p = t_two_sided(d.mean(axis=1) / np.sqrt(s_squared / n), df)
    for level in (0.1, 0.01, 0.001):
        # Four standard deviations of a count.
        assert abs((p < level).sum() - level * cells) < 4 * np.sqrt(level * cells)


def test_two_sided_p_equals_scipy() -> None:
    assert t_two_sided(np.array([2.5]), np.array([4.0]))[0] == pytest.approx(2 * stats.t.sf(2.5, 4))
    assert t_two_sided(np.array([1.96]), np.array([np.inf]))[0] == pytest.approx(2 * stats.norm.sf(1.96))
