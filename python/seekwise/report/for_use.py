"""What to set for one use, or on one of several systems: advice in words and lines, with what it costs where it costs most."""

from __future__ import annotations

from dataclasses import dataclass

from seekwise.control.lines import ShellLines
from seekwise.errors import UsageError
from seekwise.judge.rule import THRESHOLD_SHARE
from seekwise.judge.study_outcome import StudyOutcome, combination_name, recommended
from seekwise.judge.study_outcome import lines as lines_of
from seekwise.judge.workloads import OperationMix, Weighed, WeighedSetting, weigh
from seekwise.report import array_choice
from seekwise.report.content import Advice, ReportContent
from seekwise.report.insights import choices
from seekwise.report.outcome import advice, cautions, times
from seekwise.store.database import IMPORTED
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study.plan import Plan, Setting

NOT_COVERED_MUCH = 0.2


@dataclass(frozen=True)
class Weighing:
    """What one use wants, by the shares of its operations."""

    advice: Advice
    setting: Setting | None
    """What to set; None: keep what is set."""
    weighed: Weighed


Competition = tuple[str, list[Record]]
"""A system, or a family of arrays that differ in their chunk, and the records whose settings compete there."""


def _reasons(standing: WeighedSetting, weighed: Weighed, plan: Plan) -> tuple[str, ...]:
    _, low, high = standing.ratios["rate"]
    reasons = [f"rate, weighted by the shares of its operations: {times(low, high, more_is_better=True)}"]
    others = [name for name in weighed.best if name != standing.setting]
    if others:
        reasons.append(f"about as good: {', '.join(others)}")
    if standing.regret > 0.01:
        reasons.append(
            f"largest loss: {combination_name(standing.regret_combination, plan, pooled=True)}, {100 * standing.regret:.0f} % below the best rate there"
        )
    return tuple(reasons)


def _changing_least(weighed: Weighed, plan: Plan) -> str:
    """Of the settings that none beats and that are level with the fastest: the one that differs from the reference in the fewest values."""
    values = {each.label: each.values for each in plan.settings}
    throughputs = {standing.setting: standing.ratios.get("rate", (1.0, 1.0, 1.0))[0] for standing in weighed.standings}
    least = throughputs[weighed.best[0]] / (1 + THRESHOLD_SHARE["rate"])
    level = [name for name in weighed.best if throughputs[name] >= least]
    if any(name not in values for name in (weighed.reference, *level)):
        return weighed.best[0]
    in_force = values[weighed.reference]
    return min(level, key=lambda name: sum(in_force.get(key) != value for key, value in values[name].items()))


def competition(found: StudyOutcome, system: str | None) -> tuple[Competition | None, list[str]]:
    """(the one asked for, the names of all). UsageError for a system that the run does not have."""
    known = list(choices.competitions(found.study, found.compared)) if found.study else []
    names = [name for name, _, _ in known]
    chosen = next(((name, records) for name, _, records in known if name == system), None)
    if system is not None and chosen is None:
        raise UsageError(
            f"nothing competes on a system `{system}` in run {found.run.run_id}",
            f"systems of this run: {', '.join(names) or 'none with two settings'}",
        )
    return chosen, names


def choices_of(
    found: StudyOutcome, content: ReportContent, workload: OperationMix | None
) -> list[choices.SystemChoice]:
    """What to set on each system, for one use or for all that the study asks about."""
    if workload is None:
        return [choice for choice in content.advice.choices if not choice.threads]
    each = choices.competitions(found.study, found.compared) if found.study else ()
    made = [choices.choose(name, kind, records, workload) for name, kind, records in each]
    if not any(made):
        raise UsageError(
            f"no trial of this run is of the kind that {workload.name} does",
            f"it needs {', '.join(name for name, share in workload.operations.items() if share)}",
        )
    return [choice for choice in made if choice is not None]


