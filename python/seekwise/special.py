"""Distribution functions, their quantiles, and functions of the same kind: the compiled core's for arrays, and what Python has itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seekwise import _core
from seekwise._core import binomial_at_most, poisson_at_most, t_quantile

__all__ = [
    "beta_quantiles",
    "binomial_at_most",
    "digamma",
    "gamma_quantiles",
    "log_beta",
    "logistic",
    "normal_below",
    "normal_quantile",
    "poisson_at_most",
    "slope_with_error",
    "t_quantile",
    "trigamma",
    "trigamma_inverse",
]


def _each(of: Callable[[float], float], values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float)
    return np.array([of(value) for value in array.ravel().tolist()]).reshape(array.shape)


def normal_below(z: ArrayLike) -> NDArray[np.float64]:
    """Share of the standard normal distribution below each value; exact in its tails, which `NormalDist.cdf` is not."""
    return _each(lambda value: math.erfc(-value / math.sqrt(2)) / 2, z)


def normal_quantile(shares: ArrayLike) -> NDArray[np.float64]:
    """The values below which lie these shares of the standard normal distribution; shares between 0 and 1."""
    return _each(NormalDist().inv_cdf, shares)


def gamma_quantiles(shapes: ArrayLike, shares: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(shapes, shares): the values below which lie these shares of gamma distributions of scale 1."""
    return np.array(_core.gamma_quantiles(np.asarray(shapes, dtype=float).tolist(), np.asarray(shares).tolist()))


def beta_quantiles(a: float, b: float, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values below which lie these shares of a beta distribution."""
    return np.array(_core.beta_quantiles(float(a), float(b), shares.tolist()))


def log_beta(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """The logarithm of the beta function."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return _each(math.lgamma, a) + _each(math.lgamma, b) - _each(math.lgamma, a + b)


def logistic(log_odds: float) -> float:
    """The share that has these log odds."""
    if log_odds < 0:
        return math.exp(log_odds) / (1 + math.exp(log_odds))
    return 1 / (1 + math.exp(-log_odds))


def digamma(values: ArrayLike) -> NDArray[np.float64]:
    """Derivative of the logarithm of the gamma function, for values above 0."""
    array = np.asarray(values, dtype=float)
    return np.array(_core.digamma(array.ravel().tolist())).reshape(array.shape)


def trigamma(values: ArrayLike) -> NDArray[np.float64]:
    """Derivative of `digamma`, for values above 0."""
    array = np.asarray(values, dtype=float)
    return np.array(_core.trigamma(array.ravel().tolist())).reshape(array.shape)


def trigamma_inverse(value: float) -> float:
    """The argument at which trigamma has this value above 0, by bisection: it falls from infinity to 0."""
    low, high = 0.0, 1.0
    while trigamma(high) > value:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return high


def slope_with_error(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope of the least-squares line through more than two points, and its standard error."""
    x, y = x - np.mean(x), y - np.mean(y)
    spread = float(x @ x)
    slope = float(x @ y) / spread
    rest = y - slope * x
    return slope, math.sqrt(float(rest @ rest) / (len(x) - 2) / spread)
