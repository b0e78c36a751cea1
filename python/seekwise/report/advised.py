"""What a run advises to set, whichever way it was measured: shown, as a document, and as values that `apply` sets."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from rich.console import Console
from rich.table import Table

from seekwise.errors import UsageError
from seekwise.judge import workloads
from seekwise.judge.candidates import NOT_LONG_ENOUGH
from seekwise.judge.decision.choose import Choice
from seekwise.judge.for_use import ForSystem, Weighing, choices_for, competition, for_workload, per_drive
from seekwise.judge.outcome import LiveOutcome, for_purpose, no_verdict
from seekwise.judge.study_outcome import StudyOutcome, combination_name, wanted
from seekwise.judge.system_choices import OVERALL, SystemChoice
from seekwise.judge.workloads import OperationMix, Weighed, WeighedSetting
from seekwise.number_text import plain_settings, three
from seekwise.report import terminal, tune_answer, use_answer
from seekwise.report.content import Advice, ReportContent
from seekwise.report.layout import WIDTH, plain_table, print_columns, print_lines, say, wrapped
from seekwise.report.outcome import times
from seekwise.report.rows import trial_rows
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.live_plan import Changes
from seekwise.workload.purpose import PURPOSES
from seekwise.workload.study.plan import Plan

REGRET_SHOWN = 0.005
METRIC_TITLES = {"p99": "p99", "cpu_efficiency": "CPU eff."}


@dataclass(frozen=True)
class TuneAdvice:
    """`advise RUN --json` of a run of `tune`."""

    SCHEMA: ClassVar = "seekwise.advice-live/1"

    run_id: str
    for_: str | None
    headline: str
    decision: Choice | None
    set: Sequence[str]
    undo: Sequence[str]


@dataclass(frozen=True)
class Weighted:
    """The records weighted for a use."""

    name: str
    operations: Mapping[str, float]
    threads: str
    reference: str
    repetitions: int
    not_covered: float
    """Share of this use that no trial represents."""
    best: Sequence[str]
    settings: Sequence[WeighedSetting]


@dataclass(frozen=True)
class SystemAdvice:
    """What suits one of this machine's drives that a run measured."""

    system: str
    devices: Sequence[str]
    headline: str
    reasons: Sequence[str]
    setting: str | None
    set_lines: Sequence[str]
    undo_lines: Sequence[str]


@dataclass(frozen=True)
class RunAdvice:
    """`advise RUN --json`."""

    SCHEMA: ClassVar = "seekwise.advice/1"
    run_id: str
    provenance: str
    headline: str
    reasons: Sequence[str]
    caution: Sequence[str]
    set_lines: Sequence[str]
    undo_lines: Sequence[str]
    workload: Weighted | None
    """Null without --for."""
    systems: Sequence[SystemAdvice] = ()
    """With several drives of this machine, each."""


@dataclass(frozen=True)
class SystemsAdvice:
    """`advise RUN --json` of a study with several systems."""

    SCHEMA: ClassVar = "seekwise.advice.systems/1"
    run_id: str
    provenance: str
    systems: Sequence[SystemChoice]


def not_here(run_id: str, provenance: str) -> UsageError:
    """What was simulated, or measured by another tool or elsewhere, is no reason to set anything here."""
    return UsageError(
        f"run {run_id} did not measure this machine ({provenance})",
        "`sudo seekwise tune PATH` measures; `--device sda --set scheduler=bfq` takes what you name, with `--print udev` too",
    )


