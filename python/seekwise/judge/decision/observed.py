"""Observations of a study judged: each repetition is a round, and a combination is a use.

An operation's throughput says how much gets done, its p99 latency how responsive it is. What is particular about such
values is a property of the data (`table.Conditions`): combinations of a table lend each other what they know of the
noise, an A/A check adds what it shows of noise between labels, and what was not steady never wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from seekwise.grouping import grouped
from seekwise.judge.decision.table import Conditions, UseFigure, Values
from seekwise.judge.decision.verdicts import Judged, judge
from seekwise.judge.grid import ValueGrid, grids
from seekwise.judge.model_error import model_error
from seekwise.judge.observation import Observation
from seekwise.judge.rule import more_is_better, threshold_loss
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.purpose import Purpose

METRICS: dict[str, tuple[Purpose, str, float]] = {
    "rate": ("throughput", "MB/s", 1e-6),
    "p99": ("responsive", "ms", 1e-6),
    "access_time": ("throughput", "ms", 1e-6),
}
"""{metric: (purpose, unit, what a value is multiplied by)} of what decides."""
OTHERS: dict[str, tuple[Purpose, str, float]] = {"cpu_efficiency": ("throughput", "MB/CPU s", 1.0)}
"""The same of what decides nothing."""

ADDED_LOG = 0.005
"""What trials of a setting share beyond the scatter of their repetitions."""

Unsteady = Mapping[tuple[str, str], str]
"""{(combination, setting): reason} of what did not reach steady state (`steady.py`)."""


def judge_observations(
    observations: Sequence[Observation],
    *,
    base: str | None = None,
    unsteady: Unsteady = MappingProxyType({}),
    exact: bool = False,
) -> list[Judged]:
    """Every combination by every metric.

    `base`: the setting that the others are held against. `exact`: a deterministic simulation, whose single repetition
    decides. `X (control)` beside `X` is the second label of an A/A pair. It is only used to measure the noise: it takes
    part in no comparison (see `control.py` for its own verdicts).
    """
    tables = grouped((entry.table, entry) for entry in figures_of(observations, unsteady, exact=exact))
    return [entry for entries in tables.values() for entry in judge(entries, base)]


def figures_of(
    observations: Sequence[Observation],
    unsteady: Unsteady = MappingProxyType({}),
    *,
    exact: bool = False,
    settings_least: int = 2,
) -> list[UseFigure]:
    """Every combination by every metric in which so many settings were observed, not judged yet."""
    return [
        entry
        for grid in grids(observations)
        for entry in entries_of(grid, unsteady, exact=exact, settings_least=settings_least)
    ]


def entries_of(
    grid: ValueGrid, unsteady: Unsteady = MappingProxyType({}), *, exact: bool = False, settings_least: int = 2
) -> list[UseFigure]:
    """One entry for each combination in which so many settings were observed."""
    pairs = control_pairs(grid.settings)
    left_out = {second for _, second in pairs}
    noise = control_noise(grid, pairs)
    purpose, unit, factor = METRICS.get(grid.metric, OTHERS.get(grid.metric, ("throughput", "", 1.0)))
    more = more_is_better(grid.metric)
    entries = []
    for c, combination in enumerate(grid.combinations):
        asked = [s for s, name in enumerate(grid.settings) if grid.asked[c, s] and name not in left_out]
        if len(asked) < settings_least:
            continue
        names = tuple(grid.settings[s] for s in asked)
        conditions = Conditions(
            grid.metric,
            exact,
            model_error(grid.metric) if exact else 0.0,
            math.hypot(ADDED_LOG, noise),
            {name: reason for (where, name), reason in unsteady.items() if where == combination},
        )
        rows = [
            (grid.settings[s], number, log, None)
            for s in asked
            for number, log in _logs(grid, c, s, math.log(factor)).items()
        ]
        figures = Values(names, tuple(rows))
        entries.append(
            UseFigure(
                combination, grid.metric, unit, more, threshold_loss(grid.metric), figures, title=combination, purpose=purpose,
                kind=grid.metric, table=grid.table, conditions=conditions,
            )
        )  # fmt: skip
    return entries


def _logs(grid: ValueGrid, combination: int, setting: int, log_factor: float) -> dict[int, float]:
    """{repetition: logarithm of the value in the unit that is shown}."""
    values = grid.log_values[combination, :, setting]
    return {grid.repetitions[b]: float(values[b]) + log_factor for b in np.flatnonzero(~np.isnan(values))}


def control_pairs(settings: Sequence[str]) -> list[tuple[str, str]]:
    """A/A pairs among these settings."""
    return [(name, name + CONTROL_SUFFIX) for name in settings if name + CONTROL_SUFFIX in settings]


def control_noise(grid: ValueGrid, pairs: Sequence[tuple[str, str]]) -> float:
    """A/A noise: standard deviation, about its true value zero, of the difference of means between a control's two
    labels."""
    squares: list[float] = []
    for first, second in pairs:
        a, b = grid.setting_index(first), grid.setting_index(second)
        for row in grid.log_values[:, :, a] - grid.log_values[:, :, b]:
            present = row[~np.isnan(row)]
            if len(present):
                squares.append(float(present.mean()) ** 2)
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0
