"""Many comparisons at once: false discovery rate over a table, family-wise error inside a combination.

A table without any difference is the hard case: there Benjamini-Hochberg at level α shows a winner in at most α of the
tables. With many true differences it is wasteful, because it still corrects for all m hypotheses although only m0 of them
can be wrong. The two-stage form counts the first stage's discoveries and corrects the second for the rest; it keeps α in
both cases (Benjamini, Krieger & Yekutieli 2006, "Adaptive linear step-up procedures that control the false discovery rate").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def benjamini_hochberg(p: ArrayLike) -> Array:
    """Adjusted p (q values) of Benjamini & Hochberg 1995; NaN stays NaN and is not counted as a hypothesis."""

    def steps(rising: Array) -> Array:
        stepped = rising * len(rising) / np.arange(1, len(rising) + 1)
        return np.minimum.accumulate(stepped[::-1])[::-1]

    return _adjusted(p, steps)


def two_stage(p: ArrayLike, level: float) -> Array:
    """q values of the two-stage procedure at this level: a hypothesis is rejected where q ≤ level.

    Unlike plain Benjamini-Hochberg the q values depend on the level, because the first stage is run at it.
    """
    plain = benjamini_hochberg(p)
    asked = ~np.isnan(plain)
    m = int(asked.sum())
    first_level = level / (1 + level)
    discoveries = int((plain[asked] <= first_level).sum())
    # All rejected at the first stage: nothing is left to correct for, and the procedure rejects everything.
    remaining = max(m - discoveries, 0)
    with np.errstate(invalid="ignore"):
        return np.minimum(plain * (1 + level) * (remaining / m if m else 1.0), 1.0)


def holm(p: ArrayLike) -> Array:
    """Adjusted p of Holm 1979; NaN stays NaN and is not counted as a hypothesis."""
    return _adjusted(p, lambda rising: np.maximum.accumulate(rising * (len(rising) - np.arange(len(rising)))))


def _adjusted(p: ArrayLike, steps: Callable[[Array], Array]) -> Array:
    """`steps` gives the adjusted values of hypotheses in rising order of p; none is above 1."""
    values = np.asarray(p, dtype=float)
    q = np.full(values.shape, np.nan)
    asked = ~np.isnan(values)
    if asked.any():
        order = np.argsort(values[asked], kind="stable")
        adjusted = np.empty(len(order))
        adjusted[order] = np.minimum(steps(values[asked][order]), 1.0)
        q[asked] = adjusted
    return q
