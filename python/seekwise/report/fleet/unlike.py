"""Devices unlike their twins, and what another kernel or firmware changes.

Of the units of one kind (model and level), the logarithm of a figure under one load is a sum: what its kernel gives, what its firmware gives, and its
own. A robust fit (statsmodels' RLM, Tukey's biweight) finds the first two without being led astray by a few broken units; all their tests in a fleet
share one error rate of 5 % (Bonferroni). What is left is the unit's own: `two_groups.py` says how probably it is more than noise. Units are named, the
most probable first, while half a false name is expected among them at most. Differences below 5 % are not told.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from seekwise.errors import MissingError
from seekwise.judge.rule import more_is_better
from seekwise.report.fleet import two_groups
from seekwise.report.fleet.figures import FleetFigure, figures, over_loads
from seekwise.report.fleet.rows import FleetSums, Unit
from seekwise.report.fleet.two_groups import Floats
from seekwise.report.fleet.words import MANY, interval_text, kind_text, load_text, unlike_text
from seekwise.workload.study.quantity import counted

ALPHA = 0.05
LEAST = 0.05
"""Share by which a unit, kernel or firmware must differ to be told."""
TWINS_LEAST = 8
"""Units of a kind, below which nobody can say what is usual."""
LEVEL_LEAST = 4
"""Units with a kernel or firmware, below which it is not compared."""
FALSE_MOST, FALSE_SHARE_MOST = 0.5, 0.1
"""False names that may be expected among those of a fleet: half a one, so that two are rare, or a tenth where many units are named."""
SURE = 0.5
"""How probable it must be at least that a unit is unlike its twins."""
ONE_LOAD = 0.1
"""Share of unlike units that are so under one load alone."""
MAD_EFFICIENCY = 0.37
"""Of the median absolute deviation against the standard deviation, for normal noise: so much less is known of the spread."""
Part = Literal["kernel", "firmware"]
PARTS: tuple[Part, ...] = ("kernel", "firmware")
Column = tuple[Part, str, str, int, str]
"""What a column stands for: part, value, the value that it is held against, its units, what always comes with it."""


@dataclass(frozen=True)
class UnlikeUnit(Unit):
    """A unit unlike its twins: those of the same model and level."""

    SHOWN: ClassVar = ("is_worse", "sentence")

    load: str
    """The load where it differs most."""
    metric: str
    """rate or p99."""
    ratio: float
    """Of its figure and its twins'."""
    twins: int
    further: int = 0
    """Further loads and metrics in which it differs."""

    @property
    def is_worse(self) -> bool:
        """Slower throughput or longer latency than its twins."""
        return (self.ratio > 1) != more_is_better(self.metric)

    @property
    def sentence(self) -> str:
        """Host, device, ratio and number of twins, with the load where it differs most."""
        more = f", and differs in {counted(self.further, 'more figure')}" if self.further else ""
        return (
            f"{self.host}'s {self.device} has {unlike_text(self.ratio, self.metric)} than its {self.twins} twins"
            if self.metric == "p99" and self.ratio < MANY
            else f"{self.host}'s {self.device} is {unlike_text(self.ratio, self.metric)} "
            f"{'as' if self.ratio >= MANY else 'than'} its {self.twins} twins"
        ) + f" ({kind_text(self.kind)}) in {load_text(self.load)}{more}."


@dataclass(frozen=True)
class VersionEffect:
    """What a kernel or firmware changes against the most common one."""

    SHOWN: ClassVar = ("is_worse", "sentence")

    part: Part
    value: str
    against: str
    model: str
    level: str
    load: str
    metric: str
    """rate or p99."""
    ratio: float
    ratio_low: float
    ratio_high: float
    """95 % interval of the ratio: from ratio_low to ratio_high."""
    devices: int
    """With `value`."""
    together_with: str = ""
    """The other part, if every device with `value` has it, too: the two cannot be told apart. Else empty."""
    further: int = 0

    @property
    def is_worse(self) -> bool:
        """Slower throughput or longer latency than with the most common kernel or firmware."""
        return (self.ratio > 1) != more_is_better(self.metric)

    @property
    def kind(self) -> tuple[str, str]:
        """Of the devices."""
        return (self.model, self.level)

    @property
    def sentence(self) -> str:
        """Ratio with its interval, and the other part where the two cannot be told apart."""
        verb = "is" if self.metric == "rate" else "has"
        more = f"; also in {counted(self.further, 'more figure')}" if self.further else ""
        together = (
            f" It always comes with {self.together_with}, so either may be the cause." if self.together_with else ""
        )
        return (
            f"{self.part.capitalize()} {self.value} {verb} {unlike_text(self.ratio, self.metric)} than {self.against} on {kind_text(self.kind)} "
            f"in {load_text(self.load)} ({interval_text(self.ratio_low, self.ratio_high)}, {self.devices} devices{more}).{together}"
        )


Told = TypeVar("Told", UnlikeUnit, VersionEffect)


