"""How far each unit is from what is usual for its kind: under one load, and over all of its loads.

A unit whose own repeats disagree more than those of the others is not known to be far: what its repeats leave open is counted against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from seekwise.report.fleet.rows import FleetSums, LogSums, Unit
from seekwise.report.fleet.two_groups import SCALE_LEAST, Floats

ERRATIC = 0.001
"""How rarely chance makes the repeats of a unit disagree so much more than usual that it is called erratic."""


@dataclass(frozen=True)
class FleetFigure:
    """One metric of the units of a kind, as logarithms of their ratio to what is usual."""

    kind: tuple[str, str]
    load: str
    """Empty: over several loads."""
    metric: str
    units: tuple[Unit, ...]
    own: Floats
    excess: Floats
    """Variance of `own` beyond what is usual for the units; 0 for nearly all."""
    fitted: int = 1
    """Parameters that were taken away from `own`."""

    @cached_property
    def scale(self) -> float:
        """Robust standard deviation."""
        return max(float(stats.median_abs_deviation(self.own, center=_zero, scale="normal")), SCALE_LEAST)

    @cached_property
    def sure(self) -> Floats:
        """`own`, nearer to nothing for an erratic unit: as far as it would be if it were known as well as the others."""
        found: Floats = self.own * self.scale / np.sqrt(self.scale**2 + self.excess)
        return found


def _zero(values: Floats, axis: int | None = None) -> float:
    return 0.0


def figures(summary: FleetSums) -> list[FleetFigure]:
    """By kind, load and metric: the median over settings of how far a unit is from the median unit under each."""
    settings: dict[tuple[tuple[str, str], str, str, str], dict[Unit, LogSums]] = {}
    for (unit, load, setting, metric), sums in summary.sums.items():
        settings.setdefault((unit.kind, load, metric, setting), {})[unit] = sums
    parts: dict[tuple[tuple[str, str], str, str], dict[Unit, list[tuple[float, LogSums]]]] = {}
    for (kind, load, metric, _), each in sorted(settings.items()):
        middle = float(np.median([sums.mean for sums in each.values()]))
        for unit, sums in each.items():
            parts.setdefault((kind, load, metric), {}).setdefault(unit, []).append((sums.mean - middle, sums))
    found = []
    for (kind, load, metric), of_unit in parts.items():
        units = tuple(sorted(of_unit))
        own = np.array([np.median([far for far, _ in of_unit[unit]]) for unit in units])
        counts = np.array([sum(sums.count for _, sums in of_unit[unit]) for unit in units])
        squares = np.array([_squares(of_unit[unit]) for unit in units])
        found.append(FleetFigure(kind, load, metric, units, own, _excess(squares / counts, counts - 1)))
    return found


def _squares(parts: Sequence[tuple[float, LogSums]]) -> float:
    """Squared deviations of a unit's trials from their mean, settings taken away."""
    count = sum(sums.count for _, sums in parts)
    mean = sum(far * sums.count for far, sums in parts) / count
    return sum(sums.spread + sums.count * (far - mean) ** 2 for far, sums in parts)


def _excess(squares: Floats, freedom: NDArray[np.int64]) -> Floats:
    """Variances (`squares` over `freedom`) less the usual one where they are larger than chance allows, else 0."""
    found = np.zeros(len(squares))
    known = freedom > 0
    if known.any():
        usual = float(np.median(squares[known] / stats.chi2.median(freedom[known])))
        beyond = squares[known] > max(usual, SCALE_LEAST**2) * stats.chi2.isf(ERRATIC, freedom[known])
        found[known] = np.where(beyond, squares[known] / freedom[known] - usual, 0.0)
    return found


def over_loads(figures: Sequence[FleetFigure]) -> FleetFigure:
    """The mean over the loads of each unit that has several, each load weighted by how well it is known."""
    parts: dict[Unit, list[tuple[float, float, float]]] = {}
    for figure in figures:
        for unit, own, excess in zip(figure.units, figure.own, figure.excess, strict=True):
            parts.setdefault(unit, []).append((float(own), figure.scale**2, float(excess)))
    units = tuple(unit for unit, each in parts.items() if len(each) > 1)
    means, squares, known = np.zeros(len(units)), np.zeros(len(units)), np.zeros(len(units))
    for at, unit in enumerate(units):
        own, variance, excess = np.array(parts[unit]).T
        weight = 1 / (variance + excess)
        means[at] = np.average(own, weights=weight)
        # What the loads disagree by, as the variance of their mean.
        squares[at] = (weight * (own - means[at]) ** 2).sum() / weight.sum()
        known[at] = 1 / weight.sum() - 1 / (1 / variance).sum()
    excess = _excess(squares, np.array([len(parts[unit]) - 1 for unit in units], dtype=np.int64)) + known
    first = figures[0]
    return FleetFigure(first.kind, "", first.metric, units, means, excess, max(figure.fitted for figure in figures))
