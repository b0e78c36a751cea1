"""Observations as a grid: every usable value of one metric of one table by combination, repetition and setting.

        y = ln(value) = setting + repetition + error                 one combination

A repetition holds every setting once, so the difference of two settings within a repetition is free of the repetition's
own luck (drift, a full file system, a warm room). Several observations of one setting in one repetition count as one,
their mean.

What cannot be used is left out and counted: values that are not finite, or not above zero (they have no logarithm). A
repetition in which one of the two settings is missing says nothing about that pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise.grouping import grouped
from seekwise.judge.observation import Observation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ValueGrid:
    """All usable values of one metric of one table: `log_values[combination, repetition, setting]`, NaN where there is
    none."""

    table: str
    metric: str
    combinations: tuple[str, ...]
    repetitions: tuple[int, ...]
    settings: tuple[str, ...]
    log_values: Array
    asked: NDArray[np.bool_]
    """[combination, setting]: the setting was observed in this combination at least once, usable or not."""

    def setting_index(self, setting: str) -> int:
        """Its place on the third axis; ValueError for an unknown setting."""
        return self.settings.index(setting)


def grids(observations: Iterable[Observation]) -> list[ValueGrid]:
    """Observations by table and metric; every order is the order of first appearance, repetitions ascending."""
    rows = grouped(((observation.table, observation.metric), observation) for observation in observations)
    return [_grid(table, metric, members) for (table, metric), members in rows.items()]


def _grid(table: str, metric: str, rows: list[Observation]) -> ValueGrid:
    combinations = {name: i for i, name in enumerate(dict.fromkeys(row.combination for row in rows))}
    settings = {name: i for i, name in enumerate(dict.fromkeys(row.setting for row in rows))}
    repetitions = {number: i for i, number in enumerate(sorted({row.repetition for row in rows}))}
    at = (
        np.array([combinations[row.combination] for row in rows]),
        np.array([repetitions[row.repetition] for row in rows]),
        np.array([settings[row.setting] for row in rows]),
    )
    values = np.array([row.value for row in rows], dtype=float)
    usable = np.isfinite(values) & (values > 0)
    logs = np.log(np.where(usable, values, 1.0))
    total = np.zeros((len(combinations), len(repetitions), len(settings)))
    count = np.zeros_like(total)
    np.add.at(total, at, np.where(usable, logs, 0.0))
    np.add.at(count, at, usable)
    asked = np.zeros((len(combinations), len(settings)), dtype=bool)
    asked[at[0], at[2]] = True
    with np.errstate(invalid="ignore"):
        log_values = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return ValueGrid(table, metric, tuple(combinations), tuple(repetitions), tuple(settings), log_values, asked)
