"""What to set for one use, or on one of several systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.control.lines import ShellLines
from seekwise.errors import UsageError
from seekwise.judge import array_choice, system_choices
from seekwise.judge.rule import THRESHOLD_SHARE
from seekwise.judge.study_outcome import StudyOutcome, lines, recommended
from seekwise.judge.system_choices import SystemChoice
from seekwise.judge.workloads import OperationMix, Weighed, weigh
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan, Setting


@dataclass(frozen=True)
class Weighing:
    """What one use wants, by the shares of its operations."""

    weighed: Weighed
    best: str | None
    """The setting that clearly beats the reference; None: keep what is set."""
    setting: Setting | None
    """The same as a setting of the plan; None also for the chunk of a family of arrays, which is nothing to write into
    a file of the kernel."""
    lines: ShellLines
    unsafe: tuple[str, ...]
    """Settings left out: arrays that survive no failure, beside some that do."""


Competition = tuple[str, list[Record]]
"""A system, or a family of arrays that differ in their chunk, and the records whose settings compete there."""


def competition(outcome: StudyOutcome, system: str | None) -> tuple[Competition | None, list[str]]:
    """(the one asked for, the names of all). UsageError for a system that the run does not have."""
    known = list(system_choices.competitions(outcome.study, outcome.compared)) if outcome.study else []
    names = [name for name, _, _ in known]
    chosen = next(((name, records) for name, _, records in known if name == system), None)
    if system is not None and chosen is None:
        raise UsageError(
            f"nothing competes on a system `{system}` in run {outcome.run.run_id}",
            f"systems of this run: {', '.join(names) or 'none with two settings'}",
        )
    return chosen, names


def choices_for(outcome: StudyOutcome, workload: OperationMix) -> list[SystemChoice]:
    """What to set on each system for one use. UsageError where no trial is of its kind."""
    competition = system_choices.competitions(outcome.study, outcome.compared) if outcome.study else ()
    chosen = [system_choices.choose(name, kind, records, workload) for name, kind, records in competition]
    if not any(chosen):
        raise workload.unmeasured()
    return [choice for choice in chosen if choice is not None]


def for_workload(outcome: StudyOutcome, workload: OperationMix, chosen: Competition | None = None) -> Weighing:
    """Chooses to leave the reference only if the best setting clearly beats it under this workload."""
    plan = outcome.plan
    records = [record for record in (chosen[1] if chosen else outcome.compared) if record.valid]
    # An array that survives no failure is not recommended beside one that does.
    unsafe = array_choice.unsafe_settings(records)
    records = [record for record in records if record.setting not in unsafe]
    offered = {record.setting for record in records}
    reference = plan.reference if plan.reference in offered else min(offered, default=plan.reference)
    weighed = weigh(records, workload, reference)
    keeps = len(weighed.standings) < 2 or not weighed.best or reference in weighed.best
    best = None if keeps else _changing_least(weighed, plan)
    setting = next((planned for planned in plan.settings if planned.label == best and not planned.control), None)
    shell = lines(setting, plan) if setting else ShellLines((), ())
    return Weighing(weighed, best, setting, shell, tuple(sorted(unsafe)))


def _changing_least(weighed: Weighed, plan: Plan) -> str:
    """Of the settings that none beats and that are level with the fastest: the one that differs from the reference in
    the fewest values."""
    values = {setting.label: setting.values for setting in plan.settings}
    throughputs = {standing.setting: standing.ratios.get("rate", (1.0, 1.0, 1.0))[0] for standing in weighed.standings}
    least = throughputs[weighed.best[0]] / (1 + THRESHOLD_SHARE["rate"])
    level = [name for name in weighed.best if throughputs[name] >= least]
    if any(name not in values for name in (weighed.reference, *level)):
        return weighed.best[0]
    in_force = values[weighed.reference]
    return min(level, key=lambda name: sum(in_force.get(key) != value for key, value in values[name].items()))


@dataclass(frozen=True)
class ForSystem:
    """What one of several systems of a run should be set to: drives of different kinds seldom want the same."""

    system: str
    devices: Sequence[str]
    outcome: StudyOutcome
    """As if the run had this system only."""
    weighing: Weighing | None
    """For a use; None where none was named."""
    setting: Setting | None


def per_system(outcome: StudyOutcome, workload: OperationMix | None) -> tuple[ForSystem, ...]:
    """One answer per system, each judged by its own trials against what it was set to; one for a run with one
    system."""
    answers = []
    many = len(outcome.plan.systems) > 1
    for facts in outcome.plan.systems:
        own = outcome.of_system(facts) if many else outcome
        weighing = for_workload(own, workload) if workload else None
        setting = weighing.setting if weighing else recommended(own.choice, own.plan)
        answers.append(ForSystem(facts.name, facts.leaves, own, weighing, setting))
    return tuple(answers)


def per_drive(outcome: StudyOutcome, workload: OperationMix | None, system: str | None = None) -> tuple[ForSystem, ...]:
    """The answers that `apply` sets, or that of `system`; none for what was not measured on drives of this machine.

    Systems that share a drive (arrays built one after the other) are alternatives, not parts of one machine: none
    either.
    """
    leaves = [leaf for facts in outcome.plan.systems for leaf in facts.leaves]
    if outcome.plan.backend != "kernel" or not leaves or len(leaves) != len(set(leaves)):
        return ()
    answers = per_system(outcome, workload)
    if system is None:
        return answers
    chosen = tuple(answer for answer in answers if answer.system == system)
    if not chosen:
        names = ", ".join(answer.system for answer in answers)
        raise UsageError(f"run {outcome.run.run_id} has no system `{system}`", f"systems of this run: {names}")
    return chosen
