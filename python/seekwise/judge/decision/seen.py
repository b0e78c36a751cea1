"""What was seen beside what is judged: long tails, processor time, fairness. It decides nothing; a reader may want
it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.decision.records import job_of, merged
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
    seen: list[SeenFigure] = []
    for use in plan.uses:
        mine = [record for record in records if record.valid and record.factors.get("use") == use.name]
        mine = [record for record in mine if record.setting in plan.labels]
        job = use.foreground[0]
        for kind in KINDS:
            if kind in job.judge:
                continue
            metric = UseMetric(kind, job.name, kind, "foreground")
            values = _values(mine, plan.labels, metric)
            known = [SeenValue(name, float(f"{value:.4g}")) for name, value in values.items()]
            if known:
                seen.append(SeenFigure(use.name, kind, metric.unit, known))
    return seen


def _values(records: Sequence[Record], settings: Sequence[str], metric: UseMetric) -> dict[str, float]:
    figures = merged(records, settings, metric)
    operations = dict.fromkeys(figures.settings, 0)
    for record in records:
        phases = [phase for phase in record.phases if job_of(phase) == metric.job]
        operations[record.setting] += sum(sum(phase.latency_bins.values()) for phase in phases)
    return {
        name: math.exp(figures.log_value(name, rounds))
        for name in figures.settings
        if (rounds := figures.rounds(name)) and (metric.kind != "p999" or operations[name] >= TAIL_OPERATIONS_MIN)
    }