def for_workload(found: StudyOutcome, workload: OperationMix, chosen: Competition | None = None) -> Weighing:
    """Advises to leave the reference only if the best setting clearly beats it under this workload."""
    plan = found.plan
    records = [record for record in (chosen[1] if chosen else found.compared) if record.valid]
    # An array that survives no failure is not recommended beside one that does.
    unsafe = array_choice.unsafe_settings(records)
    records = [record for record in records if record.setting not in unsafe]
    offered = {record.setting for record in records}
    reference = plan.reference if plan.reference in offered else min(offered, default=plan.reference)
    weighed = weigh(records, workload, reference)
    warnings = list(cautions(plan))
    if weighed.not_covered > NOT_COVERED_MUCH:
        warnings.append(f"{100 * weighed.not_covered:.0f} % of this work is represented by no trial of the run")
    if unsafe:
        named = sorted(name for name in unsafe if not name.endswith(CONTROL_SUFFIX))
        warnings.append(f"{', '.join(named)} left out: one failed drive loses all data")
    standings = {standing.setting: standing for standing in weighed.standings}
    if len(standings) < 2:
        said = Advice(f"Only {reference} was tested, so there is nothing to choose from.", caution=tuple(warnings))
        return Weighing(said, None, weighed)
    if not weighed.best:
        said = Advice(
            f"Not measured long enough for {workload.name} to tell settings apart."
            # What was in force where other tools measured is not known.
            + ("" if plan.backend == IMPORTED else f" Keep {reference}."),
            caution=tuple(warnings),
        )
        return Weighing(said, None, weighed)
    if reference in weighed.best:
        said = Advice(f"Keep {reference}: {_where(workload)} no tested setting is better.", caution=tuple(warnings))
        return Weighing(said, None, weighed)
    label = _changing_least(weighed, plan)
    # The chunk of a family of arrays is no setting of the plan: nothing to write into a file of the kernel.
    setting = next((each for each in plan.settings if each.label == label and not each.control), None)
    lines = lines_of(setting, plan) if setting else ShellLines((), ())
    said = Advice(
        f"Set {label} instead of {reference} for {workload.name}.",
        _reasons(standings[label], weighed, plan),
        lines.set,
        lines.undo,
        tuple(warnings),
    )
    return Weighing(said, setting, weighed)


@dataclass(frozen=True)
class ForSystem:
    """What one of several systems of a run should be set to: drives of different kinds seldom want the same."""

    system: str
    devices: tuple[str, ...]
    advised: Weighing | None
    advice: Advice
    setting: Setting | None
    plan: Plan
    """The run's plan as if it had this system only."""


def per_system(found: StudyOutcome, content: ReportContent, workload: OperationMix | None) -> tuple[ForSystem, ...]:
    """One answer per system, each judged by its own trials against what it was set to; one for a run with one system."""
    answers = []
    many = len(found.plan.systems) > 1
    for facts in found.plan.systems:
        own = found.of_system(facts) if many else found
        if workload is None:
            said = advice(own) if many else content.advice
            best = recommended(own.choice, own.plan)
            answers.append(ForSystem(facts.name, facts.leaves, None, said, best, own.plan))
        else:
            weighing = for_workload(own, workload)
            answers.append(ForSystem(facts.name, facts.leaves, weighing, weighing.advice, weighing.setting, own.plan))
    return tuple(answers)


def per_drive(
    found: StudyOutcome, content: ReportContent, workload: OperationMix | None, system: str | None = None
) -> tuple[ForSystem, ...]:
    """The answers that `apply` sets, or that of `system`; none for what was not measured on drives of this machine.

    Systems that share a drive (arrays built one after the other) are alternatives, not parts of one machine: none either.
    """
    leaves = [leaf for facts in found.plan.systems for leaf in facts.leaves]
    if found.plan.backend != "kernel" or not leaves or len(leaves) != len(set(leaves)):
        return ()
    answers = per_system(found, content, workload)
    if system is None:
        return answers
    chosen = tuple(answer for answer in answers if answer.system == system)
    if not chosen:
        names = ", ".join(answer.system for answer in answers)
        raise UsageError(f"run {found.run.run_id} has no system `{system}`", f"systems of this run: {names}")
    return chosen


def _where(workload: OperationMix) -> str:
    return "over all its operations" if workload.name == choices.OVERALL.name else f"for {workload.name}"
