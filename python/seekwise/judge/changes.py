"""What `apply` writes of a run: chosen here from verdicts, so that a report only says it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from seekwise import invocation
from seekwise.errors import UsageError
from seekwise.judge import workloads
from seekwise.judge.decision.choose import Choice
from seekwise.judge.for_use import ForSystem, Weighing, choices_for, competition, for_workload, per_drive
from seekwise.judge.outcome import LiveOutcome, Outcome, for_purpose, no_verdict
from seekwise.judge.study_outcome import StudyOutcome, wanted
from seekwise.judge.system_choices import OVERALL, SystemChoice
from seekwise.judge.workloads import OperationMix
from seekwise.workload.live_plan import Changes

MEASURE = invocation.line("sudo seekwise tune PATH")
BY_HAND = f"`{MEASURE}` measures; `--device sda --set scheduler=bfq` takes what you name, with `--print udev` too"


@dataclass(frozen=True)
class TuneAsked:
    """A run of `tune`, asked for everything or for one purpose."""

    outcome: LiveOutcome
    choice: Choice
    purpose: str | None

    def changes(self) -> Changes:
        """None where what is in force stays. UsageError for what was not measured on this machine."""
        plan, run_id = self.outcome.plan, self.outcome.run.run_id
        if plan.provenance != "measured":
            raise _not_here(run_id, plan.provenance)
        if divided := self.outcome.divided:
            wants = (
                f"{purpose} {'keeps' if setting == plan.in_force.label else 'wants'} {setting}"
                for purpose, setting in divided.items()
            )
            raise UsageError(
                f"run {run_id} has no one setting for everything: {', '.join(wants)}",
                " or ".join(f"`--for {purpose}`" for purpose in divided),
            )
        return plan.candidate(self.choice.setting).changes if self.choice.changes else {}


@dataclass(frozen=True)
class StudyAsked:
    """A run of a study, asked for each drive of this machine, for each of several systems, or for what competes on one."""

    outcome: StudyOutcome
    purpose: str | None
    system: str | None
    workload: OperationMix | None

    @cached_property
    def drives(self) -> tuple[ForSystem, ...]:
        """What was measured on this machine: each of its systems is told what suits it, and `apply` sets it."""
        return per_drive(self.outcome, self.workload, self.system)

    @cached_property
    def has_systems(self) -> bool:
        """Whether several systems are told what suits them, each in a row."""
        return self.system is None and len(competition(self.outcome, None)[1]) > 1

    @cached_property
    def weighing(self) -> Weighing | None:
        """What the use wants; None where none was named and settings compete on one system."""
        chosen, _ = competition(self.outcome, self.system)
        # One of several systems, and nothing said about its work: all operations alike.
        workload = OVERALL if self.workload is None and chosen is not None else self.workload
        return for_workload(self.outcome, workload, chosen) if workload else None

    def choices(self) -> list[SystemChoice]:
        """What to set on each system for the use that was named."""
        assert self.workload is not None
        return choices_for(self.outcome, self.workload)

    @property
    def has_changes(self) -> bool:
        """Whether anything is to be set here."""
        return any(drive.setting is not None for drive in self.drives)

    def changes(self) -> Changes:
        """None where what is in force stays. UsageError for what was not measured on this machine."""
        run_id, plan = self.outcome.run.run_id, self.outcome.plan
        if not self.drives and plan.backend != "kernel":
            raise _not_here(run_id, plan.backend)
        if not self.drives:
            raise UsageError(f"the systems of run {run_id} are alternatives on the same drives", BY_HAND)
        changes: Changes = {}
        for drive in self.drives:
            changes |= wanted(drive.setting, drive.outcome.plan) if drive.setting is not None else {}
        return changes


Asked = TuneAsked | StudyAsked


def asked(outcome: Outcome, purpose: str | None = None, system: str | None = None) -> Asked:
    """`purpose`: a use. UsageError (exit status 2) for what the run did not measure, and where nothing can be advised."""
    if isinstance(outcome, StudyOutcome):
        return StudyAsked(outcome, purpose, system, workloads.find(purpose) if purpose else None)
    if system is not None:
        raise UsageError(
            f"run {outcome.run.run_id} of `tune` has one target, so it takes no `--system`", "leave out --system"
        )
    own = for_purpose(outcome, purpose) if purpose is not None else outcome
    if (choice := own.choice) is None:
        reason = no_verdict(outcome) or "no period was measured"
        raise UsageError(f"run {outcome.run.run_id} advises nothing: {reason}", hint=f"`{MEASURE}` measures")
    return TuneAsked(own, choice, purpose)


def _not_here(run_id: str, provenance: str) -> UsageError:
    """What was simulated, or measured by another tool or elsewhere, is no reason to set anything here."""
    return UsageError(f"run {run_id} did not measure this machine ({provenance})", BY_HAND)
