"""Many comparisons at once: false discovery rate over a table, family-wise error inside a cell.

Golden values: `scipy.stats.false_discovery_control` for Benjamini-Hochberg, Holm's own example for Holm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p (q values) of Benjamini & Hochberg 1995; NaN stays NaN and is not counted as a hypothesis."""
    values = np.asarray(p, dtype=float)
    q = np.full(values.shape, np.nan)
    asked = ~np.isnan(values)
    m = int(asked.sum())
    if m == 0:
        return q
    order = np.argsort(values[asked], kind="stable")
    stepped = values[asked][order] * m / np.arange(1, m + 1)
    stepped = np.minimum.accumulate(stepped[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1.0)
    q[asked] = adjusted
    return q


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p of Holm 1979; NaN stays NaN and is not counted as a hypothesis."""
    values = np.asarray(p, dtype=float)
    q = np.full(values.shape, np.nan)
    asked = ~np.isnan(values)
    m = int(asked.sum())
    if m == 0:
        return q
    order = np.argsort(values[asked], kind="stable")
    stepped = np.maximum.accumulate(values[asked][order] * (m - np.arange(m)))
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1.0)
    q[asked] = adjusted
    return q
