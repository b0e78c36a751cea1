"""How probable it is that a unit is unlike its twins: the two-groups model with a null that the fleet itself gives.

Efron, "Large-scale simultaneous hypothesis testing: the choice of a null hypothesis", JASA 99 (2004). Most units differ by noise alone, some are unlike:
f(r) = (1 − ε) f₀(r) + ε f₁(r). Noise between hosts is seldom normal, and what a far unit means depends on it: in a fleet with heavy tails one unit in
500 is far from the others by chance. So f₀ is one of several shapes, from light to heavy tails, of unknown scale, on both sides alike or on each its own
(noise may be skewed), and f₁ is broad. What is unknown is averaged over a grid, each value weighted by how well it explains all units: with few units, that
leaves heavy tails possible. A unit is told by the probability that it belongs to f₁, which several unlike units do not hide from one another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Floats = NDArray[np.float64]

TAILS = (*(stats.t(freedom) for freedom in (2, 3, 4, 6, 10, 20)), stats.norm(), stats.laplace())
"""What noise may look like: heavy tails, light ones, and exponential ones, which one side of skewed noise has."""
SCALES = 15
SHARES = 7
# The four numbers below are assumptions, not measurements: no data on how disks of a fleet fail in speed was at hand. `benches/fleets.py` shows
# what they give over families of noise.
UNITS_LEAST = 0.1
"""Unlike units that are expected in a fleet at least."""
SHARE_MOST = 0.05
"""Share of a large fleet that may be unlike the rest; more would be another kind of device."""
FEW = 2.5
"""So many units of a small fleet may be unlike beyond that share."""
SIZE = 0.4
"""Mean size of what makes a unit unlike, as a logarithm (exponential distribution): half as fast is 0.7."""
WORSE = 0.9
"""Share of unlike units that are worse than their twins: devices break, they do not improve."""
SCALE_LEAST = 1e-3
"""Units that are equal to the last digit are no reason to call the next one unlike."""


@dataclass(frozen=True)
class _Side:
    """Units that share a null: their probabilities, and the logarithm of how well the model explains them."""

    unlike: Floats
    evidence: float


def probabilities(residuals: Floats, worse_sign: float, fitted: int = 1) -> Floats:
    """That each unit is unlike the others.

    `residuals`: logarithms, with what the twins have in common taken away; `worse_sign`: −1 where less is worse, else +1; `fitted`: parameters
    that were taken away.
    """
    worse = residuals * worse_sign > 0
    spread = math.sqrt(len(residuals) / max(len(residuals) - fitted, 1))
    both = _side(residuals, worse, residuals, spread)
    each = [_side(residuals[side], worse[side], residuals, spread) for side in (worse, ~worse)]
    apart = np.empty(len(residuals))
    for side, found in zip((worse, ~worse), each, strict=True):
        apart[side] = found.unlike
    alike = float(special.expit(both.evidence - sum(found.evidence for found in each)))
    result: Floats = alike * both.unlike + (1 - alike) * apart
    return result


def weighed(probabilities: Floats, odds: Floats | float) -> Floats:
    """The same with other prior odds: for units that are looked at in several ways, each of which may err."""
    found: Floats = odds * probabilities / (1 - probabilities + odds * probabilities)
    return found


def _side(residuals: Floats, worse: NDArray[np.bool_], fleet: Floats, spread: float) -> _Side:
    if not len(residuals):
        return _Side(np.empty(0), 0.0)
    size = np.abs(residuals)
    middle = max(float(np.median(size)) * spread, SCALE_LEAST)
    count = len(fleet)
    broad = stats.expon.pdf(size, scale=SIZE) * np.where(worse, WORSE, 1 - WORSE)
    most = min(SHARE_MOST + FEW / count, 0.5)
    shares = np.geomspace(min(UNITS_LEAST / count, most / 2), most, SHARES)
    width = min(3.5 / math.sqrt(len(size)), 1.0)
    logs, unlike = [], []
    for tail in TAILS:
        # The median of the sizes is known best, so the grid of scales is laid around it.
        centre = middle / tail.ppf(0.75)
        scales = centre * np.exp(width * np.linspace(-1, 1, SCALES))
        null = tail.pdf(size / scales[:, None]) / scales[:, None]
        for share in shares:
            other = share * broad
            whole = (1 - share) * null + other
            logs.append(np.log(whole).sum(axis=1))
            unlike.append(other / whole)
    weights = np.concatenate(logs)
    evidence = float(special.logsumexp(weights) - math.log(len(weights)))
    weights = np.exp(weights - special.logsumexp(weights))
    return _Side(weights @ np.concatenate(unlike), evidence)
