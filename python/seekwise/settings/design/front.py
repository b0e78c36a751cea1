"""Pareto front: points that no other is at least as good as in everything and better in something."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def front(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """`values`: a row per point, more is better in each column. Equal points are on the front together."""
    on = np.ones(len(values), dtype=bool)
    for at, row in enumerate(values):
        better = np.all(values >= row, axis=1) & np.any(values > row, axis=1)
        on[at] = not better.any()
    return on
