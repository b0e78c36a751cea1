"""From the records of a live-switched run to judged uses. Reads records only, so an old run can be judged by a better rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from seekwise.judge.decision import choose as choices
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.periods import BINS, BINS_PER_OCTAVE, JobPeriod, Merged, jain, upper_bound_ns
from seekwise.judge.decision.table import Conditions, UseFigure
from seekwise.judge.decision.verdicts import Judged, judge
from seekwise.store.record import Phase, Record
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.study.uses import Purpose

LOOKS_PLANNED = 3
"""Looks at a use before time runs out, usually: after its first stretch and after two that needs decide."""


def bins_of(phase: Phase) -> dict[int, int]:
    """{bin: operations} of a phase's histogram."""
    return {_number(bound): count for bound, count in phase.latency_bins.items()}


@lru_cache(BINS)
def _number(bound_ns: int) -> int:
    number = max(0, round(math.log2(max(bound_ns, 1)) * BINS_PER_OCTAVE) - 1)
    while upper_bound_ns(number) < bound_ns:
        number += 1
    while number and upper_bound_ns(number - 1) >= bound_ns:
        number -= 1
    return number


def job_of(phase: Phase) -> str:
    """The job of a use that a phase is of; empty in runs of a command."""
    return str(phase.details.get("job", ""))


def period_of(phase: Phase, record: Record | None = None) -> JobPeriod:
    """With its record also what the use cost and how evenly its processes were served."""
    cpu_s = use_ops = 0.0
    if record is not None:
        spent = [each.cpu for each in record.phases]
        cpu_s = sum(sum(part or 0.0 for part in (each.user, each.system, each.irq, each.softirq)) for each in spent)
        use_ops = sum(each.ios for each in record.phases)
    throughputs = phase.details.get("per_process_bytes_per_s", [])
    return JobPeriod(
        phase.elapsed_s, phase.ios, phase.bytes, phase.latency_mean_ns * phase.ios, bins_of(phase), cpu_s,
        int(use_ops), jain([float(each) for each in throughputs] if isinstance(throughputs, list) else []),
    )  # fmt: skip


def looks_at(records: Iterable[Record], use: str) -> int:
    """How often the records of a use were judged while it was measured: once per stretch."""
    stretches = {record.conditions.get("stretch") for record in records if record.factors.get("use") == use}
    return max(1, len(stretches))


def entries(records: Sequence[Record], plan: LivePlan) -> list[UseFigure]:
    """One entry per judged metric of each use that has enough rounds."""
    found: list[UseFigure] = []
    for use in plan.uses:
        mine = [
            record
            for record in records
            if record.valid and record.factors.get("use") == use.name and record.setting in plan.labels
        ]
        if not mine:
            continue
        ran = [name for name in plan.labels if any(record.setting == name for record in mine)]
        look = looks_at(mine, use.name)
        for metric in use.metrics:
            figures = Merged(ran, metric.figure)
            for record in mine:
                for phase in record.phases:
                    if job_of(phase) == metric.job:
                        figures.add(record.setting, record.repetition, period_of(phase, record))
            if any(figures.rounds(name) for name in ran):
                found.append(
                    UseFigure(
                        use.name,
                        metric.name,
                        metric.unit,
                        metric.more_is_better,
                        plan.threshold.of(metric.kind, metric.role),
                        figures,
                        metric.role,
                        use.group,
                        (look, max(look, LOOKS_PLANNED)),
                        use.title,
                        metric.job,
                        metric.purpose,
                        use.unit,
                        metric.kind,
                        conditions=Conditions(f"{metric.kind} {metric.role}"),
                    )
                )
    return found


@dataclass(frozen=True)
class Decided:
    """Everything that is said of a live-switched run."""

    judged: tuple[Judged, ...]
    choice: Choice | None
    """For whatever may come: over all uses, foreground and background."""
    by_group: dict[str, Choice]
    """For one group of uses: over its foreground alone; the background's loss is named as the price."""
    stated: Choice | None = None
    """For the uses that were asked for by name, all of them together: over their foreground alone."""
    by_purpose: dict[Purpose, Choice] = field(default_factory=dict)


def decided(records: Sequence[Record], plan: LivePlan, *, final: bool = True) -> Decided:
    """The verdicts and choices of a live-switched run. `final`: nothing follows, so all of the error rate may be spent."""
    return made(judge(entries(records, plan), final=final), plan.in_force.label, plan.labels)


def made(judged: Sequence[Judged], in_force: str, candidates: Sequence[str]) -> Decided:
    """The one way from verdicts to choices, whatever was judged."""
    known = [each for each in judged if each.counts]

    def chosen(group: str | None = None) -> Choice | None:
        mine = [each for each in known if each.role == "foreground" and group in (None, each.group)]
        return choices.choose(mine, in_force, candidates, known)

    groups = {group: choice for group in dict.fromkeys(each.group for each in known) if (choice := chosen(group))}
    everything = choices.choose(known, in_force, candidates)
    return Decided(tuple(judged), everything, groups, chosen(), choices.by_purpose(known, in_force, candidates))
