"""Outliers: flagged, never dropped.

|0.6745 (x − median) / MAD| > 3.5 on the residuals of setting + block (Iglewicz & Hoaglin 1993, "How to detect and handle
outliers", the modified z score; 0.6745 is the 75 % point of the normal distribution, which makes MAD a standard deviation).
Setting and block are fitted by median polish (Tukey 1977), because a mean is drawn towards the very value that stands apart.
MAD is the cell's own, but not smaller than what is typical for the table: three runs that agree by chance do not make a fourth
one an outlier.

A flagged trial stays in the judgement: slow runs happen to users as well. It is named so that a person can look for a cause;
only a recorded cause makes a trial invalid (`validity.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from seekwise.judge.grid import grids
from seekwise.judge.observation import Observation

Z_MAX = 3.5
MAD_TO_SD = float(special.ndtri(0.75))


@dataclass(frozen=True)
class Outlier:
    """One trial's value that stands apart from what its setting and block would make expect."""

    table: str
    combination: str
    metric: str
    repetition: int
    setting: str
    modified_z: float
    ratio: float
    """Observed to expected value."""


def modified_z(values: ArrayLike) -> NDArray[np.float64]:
    """Modified z scores; 0 everywhere when half of the values are equal (MAD 0), since then nothing is known of their spread."""
    x = np.asarray(values, dtype=float)
    centre = np.nanmedian(x) if x.size else 0.0
    mad = np.nanmedian(np.abs(x - centre)) if x.size else 0.0
    return MAD_TO_SD * (x - centre) / mad if mad > 0 else np.zeros_like(x)


def outliers(observations: Sequence[Observation], z_max: float = Z_MAX) -> list[Outlier]:
    """All flagged values, the most unusual first."""
    found: list[Outlier] = []
    for grid in grids(observations):
        residuals = median_polish(np.asarray(grid.log_values))
        sizes = np.array([_mad(cell) for cell in residuals])
        typical = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 0.0
        for c, cell in enumerate(residuals):
            size = max(sizes[c], typical)
            if size <= 0:
                continue
            z = MAD_TO_SD * cell / size
            found.extend(
                Outlier(
                    grid.table,
                    grid.cells[c],
                    grid.metric,
                    grid.blocks[b],
                    grid.settings[s],
                    float(z[b, s]),
                    float(np.exp(cell[b, s])),
                )
                for b, s in zip(*np.nonzero(np.abs(z) > z_max), strict=True)
            )
    return sorted(found, key=lambda o: -abs(o.modified_z))


def median_polish(values: NDArray[np.float64], rounds: int = 10) -> NDArray[np.float64]:
    """Residuals of block + setting, both as medians, of tables (…, blocks, settings); NaN stays NaN.

    A table with values of fewer than three blocks or two settings: all zero.
    """
    known = ~np.isnan(values)
    few = (known.any(axis=-1).sum(axis=-1) < 3) | (known.any(axis=-2).sum(axis=-1) < 2)
    rest = values.copy()
    with warnings.catch_warnings():
        # Blocks or settings without any value have no median, and need none.
        warnings.filterwarnings("ignore", "All-NaN slice encountered", RuntimeWarning)
        for _ in range(rounds):
            rest -= np.nanmedian(rest, axis=-1, keepdims=True)
            rest -= np.nanmedian(rest, axis=-2, keepdims=True)
    return np.where(few[..., None, None] & known, 0.0, rest)


def _mad(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    # Half of the residuals of a polished table are near zero by construction with few blocks: those that are zero say nothing.
    known = np.abs(known[np.abs(known) > 1e-12])
    return float(np.median(known)) if len(known) else 0.0
