"""Variance borrowed from the other cells: the moderated t test.

Three blocks give each cell two degrees of freedom: too few to know its noise. A table has many cells with noise of the same
kind, so the variance of each is drawn towards what is typical for the table, as far as the table itself shows that its
cells resemble each other.

Modelled:      s² of a cell | σ² ~ σ² χ²(df)/df, and 1/σ² ~ χ²(d0)/(d0 s0²) over the cells. d0 and s0² come from mean and
               variance of ln s², corrected for df (Smyth 2004, "Linear models and empirical Bayes methods for assessing
               differential expression in microarray experiments", section 6.2).
Differs:       the spread of ln s² is never believed to be smaller than `d0_max` says, because a handful of cells that
               resemble each other by chance must not make a noisy one look quiet.
Not modelled:  noise that depends on the mean; cells that borrow only from their like.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

Array = NDArray[np.float64]

D0_MAX = 12.0
"""Prior degrees of freedom are not believed beyond this (real cells differ; see `d0_max` above)."""


@dataclass(frozen=True)
class Prior:
    """What a table's cells say about a variance before the cell itself is asked: worth `d0` observations at `s0_squared`."""

    d0: float
    s0_squared: float

    def squeeze(self, s_squared: Array, df: Array) -> tuple[Array, Array]:
        """Posterior variances and their degrees of freedom."""
        if self.d0 <= 0:
            return s_squared, df
        if np.isinf(self.d0):
            return np.full_like(s_squared, self.s0_squared), np.full_like(df, np.inf)
        return (self.d0 * self.s0_squared + df * s_squared) / (self.d0 + df), df + self.d0


NO_PRIOR = Prior(0.0, 1.0)


def trigamma_inverse(value: float) -> float:
    """x with ψ'(x) = value."""
    if value <= 0:
        return float("inf")
    # ψ'(x) lies between 1/x + 1/(2x²) and 1/x + 1/x² (Abramowitz & Stegun 6.4.10), which brackets the root.
    low, high = 0.5 / value, 1.0 / value + 1.0
    while special.polygamma(1, low) < value:
        low /= 2
    while special.polygamma(1, high) > value:
        high *= 2
    return float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - value, low, high, xtol=1e-12))


def fit_prior(s_squared: Array, df: Array, d0_max: float = D0_MAX) -> Prior:
    """Prior from the variances of a table's cells, by the first two moments of ln s²."""
    usable = (s_squared > 0) & (df > 0) & np.isfinite(s_squared)
    if usable.sum() < 2:
        return NO_PRIOR
    s2, d = s_squared[usable], df[usable]
    # E ln s² = ln σ² + ψ(df/2) − ln(df/2), and its variance given σ² is ψ'(df/2).
    e = np.log(s2) - special.digamma(d / 2) + np.log(d / 2)
    mean = float(e.mean())
    spread = float(((e - mean) ** 2).sum() / (len(e) - 1) - special.polygamma(1, d / 2).mean())
    d0 = min(2 * trigamma_inverse(spread), d0_max)
    if np.isinf(d0):
        return Prior(d0, float(np.exp(mean)))
    return Prior(d0, float(np.exp(mean + special.digamma(d0 / 2) - np.log(d0 / 2))))


def t_two_sided(t: Array, df: Array) -> Array:
    """Two-sided p of |t|; infinite degrees of freedom are the normal distribution."""
    return np.where(
        np.isinf(df), 2 * stats.norm.sf(np.abs(t)), 2 * stats.t.sf(np.abs(t), np.where(np.isinf(df), 1.0, df))
    )
