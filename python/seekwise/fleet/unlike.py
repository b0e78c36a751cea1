"""Devices unlike their twins, and what another kernel or firmware changes.

Of the units of one kind (model and level), the logarithm of a figure under one load is a sum: what its kernel gives, what its firmware gives, and its
own. A robust fit (statsmodels' RLM, Tukey's biweight) finds the first two without being led astray by a few broken units; what is left is the unit's
own, measured in robust standard deviations. Every test of a fleet shares one error rate of 5 % (Bonferroni), and differences below 5 % are not told.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from seekwise.analysis.rule import more_is_better
from seekwise.errors import MissingError
from seekwise.fleet.rows import Summary, Unit

ALPHA = 0.05
LEAST = 0.05
"""Share by which a unit, kernel or firmware must differ to be told."""
TWINS_LEAST = 8
"""Units of a kind, below which nobody can say what is usual."""
LEVEL_LEAST = 4
"""Units with a kernel or firmware, below which it is not compared."""
MAD_EFFICIENCY = 0.37
"""Of the median absolute deviation against the standard deviation, for normal noise: so much less is known of the spread."""
PARTS: tuple[Literal["kernel", "firmware"], ...] = ("kernel", "firmware")
Column = tuple[Literal["kernel", "firmware"], str, str, int, str]
"""What a column stands for: part, value, the value that it is held against, its units, what always comes with it."""


@dataclass(frozen=True)
class Outlier:
    """A unit unlike its twins."""

    unit: Unit
    load: str
    metric: str
    ratio: float
    """Of its figure and its twins'."""
    twins: int
    more: int = 0
    """Further loads and metrics in which it is unlike them."""

    @property
    def is_worse(self) -> bool:
        return (self.ratio > 1) != more_is_better(self.metric)


@dataclass(frozen=True)
class Change:
    """What a kernel or firmware changes against the most common one."""

    part: Literal["kernel", "firmware"]
    value: str
    against: str
    kind: tuple[str, str]
    load: str
    metric: str
    ratio: float
    low: float
    high: float
    units: int
    together: str = ""
    """The other part, where the two came together and cannot be told apart."""
    more: int = 0

    @property
    def is_worse(self) -> bool:
        return (self.ratio > 1) != more_is_better(self.metric)


Told = TypeVar("Told", Outlier, Change)


@dataclass(frozen=True)
class Test:
    """One p-value of the fleet, with what to say if it is small enough."""

    p: float
    what: Outlier | Change


def unlike(summary: Summary) -> tuple[list[Outlier], list[Change]]:
    """What differs, the largest first; a unit or a kernel is named once, with the load where it differs most."""
    try:
        import statsmodels.api as sm
    except ModuleNotFoundError:
        raise MissingError(
            "comparing hosts needs statsmodels, which is not installed", hint="pip install 'seekwise[fleet]'"
        ) from None
    tests: list[Test] = []
    for (kind, load, metric), rates in _by_load(summary).items():
        if len(rates) >= TWINS_LEAST:
            tests += _tests(sm, kind, load, metric, rates)
    shown = [
        each.what
        for each in tests
        if each.p * len(tests) <= ALPHA and abs(math.log(each.what.ratio)) >= math.log1p(LEAST)
    ]
    outliers: dict[Unit, list[Outlier]] = {}
    changes: dict[tuple[str, ...], list[Change]] = {}
    for each in shown:
        if isinstance(each, Outlier):
            outliers.setdefault(each.unit, []).append(each)
        else:
            changes.setdefault((each.part, each.value, each.against, *each.kind), []).append(each)
    return _once(outliers.values()), _once(changes.values())


def _once(groups: Iterable[list[Told]]) -> list[Told]:
    found: list[Told] = []
    for same in groups:
        # A rate says more than a tail.
        first = max(same, key=lambda each: (each.metric == "rate", abs(math.log(each.ratio))))
        found.append(replace(first, more=len(same) - 1))
    return sorted(found, key=lambda each: (not each.is_worse, -abs(math.log(each.ratio))))


def _by_load(summary: Summary) -> dict[tuple[tuple[str, str], str, str], dict[Unit, float]]:
    """{(kind, load, metric): {unit: logarithm}}: the median over settings of how far the unit is from the median unit under each."""
    settings: dict[tuple[tuple[str, str], str, str, str], dict[Unit, float]] = {}
    for (unit, load, setting, metric), sums in summary.sums.items():
        settings.setdefault((unit.kind, load, metric, setting), {})[unit] = sums.mean
    parts: dict[tuple[tuple[str, str], str, str], dict[Unit, list[float]]] = {}
    for (kind, load, metric, _), units in sorted(settings.items()):
        middle = float(np.median(list(units.values())))
        for unit, mean in units.items():
            parts.setdefault((kind, load, metric), {}).setdefault(unit, []).append(mean - middle)
    return {key: {unit: float(np.median(rows)) for unit, rows in sorted(units.items())} for key, units in parts.items()}


def _tests(sm: Any, kind: tuple[str, str], load: str, metric: str, rates: dict[Unit, float]) -> list[Test]:
    units = list(rates)
    y = np.array([rates[unit] for unit in units])
    columns, names = _columns(units)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sm.RLM(y, columns, M=sm.robust.norms.TukeyBiweight()).fit()
    left = np.asarray(fitted.resid) if np.isfinite(fitted.resid).all() else y - np.median(y)
    scale = float(stats.median_abs_deviation(left, scale="normal"))
    # Units that are equal to the last digit are no reason to call the next one unlike.
    scale = max(scale, 1e-3)
    freedom = max(MAD_EFFICIENCY * (len(units) - columns.shape[1]), 1.0)
    tests = []
    for unit, own in zip(units, left, strict=True):
        p = 2 * float(stats.t.sf(abs(own) / scale, freedom))
        tests.append(Test(p, Outlier(unit, load, metric, math.exp(own), len(units) - 1)))
    quantile = float(stats.t.ppf(0.975, freedom))
    for place, (part, value, against, count, together) in enumerate(names, start=1):
        effect, error = float(fitted.params[place]), float(fitted.bse[place])
        if not (math.isfinite(effect) and math.isfinite(error) and error > 0):
            continue
        p = 2 * float(stats.t.sf(abs(effect) / error, freedom))
        low, high = effect - quantile * error, effect + quantile * error
        change = Change(
            part, value, against, kind, load, metric, math.exp(effect), math.exp(low), math.exp(high), count, together
        )
        tests.append(Test(p, change))
    return tests


def _columns(units: Sequence[Unit]) -> tuple[NDArray[np.float64], list[Column]]:
    """A constant, and a column for each kernel and firmware but the most common; one that adds nothing new is left out and named with its equal."""
    found = [np.ones(len(units))]
    names: list[Column] = []
    for part in PARTS:
        values = [getattr(unit, part) for unit in units]
        counts = Counter(values)
        against = max(counts, key=lambda value: (counts[value], value))
        for value in sorted(counts):
            if value == against or counts[value] < LEVEL_LEAST:
                continue
            column = np.array([float(each == value) for each in values])
            if np.linalg.matrix_rank(np.column_stack([*found, column])) <= len(found):
                for place, (other, name, reference, count, _) in enumerate(names):
                    if np.array_equal(found[place + 1], column):
                        names[place] = (other, name, reference, count, f"{part} {value}")
                continue
            found.append(column)
            names.append((part, value, against, counts[value], ""))
    return np.column_stack(found), names