def unlike(summary: FleetSums) -> tuple[list[UnlikeUnit], list[VersionEffect]]:
    """What differs, the largest first; a unit or a kernel is named once, with the load where it differs most."""
    try:
        import statsmodels.api as sm
    except ModuleNotFoundError:
        raise MissingError(
            "comparing hosts needs statsmodels, which is not installed", hint="pip install 'seekwise[fleet]'"
        ) from None
    left: dict[tuple[tuple[str, str], str], list[FleetFigure]] = {}
    tests: list[tuple[float, VersionEffect]] = []
    for figure in figures(summary):
        if len(figure.units) >= TWINS_LEAST:
            own, found = _fitted(sm, figure)
            left.setdefault((figure.kind, figure.metric), []).append(own)
            tests += found
    changes: dict[tuple[str, ...], list[VersionEffect]] = {}
    for p, change in tests:
        if p * len(tests) <= ALPHA and abs(math.log(change.ratio)) >= math.log1p(LEAST):
            changes.setdefault((change.part, change.value, change.against, *change.kind), []).append(change)
    return _once(_outliers(left)), _once(changes.values())


def _once(groups: Iterable[list[Told]]) -> list[Told]:
    found: list[Told] = []
    for same in groups:
        # A rate says more than a tail.
        first = max(same, key=lambda each: (each.metric == "rate", abs(math.log(each.ratio))))
        found.append(replace(first, further=len(same) - 1))
    return sorted(found, key=lambda each: (not each.is_worse, -abs(math.log(each.ratio))))


def _fitted(sm: Any, figure: FleetFigure) -> tuple[FleetFigure, list[tuple[float, VersionEffect]]]:
    """The figure with kernel and firmware taken away, and what each of them changes with its p-value."""
    columns, names = _columns(figure.units)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sm.RLM(figure.own, columns, M=sm.robust.norms.TukeyBiweight()).fit()
    left = np.asarray(fitted.resid) if np.isfinite(fitted.resid).all() else figure.own - np.median(figure.own)
    freedom = max(MAD_EFFICIENCY * (len(figure.units) - columns.shape[1]), 1.0)
    quantile = float(stats.t.ppf(0.975, freedom))
    tests = []
    for place, (part, value, against, count, together) in enumerate(names, start=1):
        effect, error = float(fitted.params[place]), float(fitted.bse[place])
        if not (math.isfinite(effect) and math.isfinite(error) and error > 0):
            continue
        low, high = effect - quantile * error, effect + quantile * error
        change = VersionEffect(
            part, value, against, *figure.kind, figure.load, figure.metric,
            math.exp(effect), math.exp(low), math.exp(high), count, together,
        )  # fmt: skip
        tests.append((2 * float(stats.t.sf(abs(effect) / error, freedom)), change))
    return replace(figure, own=left, fitted=columns.shape[1]), tests


def _outliers(left: dict[tuple[tuple[str, str], str], list[FleetFigure]]) -> list[list[UnlikeUnit]]:
    """For each unit that is named, the figures in which it is unlike its twins. `left`: {(kind, metric): figures by load}."""
    most: dict[Unit, float] = {}
    seen: dict[Unit, list[UnlikeUnit]] = {}
    metrics = Counter(kind for kind, _ in left)
    for (kind, _), loads in left.items():
        count = Counter(unit for figure in loads for unit in figure.units)
        for figure in loads:
            p = _probabilities(figure)
            of_loads = np.array([count[unit] for unit in figure.units])
            weighed = two_groups.weighed(p, np.where(of_loads > 1, ONE_LOAD / of_loads, 1.0) / metrics[kind])
            for at in np.flatnonzero(p >= SURE):
                unit = figure.units[at]
                seen.setdefault(unit, []).append(_outlier(figure, int(at)))
                most[unit] = max(most.get(unit, 0.0), float(weighed[at]))
        over = over_loads(loads)
        if len(over.units) < TWINS_LEAST:
            continue
        weighed = two_groups.weighed(_probabilities(over), 1 / metrics[kind])
        for unit, each in zip(over.units, weighed, strict=True):
            if each >= SURE:
                most[unit] = max(most.get(unit, 0.0), float(each))
                seen.setdefault(unit, [_farthest(loads, unit)])
    return [seen[unit] for unit in _named(most)]


def _named(most: dict[Unit, float]) -> list[Unit]:
    """The most probable units, while no more of the names are expected to be false than may be."""
    found: list[Unit] = []
    false = 0.0
    for unit in sorted(most, key=lambda unit: -most[unit]):
        false += 1 - most[unit]
        if most[unit] < SURE or false > max(FALSE_MOST, FALSE_SHARE_MOST * (len(found) + 1)):
            break
        found.append(unit)
    return found


def _probabilities(figure: FleetFigure) -> Floats:
    """That each unit is unlike its twins; none for differences too small to be told."""
    sign = -1.0 if more_is_better(figure.metric) else 1.0
    found = two_groups.probabilities(figure.sure, sign, figure.fitted)
    return np.where(np.abs(figure.sure) >= math.log1p(LEAST), found, 0.0)


def _outlier(figure: FleetFigure, at: int) -> UnlikeUnit:
    ratio, twins = math.exp(figure.own[at]), len(figure.units) - 1
    return UnlikeUnit(**vars(figure.units[at]), load=figure.load, metric=figure.metric, ratio=ratio, twins=twins)


def _farthest(loads: Sequence[FleetFigure], unit: Unit) -> UnlikeUnit:
    """The load under which a unit is farthest from its twins."""
    places = [(figure, figure.units.index(unit)) for figure in loads if unit in figure.units]
    return _outlier(*max(places, key=lambda place: abs(place[0].own[place[1]])))


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