@dataclass(frozen=True)
class _TuneAdvice:
    outcome: LiveOutcome
    choice: Choice
    purpose: str | None

    def to_apply(self) -> tuple[Changes, str]:
        """(values to set, why); no values where what is in force stays. UsageError for what was not measured on this
        machine."""
        plan, run_id = self.outcome.plan, self.outcome.run.run_id
        if plan.provenance != "measured":
            raise not_here(run_id, plan.provenance)
        if divided := self.outcome.divided:
            wants = (
                f"{purpose} {'keeps' if setting == plan.in_force.label else 'wants'} {setting}"
                for purpose, setting in divided.items()
            )
            raise UsageError(
                f"run {run_id} has no one setting for everything: {', '.join(wants)}",
                " or ".join(f"`--for {purpose}`" for purpose in divided),
            )
        changes = plan.candidate(self.choice.setting).changes if self.choice.changes else {}
        return changes, f"run {run_id}: {tune_answer.headline(self.outcome).rstrip('.')}"

    def document(self) -> TuneAdvice:
        outcome = self.outcome
        return TuneAdvice(
            outcome.run.run_id,
            self.purpose,
            tune_answer.headline(outcome),
            outcome.choice,
            outcome.lines.set,
            outcome.lines.undo,
        )

    def show(self, console: Console) -> None:
        for line in tune_answer.lines(self.outcome, width=console.width):
            say(line, console)
        if self.purpose is None and (known := self.outcome.decided.by_purpose):
            options = " or ".join(f"`--for {name}` ({PURPOSES[name]})" for name in known)
            print_lines([f"For one purpose: {options}."], console)
        command = tune_answer.next_command(self.outcome, self.outcome.run.run_id, self.purpose)
        if command.startswith("sudo seekwise apply"):
            say(f"next: {command}", console)


@dataclass(frozen=True)
class _StudyAdvice:
    outcome: StudyOutcome
    content: ReportContent
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

    def to_apply(self) -> tuple[Changes, str]:
        run_id, plan = self.outcome.run.run_id, self.outcome.plan
        if not self.drives and plan.backend != "kernel":
            raise not_here(run_id, plan.backend)
        if not self.drives:
            raise UsageError(
                f"the systems of run {run_id} are alternatives on the same drives",
                "`sudo seekwise tune PATH` measures; `--device sda --set scheduler=bfq` takes what you name, with `--print udev` too",
            )
        many = len(self.drives) > 1
        said = [(drive.system, use_answer.of_system(drive, self.content).headline) for drive in self.drives]
        headlines = [f"{system}: {headline}" if many else headline for system, headline in said]
        changes: Changes = {}
        for drive in self.drives:
            changes |= wanted(drive.setting, drive.outcome.plan) if drive.setting is not None else {}
        return changes, f"run {run_id}: {'; '.join(text.rstrip('.') for text in headlines)}"

    def document(self) -> RunAdvice | SystemsAdvice:
        if self.drives:
            first = self.drives[0]
            weighed = first.weighing.weighed if first.weighing else None
            made = _document(self.outcome, use_answer.of_system(first, self.content), weighed)
            return replace(made, systems=[_system(drive, self.content) for drive in self.drives])
        if self.has_systems:
            return SystemsAdvice(self.outcome.run.run_id, self.outcome.provenance, self._choices())
        if self.weighing is None:
            return _document(self.outcome, self.content.advice, None)
        advice = use_answer.of_use(self.weighing, self.outcome.plan)
        return _document(self.outcome, advice, self.weighing.weighed)

    def _choices(self) -> list[SystemChoice]:
        """What to set on each system, for one use or for all that the study asks about."""
        if self.workload is None:
            return [choice for choice in self.content.advice.choices if not choice.threads]
        return choices_for(self.outcome, self.workload)

    def show(self, console: Console) -> None:
        on = f", system {self.system}" if self.system and not self.drives else ""
        run = self.outcome.run
        say(f"run {run.run_id}, study {run.study_name}{on}, {self.outcome.provenance}\n", console)
        if self.drives:
            self._show_drives(console)
        elif self.has_systems:
            self._show_systems(console)
        elif self.weighing is None:
            terminal.print_answer(self.content, console)
        else:
            weighed = self.weighing.weighed
            advice = use_answer.of_use(self.weighing, self.outcome.plan)
            terminal.print_advice(replace(self.content, advice=advice), console)
            say(f"\n{weighed.workload.name}: {weighed.workload.meaning}", console)
            _print_throughputs(console, self.content.records, weighed)
            _print_weighed(console, weighed, self.outcome.plan)

    def _show_drives(self, console: Console) -> None:
        many = len(self.outcome.plan.systems) > 1
        for drive in self.drives:
            if many:
                say(f"{drive.system} ({', '.join(drive.devices)})", console)
            if self.workload is None and not many:
                terminal.print_answer(self.content, console)
            else:
                advice = use_answer.of_system(drive, self.content)
                terminal.print_advice(replace(self.content, advice=advice), console)
            if drive.weighing is not None:
                console.print()
                _print_throughputs(
                    console,
                    [r for r in self.content.records if not many or r.factors.get("system") == drive.system],
                    drive.weighing.weighed,
                )
                _print_weighed(console, drive.weighing.weighed, drive.outcome.plan)
        if self.workload is not None:
            say(f"\n{self.workload.name}: {self.workload.meaning}", console)
        if command := self.sets(self.outcome.run.run_id):
            say(f"\nnext: {command}", console)

    def sets(self, run: str) -> str | None:
        """The command that sets it; None with nothing to change, where `apply` would only say so."""
        if not any(drive.setting is not None for drive in self.drives):
            return None
        words = f" --for {shlex.quote(self.purpose)}" if self.purpose else ""
        system = f" --system {shlex.quote(self.system)}" if self.system else ""
        return self.outcome.run.typed(f"sudo seekwise apply {run}{words}{system}")

    def _show_systems(self, console: Console) -> None:
        choices = self._choices()
        uses = list(dict.fromkeys(choice.use for choice in choices))
        table = plain_table()
        table.add_column("System")
        for use in uses:
            table.add_column(use.replace("-", " ").capitalize())
        for name in dict.fromkeys(choice.system for choice in choices):
            row = {choice.use: choice.text for choice in choices if choice.system == name}
            table.add_row(name, *(row.get(use, "–") for use in uses))
        if self.workload is None:
            print_lines([self.content.advice.headline], console, style="bold")
            console.print()
        console.print(table)
        words = " ".join(choice.text for choice in choices)
        console.print()
        if NOT_LONG_ENOUGH in words:
            say(f"`{NOT_LONG_ENOUGH}`: the fastest so far; another one may be as good.", console)
        run = self.outcome.run
        say(f"next: {run.typed(f'seekwise advise {run.run_id} --system NAME')}", console)


