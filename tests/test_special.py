"""Distribution functions held against SciPy, over all sizes that the product asks for and beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special as oracle
from scipy import stats

from seekwise import special

CLOSE = 1e-10
SHARES = np.array([1e-9, 1e-4, 0.005, 0.03, 0.11, 0.31, 0.5, 0.61, 0.885, 0.975, 0.9995, 1 - 1e-9])


@pytest.mark.parametrize("degrees", [1, 1.7, 2, 3, 7.5, 29, 200, 1e4])
def test_quantiles_of_t(degrees):
    found = np.array([special.t_quantile(degrees, share) for share in SHARES])
    assert found == pytest.approx(oracle.stdtrit(degrees, SHARES), rel=CLOSE, abs=1e-15)
    assert special.t_quantile(degrees, 1.0) == math.inf == -special.t_quantile(degrees, 0.0)


def test_quantiles_of_gamma():
    shapes = np.array([0.5, 1, 1.5, 4, 12.5, 100, 5e3])
    shares = SHARES[1:]
    known = oracle.gammaincinv(shapes[:, None], shares[None, :])
    assert special.gamma_quantiles(shapes, shares) == pytest.approx(known, rel=CLOSE, abs=0)
    assert special.gamma_quantiles([2.0], [0.0, 1.0]).tolist() == [[0.0, math.inf]]


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.5, 80.5), (3.5, 1000.5), (40.5, 2.5), (700.5, 900.5), (1, 1)])
def test_quantiles_of_beta(a, b):
    shares = np.linspace(0, 1, 101)
    assert special.beta_quantiles(a, b, shares) == pytest.approx(oracle.betaincinv(a, b, shares), rel=CLOSE, abs=0)


def test_counts():
    for mean in (1e-3, 0.7, 5, 80, 4e3, 2e5):
        for count in {0, 1, int(mean * 0.9), int(mean), int(mean + 3 * math.sqrt(mean))}:
            assert special.poisson_at_most(count, mean) == pytest.approx(oracle.pdtr(count, mean), rel=1e-9)
    for trials in (1, 20, 3000):
        for chance in (1e-6, 0.03, 0.5, 0.99):
            for count in {0, int(trials * chance), trials - 1, trials}:
                known = oracle.bdtr(count, trials, chance)
                assert special.binomial_at_most(count, trials, chance) == pytest.approx(known, rel=1e-9)


def test_the_normal_distribution_also_in_its_tails():
    z = np.array([-37.0, -8, -1.5, 0, 0.3, 6])
    assert special.normal_below(z) == pytest.approx(oracle.ndtr(z), rel=1e-13)
    assert special.normal_quantile(SHARES) == pytest.approx(oracle.ndtri(SHARES), rel=1e-12)


def test_functions_of_gammas_kind():
    values = np.array([0.01, 0.5, 1, 1.5, 2.75, 10, 19.99, 300, 1e5])
    assert special.digamma(values) == pytest.approx(oracle.digamma(values), rel=CLOSE)
    assert special.trigamma(values) == pytest.approx(oracle.polygamma(1, values), rel=1e-13)
    for value in values:
        assert special.trigamma_inverse(float(oracle.polygamma(1, value))) == pytest.approx(value, rel=CLOSE)
    assert special.log_beta(values, 3.5) == pytest.approx(oracle.betaln(values, 3.5), rel=1e-9, abs=1e-12)
    for odds in (-800.0, -3.0, 0.0, 0.4, 900.0):
        assert special.logistic(odds) == pytest.approx(float(oracle.expit(odds)), rel=1e-15, abs=0)


def test_slope_of_a_line_and_its_error():
    chance = np.random.default_rng(3)
    x = chance.uniform(0, 1e9, 200)
    y = 0.4 * x + chance.normal(0, 1e7, 200)
    known = stats.linregress(x, y)
    assert special.slope_with_error(x, y) == pytest.approx((known.slope, known.stderr), rel=1e-10)
