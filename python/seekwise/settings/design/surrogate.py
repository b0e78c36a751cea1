"""What points that were not simulated would give: radial basis functions (SciPy's RBFInterpolator) over the logarithms of the figures.

Its error is cross-validated: a fifth of the simulated points is left out and predicted from the rest, five times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

from seekwise.settings.design.space import Point, Space

FOLDS = 5
SMOOTHINGS = (0.001, 0.01, 0.1, 1.0, 10.0)
POINTS_LEAST = 40
"""Below this a prediction is worth nothing."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Surrogate:
    """Predicts logarithms of figures, one column each."""

    space: Space
    error_share: tuple[float, ...]
    """Median error of a prediction, as a share (0.05: 5 %), by figure."""
    _interpolator: RBFInterpolator

    def predict(self, points: Sequence[Point]) -> Matrix:
        """Natural logarithms, shape (points, figures)."""
        found: Matrix = self._interpolator(features(self.space, points))
        return found


def features(space: Space, points: Sequence[Point]) -> Matrix:
    """Steps of the choices as numbers of about equal weight; what has no order has a column for each choice."""
    levels = sorted({array.level for array in space.arrays})
    rows = []
    for point in points:
        row = [float(point.array.level == level) for level in levels]
        row += [float(point.scheduler == name) for name in space.schedulers]
        row += [
            np.log2(point.array.drives),
            np.log2(point.chunk_kib) / 4 if point.chunk_kib else 2.0,
            np.log2(point.depth) / 4,
            np.log2(point.read_ahead_kib) / 4 if point.read_ahead_kib else 0.0,
        ]
        rows.append(row)
    return np.array(rows)


def fit(space: Space, points: Sequence[Point], logs: Matrix, seed: int) -> Surrogate | None:
    """`logs`: a row per point. None for too few points."""
    if len(points) < POINTS_LEAST:
        return None
    where = features(space, points)
    folds = np.random.default_rng(seed).permutation(len(points)) % FOLDS
    found = []
    for smoothing in SMOOTHINGS:
        predicted = np.empty_like(logs)
        try:
            for fold in range(FOLDS):
                out = folds == fold
                predicted[out] = _made(where[~out], logs[~out], smoothing)(where[out])
        except np.linalg.LinAlgError:
            continue
        errors = np.abs(predicted - logs)
        found.append((float(np.sqrt((errors**2).mean())), smoothing, np.expm1(np.median(errors, axis=0))))
    if not found:
        return None
    _, smoothing, errors = min(found, key=lambda each: each[0])
    return Surrogate(space, tuple(float(each) for each in errors), _made(where, logs, smoothing))


def _made(where: Matrix, logs: Matrix, smoothing: float) -> RBFInterpolator:
    # The columns of a choice add up to one: with a constant beside them a linear part would have no solution.
    return RBFInterpolator(where, logs, kernel="linear", smoothing=smoothing, degree=0)