Advised = _TuneAdvice | _StudyAdvice
"""What to set, for everything or for one use: as values to apply, as a document, and shown with the command that sets
it."""


def of_tune(outcome: LiveOutcome, purpose: str | None, system: str | None) -> Advised:
    """Of a live-switched run. UsageError for a system, of which it has one, and for what it did not measure."""
    if system is not None:
        raise UsageError(
            f"run {outcome.run.run_id} of `tune` has one target, so it takes no `--system`", "leave out --system"
        )
    asked = for_purpose(outcome, purpose) if purpose is not None else outcome
    if (choice := asked.choice) is None:
        reason = no_verdict(outcome) or "no period was measured"
        raise UsageError(
            f"run {outcome.run.run_id} advises nothing: {reason}", hint="`sudo seekwise tune PATH` measures"
        )
    return _TuneAdvice(asked, choice, purpose)


def of_study(outcome: StudyOutcome, content: ReportContent, purpose: str | None, system: str | None) -> _StudyAdvice:
    """Of a run of a study: for each drive of this machine, for each of several systems, or for what competes on one."""
    return _StudyAdvice(outcome, content, purpose, system, workloads.find(purpose) if purpose else None)


def _print_throughputs(console: Console, records: Sequence[Record], weighed: Weighed) -> None:
    """What each setting delivered, in values: means over loads and repetitions."""
    wanted = [name for name, share in weighed.workload.operations.items() if share]
    throughputs: dict[str, dict[str, list[float]]] = {}
    for row in trial_rows(records):
        throughputs.setdefault(str(row["setting"]), {}).setdefault(str(row["operation"]), []).append(
            float(row["rate_mb_s"])
        )
    shown = [name for name in wanted if any(name in throughput for throughput in throughputs.values())]
    heads = ["Setting", *(f"{operations.name(name)} [MB/s]" for name in shown)]
    body = [
        [
            plain_settings(standing.setting),
            *(_mean_text(throughputs.get(standing.setting, {}).get(name)) for name in shown),
        ]
        for standing in weighed.standings
    ]
    print_columns(heads, body, console, numbers_from=1)
    console.print()


