"""The winner table: a row per combination, by metric the winner, `=` or `not measured long enough`.

Data only; terminal and page draw it. An operation with several thread counts has a row over all of them (see
`observe.py`) and one for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seekwise.judge.candidates import Ranking, candidates
from seekwise.judge.observation import Verdict, interval_of
from seekwise.workload.study import combination_key

METRICS = ("rate", "access_time", "cpu_efficiency")
"""Of the table, in their order."""


@dataclass(frozen=True)
class Winner:
    """One entry: who wins, and what stands behind it."""

    candidates: Ranking
    verdicts: tuple[Verdict, ...]

    @property
    def margin(self) -> tuple[float, float, float] | None:
        """Ratio of the best to the runner-up outside the winning set (or of the two, when not decided), with its 90 %
        interval."""
        order = self.candidates.order
        rivals = [name for name in order if name not in self.candidates.best] or list(order[1:])
        interval = interval_of(self.verdicts, order[0], rivals[0])
        return interval if interval is not None and all(map(math.isfinite, interval)) else None


@dataclass(frozen=True)
class CombinationWinners:
    """One operation under one set of conditions."""

    operation: str
    conditions: Mapping[str, str]
    """The rest of the combination's key: {disk: vda, threads: 8}."""
    cells: dict[str, Winner]
    """By metric, of those that were measured."""


def winner_tables(verdicts: Sequence[Verdict]) -> list[list[CombinationWinners]]:
    """A table per run."""
    tables: dict[str, dict[str, dict[str, list[Verdict]]]] = {}
    for v in verdicts:
        if v.metric in METRICS:
            tables.setdefault(v.table, {}).setdefault(v.combination, {}).setdefault(v.metric, []).append(v)
    return [[_row(name, by_metric) for name, by_metric in rows.items()] for rows in tables.values()]


def _row(combination: str, by_metric: Mapping[str, Sequence[Verdict]]) -> CombinationWinners:
    operation, conditions = combination_key.parse(combination)
    known = [(metric, by_metric[metric]) for metric in METRICS if metric in by_metric]
    return CombinationWinners(
        operation, conditions, {metric: Winner(candidates(winners), tuple(winners)) for metric, winners in known}
    )
