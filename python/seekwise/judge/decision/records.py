"""From the records of a live-switched run to judged uses. Reads records only, so an old run can be judged by a better
rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from seekwise.judge.decision import choose as choices
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.periods import AGAIN, BINS, BINS_PER_OCTAVE, JobPeriod, Merged, jain, upper_bound_ns
from seekwise.judge.decision.posterior import Prior
from seekwise.judge.decision.priors import FLAT, usual_of
from seekwise.judge.decision.table import Conditions, UseFigure
from seekwise.judge.decision.verdicts import TAILS, Difference, Judged, control, judge
from seekwise.judge.model_error import model_error
from seekwise.store.record import Phase, Record
from seekwise.workload.live_plan import CONTROL_SUFFIX, LivePlan
from seekwise.workload.purpose import Purpose
from seekwise.workload.study.uses import Use, UseMetric

ADDED_LOG = 0.02
"""What a setting's place differs by from run to run on the same disk, whatever the rounds of one run show; of slow
tails twice that. Seen between repeated runs of two minutes on a virtio disk."""
UNWRITTEN_UNIT_BYTES = 1e8
"""Unwritten data before a period is counted in units of this size, as a quantity that explains scatter."""


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


def period_of(phase: Phase, record: Record) -> JobPeriod:
    """With what the use cost and how evenly its processes were served."""
    spent = [part.cpu for part in record.phases]
    cpu_s = sum(sum(part or 0.0 for part in (cpu.user, cpu.system, cpu.irq, cpu.softirq)) for cpu in spent)
    use_ops = sum(part.ios for part in record.phases)
    throughputs = phase.details.get("per_process_bytes_per_s", [])
    return JobPeriod(
        phase.elapsed_s, phase.ios, phase.bytes, phase.latency_mean_ns * phase.ios, bins_of(phase), cpu_s,
        int(use_ops), jain([float(throughput) for throughput in throughputs] if isinstance(throughputs, list) else []),
    )  # fmt: skip


def entries(records: Sequence[Record], plan: LivePlan) -> list[UseFigure]:
    """One entry per judged metric of each use that has enough rounds."""
    use_figures: list[UseFigure] = []
    for use in plan.uses:
        mine = [
            record
            for record in records
            if record.valid and record.factors.get("use") == use.name and without_control(record.setting) in plan.labels
        ]
        for metric in use.metrics:
            figures = merged(mine, plan.labels, metric)
            if any(map(figures.rounds, figures.settings)):
                use_figures.append(
                    UseFigure(
                        use.name,
                        metric.name,
                        metric.unit,
                        metric.more_is_better,
                        plan.threshold.share(metric.kind, metric.role),
                        figures,
                        metric.role,
                        use.group,
                        use.title,
                        metric.job,
                        metric.purpose,
                        metric.work,
                        metric.kind,
                        conditions=_conditions(use, metric, plan),
                    )
                )
    return use_figures


def _conditions(use: Use, metric: UseMetric, plan: LivePlan) -> Conditions:
    """Of a background, as of requests, nothing is foretold; slow tails of programs elsewhere were not compared."""
    program = next(job for job in use.job if job.name == metric.job).runs
    age, is_foreground = "" if program is None else program.age, metric.role == "foreground"
    work = ("waiting" if use.background else "alone") if is_foreground else "background"
    is_told = program is not None and is_foreground
    return Conditions(
        f"{metric.kind} {metric.role}",
        model_error=model_error(metric.kind) if plan.provenance == "simulated" else 0.0,
        added_log=2 * ADDED_LOG if metric.kind in TAILS else ADDED_LOG,
        work="" if metric.kind in TAILS or any(job.program is None for job in use.job) else work,
        program=program.kind if program is not None and is_told else "",
        age=age,
        background=use.background if is_told else "",
        weight=use.weight,
    )


def merged(records: Sequence[Record], settings: Sequence[str], metric: UseMetric) -> Merged:
    """A figure of one use, by those of `settings` that ran and round. What is in force has a second value in a round
    where it ran twice."""
    ran = {without_control(record.setting) for record in records}
    figures = Merged([name for name in settings if name in ran], metric.figure)
    for record, before in zip(records, _settings_before(records), strict=True):
        setting, stretch = without_control(record.setting), int(record.conditions.get("stretch", 0))
        number = record.repetition if setting == record.setting else record.repetition + AGAIN
        for phase in record.phases:
            if job_of(phase) == metric.job:
                period = period_of(phase, record)
                figures.add(setting, number, period, stretch=stretch, before=before, known=_known_before(record))
    return figures


def without_control(label: str) -> str:
    """The setting that a label stands for: the A/A check runs what is in force under a second one."""
    return label.removesuffix(CONTROL_SUFFIX)


def _settings_before(records: Sequence[Record]) -> list[str | None]:
    """The setting of the period before each, within its stretch."""
    settings: list[str | None] = []
    for last, record in zip([None, *records], records, strict=False):
        same = last is not None and last.conditions.get("stretch") == record.conditions.get("stretch")
        settings.append(without_control(last.setting) if last is not None and same else None)
    return settings


def _known_before(record: Record) -> tuple[float, ...]:
    """What was known before the period began. Records of former versions lack it: they all lack it alike."""
    unwritten = record.conditions.get("unwritten_bytes")
    return () if unwritten is None else (float(unwritten) / UNWRITTEN_UNIT_BYTES,)


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
    unsteady: tuple[tuple[UseFigure, Difference], ...] = ()
    """Where what is in force differs from itself: nothing is advised then."""


def prior_of(plan: LivePlan) -> Prior:
    """What is expected before anything was measured."""
    return FLAT if plan.extra.get("no_prior") else usual_of(_drive(plan))


def _drive(plan: LivePlan) -> str | None:
    """Programs elsewhere tell of real drives alone."""
    drive = plan.extra.get("drive") if plan.provenance == "measured" else None
    return str(drive) if drive else None


def decided(records: Sequence[Record], plan: LivePlan) -> Decided:
    """The verdicts and choices of a live-switched run."""
    found, base, prior = entries(records, plan), plan.in_force.label, prior_of(plan)
    judged = judge(found, base, prior)
    chosen, drive = with_choices(judged, base, plan.labels, control(found, base, prior)), _drive(plan)
    if drive is None or plan.group is not None or plan.extra.get("no_prior"):
        return chosen
    here = {(entry.conditions.program, entry.conditions.background) for entry in judged}

    def whole(choice: Choice) -> Choice:
        """With kinds that were not measured here."""
        elsewhere = choices.losers_elsewhere(choice.setting, base, drive, here) if choice.changes else ()
        return replace(choice, losers=(*choice.losers, *elsewhere))

    purposes = {purpose: whole(choice) for purpose, choice in chosen.by_purpose.items()}
    return replace(chosen, choice=chosen.choice and whole(chosen.choice), by_purpose=purposes)


def with_choices(
    judged: Sequence[Judged],
    in_force: str,
    candidates: Sequence[str],
    unsteady: Sequence[tuple[UseFigure, Difference]] = (),
) -> Decided:
    """The one way from verdicts to choices, whatever was judged."""
    known, vetoed = [entry for entry in judged if entry.counts], bool(unsteady)

    def chosen(group: str | None = None) -> Choice | None:
        mine = [entry for entry in known if entry.role == "foreground" and group in (None, entry.group)]
        others = [entry for entry in known if not any(entry is one for one in mine)]
        return choices.choose(mine, in_force, candidates, others=others, is_vetoed=vetoed)

    groups = {group: choice for group in dict.fromkeys(entry.group for entry in known) if (choice := chosen(group))}
    return Decided(
        tuple(judged),
        choices.choose(known, in_force, candidates, is_vetoed=vetoed),
        groups,
        chosen(),
        choices.by_purpose(known, in_force, candidates, is_vetoed=vetoed),
        tuple(unsteady),
    )


def is_enough(decision: Decided, plan: LivePlan) -> bool:
    """Whether each answer that was asked for is expected to lose next to nothing."""
    asked = [decision.stated] if plan.group is not None else [decision.choice, *decision.by_purpose.values()]
    return all(choice is not None and choice.stake < choices.REGRET_ENOUGH_LOG for choice in asked)
