"""Outliers: flagged, never dropped.

|0.6745 (x − median) / MAD| > 3.5 on the residuals of setting + repetition (Iglewicz & Hoaglin 1993, "How to detect and handle
outliers", the modified z score; 0.6745 is the 75 % point of the normal distribution, which makes MAD a standard
deviation). Setting and repetition are fitted by median polish (Tukey 1977), because a mean is drawn towards the very
value that is off. MAD is the combination's own, but not smaller than what is typical for the table: three runs that
agree by chance do not make a fourth one an outlier.

A flagged trial stays in the judgement: slow runs happen to users as well. It is named so that a person can look for a
cause; only a recorded cause makes a trial invalid (`validity.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise import special
from seekwise.judge.grid import grids
from seekwise.judge.observation import Observation

Z_MAX = 3.5
POLISHES = 10
MAD_TO_SD = float(special.normal_quantile(0.75))


@dataclass(frozen=True)
class Outlier:
    """One trial's value that is far from what its setting and repetition lead to expect."""

    table: str
    combination: str
    metric: str
    repetition: int
    setting: str
    modified_z: float
    ratio: float
    """Observed to expected value."""


def outliers(observations: Sequence[Observation]) -> list[Outlier]:
    """All flagged values, the most unusual first."""
    outlying: list[Outlier] = []
    for grid in grids(observations):
        residuals = median_polish(np.asarray(grid.log_values))
        sizes = np.array([_mad(combination) for combination in residuals])
        typical = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 0.0
        for c, combination in enumerate(residuals):
            size = max(sizes[c], typical)
            if size <= 0:
                continue
            z = MAD_TO_SD * combination / size
            outlying.extend(
                Outlier(
                    grid.table,
                    grid.combinations[c],
                    grid.metric,
                    grid.repetitions[b],
                    grid.settings[s],
                    float(z[b, s]),
                    float(np.exp(combination[b, s])),
                )
                for b, s in zip(*np.nonzero(np.abs(z) > Z_MAX), strict=True)
            )
    return sorted(outlying, key=lambda o: -abs(o.modified_z))


def median_polish(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Residuals of repetition + setting, both as medians, of tables (…, repetitions, settings); NaN stays NaN.

    A table with values of fewer than three repetitions or two settings: all zero.
    """
    known = ~np.isnan(values)
    few = (known.any(axis=-1).sum(axis=-1) < 3) | (known.any(axis=-2).sum(axis=-1) < 2)
    rest = values.copy()
    with warnings.catch_warnings():
        # Repetitions or settings without any value have no median, and need none.
        warnings.filterwarnings("ignore", "All-NaN slice encountered", RuntimeWarning)
        for _ in range(POLISHES):
            rest -= np.nanmedian(rest, axis=-1, keepdims=True)
            rest -= np.nanmedian(rest, axis=-2, keepdims=True)
    return np.where(few[..., None, None] & known, 0.0, rest)


def _mad(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    # Half of the residuals of a polished table are near zero by construction with few repetitions: those that are zero
    # say nothing.
    known = np.abs(known[np.abs(known) > 1e-12])
    return float(np.median(known)) if len(known) else 0.0
