"""The winner table in the shape of the articles: a row per operation, a column per metric, the winner or `=` or `?`.

Data only; terminal and page draw it. A cell whose operation has several thread counts shows the verdict over all of them
(see `observe.py`); rows of single thread counts follow it when asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seekwise.judge.candidates import Candidates, by_cell
from seekwise.judge.observation import Verdict
from seekwise.judge.observe import POOLED_FACTOR
from seekwise.workload.study import combination_key

COLUMNS: tuple[tuple[str, str], ...] = (
    ("rate", "Rate"),
    ("access_time", "Access time"),
    ("cpu_efficiency", "CPU efficiency"),
)
"""Metrics of the articles' tables, in their order. `p99` is judged as well and can be asked for."""

OPERATIONS: tuple[tuple[str, str], ...] = (
    ("seq_read", "Sequential read"),
    ("seq_write", "Sequential write"),
    ("rand_read", "Random read"),
    ("rand_write", "Random write"),
    ("mixed", "Mixed"),
)


@dataclass(frozen=True)
class WinnerCell:
    """One entry: what is printed, and what stands behind it."""

    text: str
    """`deadline`, `deadline / noop`, `=` or `?`; empty when the metric was not measured."""
    candidates: Candidates | None
    verdicts: tuple[Verdict, ...]
    margin: tuple[float, float, float] | None
    """Ratio of the best to the runner-up outside the winning set (or of the two, when not decided), with its 95 % interval."""
    blocks_more: int | None
    """Blocks that would probably decide what is still open here."""


@dataclass(frozen=True)
class WinnerRow:
    """One operation under one set of conditions."""

    operation: str
    title: str
    conditions: Mapping[str, str]
    """The rest of the combination's key: {disk: vda, threads: 8}."""
    cells: dict[str, WinnerCell]
    """By metric."""


@dataclass(frozen=True)
class WinnerTable:
    table: str
    columns: tuple[tuple[str, str], ...]
    """(metric, title)."""
    rows: tuple[WinnerRow, ...]
    rule_version: str


def winner_tables(
    verdicts: Sequence[Verdict],
    *,
    columns: Sequence[tuple[str, str]] = COLUMNS,
    single_threads: bool = False,
) -> list[WinnerTable]:
    """A table per run. Without `single_threads`, cells that a row over all thread counts covers are left out."""
    cells: dict[str, dict[str, dict[str, list[Verdict]]]] = {}
    for v in verdicts:
        cells.setdefault(v.table, {}).setdefault(v.combination, {}).setdefault(v.metric, []).append(v)
    made = []
    for table, by_name in cells.items():
        shown = [
            name
            for name in by_name
            if single_threads
            or combination_key.without(name, POOLED_FACTOR) == name
            or combination_key.without(name, POOLED_FACTOR) not in by_name
        ]
        rows = [_row(name, by_name[name], columns) for name in shown]
        known = [operation for operation, _ in OPERATIONS]
        rows.sort(
            key=lambda row: (
                tuple(row.conditions.items()),
                known.index(row.operation) if row.operation in known else len(known),
            )
        )
        version = next(v.rule_version for v in verdicts if v.table == table)
        made.append(WinnerTable(table, tuple(columns), tuple(rows), version))
    return made


def _row(cell: str, by_metric: dict[str, list[Verdict]], columns: Sequence[tuple[str, str]]) -> WinnerRow:
    operation, conditions = combination_key.parse(cell)
    title = dict(OPERATIONS).get(operation, operation)
    entries = {metric: _entry(by_metric.get(metric, [])) for metric, _ in columns}
    return WinnerRow(operation, title, conditions, entries)


def _entry(verdicts: list[Verdict]) -> WinnerCell:
    if not verdicts:
        return WinnerCell("", None, (), None, None)
    (found,) = by_cell(verdicts)
    more = [v.blocks_more for v in verdicts if v.blocks_more is not None]
    rivals = [name for name in found.order if name not in found.best] or list(found.order[1:])
    margin = _ratio(verdicts, found.order[0], rivals[0])
    return WinnerCell(found.text, found, tuple(verdicts), margin, max(more) if more and not found.decided else None)


def _ratio(verdicts: Sequence[Verdict], first: str, second: str) -> tuple[float, float, float] | None:
    for v in verdicts:
        if (v.setting_a, v.setting_b) == (first, second):
            return v.ratio, v.ratio_low, v.ratio_high
        if (v.setting_b, v.setting_a) == (first, second) and v.ratio > 0:
            high = 1 / v.ratio_low if v.ratio_low > 0 else math.inf
            return 1 / v.ratio, 1 / v.ratio_high, high
    return None
