"""What was seen beside what is judged: long tails, processor time, fairness. It decides nothing; a reader may want it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.decision.periods import Merged
from seekwise.judge.decision.records import job_of, period_of
from seekwise.store.record import Record
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.study.uses import Judged, UseMetric

TAIL_OPERATIONS_MIN = 10_000
"""Ten operations beyond the 99.9th percentile."""
KINDS: tuple[Judged, ...] = ("p999", "cpu", "fairness")


@dataclass(frozen=True)
class SeenValue:
    """A figure of one setting."""

    setting: str
    value: float


@dataclass(frozen=True)
class SeenFigure:
    """A figure that was seen and decides nothing."""

    use: str
    metric: str
    """p999, cpu or fairness."""
    unit: str
    candidates: list[SeenValue]


def figures(records: Sequence[Record], plan: LivePlan) -> list[SeenFigure]:
    """One for each use and figure that has values."""
    found: list[SeenFigure] = []
    for use in plan.uses:
        mine = [each for each in records if each.valid and each.factors.get("use") == use.name]
        job = use.foreground[0]
        for kind in KINDS:
            if kind in job.judge:
                continue
            metric = UseMetric(kind, job.name, kind, "foreground")
            values = {name: _value(mine, name, metric) for name in plan.labels}
            known = [SeenValue(name, float(f"{value:.4g}")) for name, value in values.items() if value is not None]
            if known:
                found.append(SeenFigure(use.name, kind, metric.unit, known))
    return found


def _value(records: Sequence[Record], setting: str, metric: UseMetric) -> float | None:
    figures, operations = Merged((setting,), metric.kind), 0
    for record in records:
        for phase in record.phases:
            if record.setting == setting and job_of(phase) == metric.job:
                figures.add(setting, record.repetition, period_of(phase, record))
                operations += sum(phase.latency_bins.values())
    rounds = figures.rounds(setting)
    if not rounds or (metric.kind == "p999" and operations < TAIL_OPERATIONS_MIN):
        return None
    return math.exp(figures.log_value(setting, rounds))
