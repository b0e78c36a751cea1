"""Which array: capacity, failures survived and speed weighed in the order in which an administrator asks for them.

An array that survives no failure is never recommended while the study has one that does. To have it recommended, study
it alone. Among the others the fastest is named (geometric mean over operations and loads of its rate, each relative to
the best there), and every array that is better at something stands beside it with what it gives up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.arrays import ArrayRow, rows
from seekwise.number_text import natural
from seekwise.simulate.arrays import FACTORS
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Record

SAFETY_FACTORS = ("raid_level", "drives", "layout")


def candidates(arrays: Sequence[ArrayRow]) -> list[ArrayRow]:
    """Arrays in order; one with a drive missing, or being rebuilt, is a state of another one."""
    return [row for row in arrays if not row.is_degraded]


def varies_safety(records: Sequence[Record]) -> bool:
    """Whether arrays of different capacity or safety compete."""
    arrays = candidates(rows(records))
    competing = {record.setting for record in records if record.valid}
    named = any(len({record.factors.get(name) for record in records}) > 1 for name in SAFETY_FACTORS)
    return len(competing) > 1 and named and len({(r.survives_failures, r.capacity_bytes) for r in arrays}) > 1


def unsafe_settings(records: Sequence[Record]) -> set[str]:
    """Settings whose arrays survive nothing, while others of the run survive a failure."""
    survives: dict[str, int] = {}
    for record in records:
        if record.valid and "array" in record.load:
            survives[record.setting] = int(record.load["array"]["survives_failures"])
    if max(survives.values(), default=0) == 0:
        return set()
    return {setting for setting, count in survives.items() if count == 0}


def speeds(arrays: Sequence[ArrayRow]) -> dict[str, float]:
    """{array: rate relative to the best, geometric mean over everything that all of them did}."""
    common = set.intersection(*(set(row.combination_throughputs) for row in arrays)) if arrays else set()
    best = {combination: max(row.combination_throughputs[combination] for row in arrays) for combination in common}
    return {
        row.name: math.exp(
            sum(math.log(row.combination_throughputs[combination] / best[combination]) for combination in common)
            / len(common)
        )
        if common
        else 1.0
        for row in arrays
    }


def rate_ratio(one: ArrayRow, other: ArrayRow, load: str, error: float) -> float:
    """How many times the rate of `other` is `one`'s under a load; 1 where they differ by less than the model's error,
    or than their repetitions do."""
    rate, against = one.combination_throughputs.get(load, 0.0), other.combination_throughputs.get(load, 0.0)
    if not rate or not against:
        return 1.0
    unsure = max(error, math.hypot(one.spreads.get(load, 0.0), other.spreads.get(load, 0.0)))
    return 1.0 if 1 / (1 + unsure) <= rate / against <= 1 + unsure else rate / against


def _unsure(one: ArrayRow, other: ArrayRow, error: float) -> float:
    """How far two arrays must be apart over all loads together: the model's error, or what their repetitions leave
    open."""
    loads = set(one.combination_throughputs) & set(other.combination_throughputs)
    squares = sum(row.spreads.get(load, 0.0) ** 2 for row in (one, other) for load in loads)
    return max(error, math.sqrt(squares) / len(loads) if loads else 0.0)


@dataclass(frozen=True)
class ArrayChoice:
    """The array to build, among those that were simulated."""

    arrays: tuple[ArrayRow, ...]
    """Every candidate, in order."""
    array: ArrayRow
    """The one to build."""
    settings: tuple[str, ...]
    """Labels of the settings that are this array."""
    error: float
    """Of the model, where these arrays differ: what is closer is as fast."""
    as_fast: tuple[ArrayRow, ...] = ()
    """Others that survive a failure and are as fast within that."""

    @property
    def unsafe(self) -> tuple[ArrayRow, ...]:
        """Those that survive no failure."""
        return tuple(row for row in self.arrays if row.survives_failures == 0)


def choose(records: Sequence[Record]) -> ArrayChoice | None:
    """None where arrays do not compete in capacity or safety."""
    if not varies_safety(records):
        return None
    arrays = candidates(rows(records))
    safe = [row for row in arrays if row.survives_failures > 0] or arrays
    speed = speeds(arrays)
    valid = [record for record in records if record.valid]
    error = gain_error(name for name in FACTORS if len({record.factors.get(name) for record in valid}) > 1)
    chosen = max(safe, key=lambda row: (speed[row.name], row.capacity_bytes))

    def near(best: ArrayRow) -> list[ArrayRow]:
        least = {row.name: (1 - _unsure(row, best, error)) * speed[best.name] for row in safe if row is not best}
        return [row for row in safe if row is not best and speed[row.name] >= least[row.name]]

    def safety(row: ArrayRow) -> tuple[int, int]:
        return row.survives_failures, row.capacity_bytes

    chosen = max([chosen, *near(chosen)], key=safety)
    own = {r.setting for r in valid if any(row.name == chosen.name for row in rows([r]))}
    return ArrayChoice(tuple(arrays), chosen, tuple(sorted(own, key=natural)), error, tuple(near(chosen)))