def _mean_text(values: list[float] | None) -> str:
    return three(sum(values) / len(values)) if values else "–"


def _print_weighed(console: Console, weighed: Weighed, plan: Plan) -> None:
    console.print(_table(weighed), width=min(console.width, WIDTH))
    console.print()
    said = []
    best = weighed.standings[0]
    # Of the others the table has how far behind they are.
    if best.regret > REGRET_SHOWN:
        where = combination_name(best.regret_combination, plan, pooled=True)
        said.append(
            f"{plain_settings(best.setting)} is at its worst in {where}: {100 * best.regret:.0f} % below the best"
        )
    said.append(
        f"Ratios to {plain_settings(weighed.reference)}: rate as a 95 % interval over {weighed.repetitions} repetitions, the others as estimates. "
        "Front: no other setting is as good in all three."
    )
    for sentence in said:
        say("\n".join(wrapped(sentence, WIDTH, then="  ")), console)


def _system(answer: ForSystem, content: ReportContent) -> SystemAdvice:
    advice, setting = use_answer.of_system(answer, content), answer.setting.label if answer.setting else None
    return SystemAdvice(
        answer.system, answer.devices, advice.headline, advice.reasons, setting, advice.set_lines, advice.undo_lines
    )


def _table(weighed: Weighed) -> Table:
    """At most 80 columns wide, whatever the settings are called: a long name is folded, a number never."""
    others = [standing for standing in weighed.standings if standing.setting != weighed.reference]
    # What was not measured has no column: the reference alone would stand in it with its 1.
    metrics = [name for name in ("p99", "cpu_efficiency") if any(name in other.ratios for other in others)]
    table = plain_table()
    table.add_column("Setting", overflow="fold", max_width=28)
    for title in ("Rate", *(METRIC_TITLES[name] for name in metrics), "Front", "At worst"):
        table.add_column(title, no_wrap=True)
    for standing in weighed.standings:
        is_reference = standing.setting == weighed.reference
        estimates = [_estimate(standing.ratios.get(metric)) for metric in metrics]
        worst = f"-{100 * standing.regret:.0f} %" if standing.regret > REGRET_SHOWN else ""
        throughput = "1" if is_reference else _interval(standing.ratios.get("rate"))
        table.add_row(
            plain_settings(standing.setting), throughput, *estimates, "yes" if standing.on_pareto_front else "", worst
        )
    return table


def _estimate(value: tuple[float, float, float] | None) -> str:
    return "" if value is None else f"{value[0]:.3g}"


def _interval(value: tuple[float, float, float] | None) -> str:
    if value is None or not all(map(math.isfinite, value)):
        return "too few repetitions"
    return times(value[1], value[2], more_is_better=True)


def _document(outcome: StudyOutcome, advice: Advice, weighed: Weighed | None) -> RunAdvice:
    workload = None if weighed is None else Weighted(
        weighed.workload.name, weighed.workload.operations, weighed.workload.threads, weighed.reference, weighed.repetitions,
        weighed.not_covered, weighed.best, weighed.standings,
    )  # fmt: skip
    return RunAdvice(
        outcome.run.run_id, outcome.provenance, advice.headline, advice.reasons, advice.caution, advice.set_lines,
        advice.undo_lines, workload,
    )  # fmt: skip
