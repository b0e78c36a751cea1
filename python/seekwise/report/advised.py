"""What a run advises to set, whichever way it was measured: shown, and as a document."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.console import Console
from rich.table import Table

from seekwise.judge.changes import StudyAsked, TuneAsked, asked
from seekwise.judge.decision.choose import Choice
from seekwise.judge.for_use import ForSystem
from seekwise.judge.outcome import Outcome
from seekwise.judge.study_outcome import StudyOutcome, combination_name
from seekwise.judge.system_choices import NOT_LONG_ENOUGH, SystemChoice
from seekwise.judge.workloads import Weighed, WeighedSetting
from seekwise.number_text import plain_settings, three
from seekwise.report import terminal, tune_answer, use_answer
from seekwise.report.content import Advice, ReportContent
from seekwise.report.layout import WIDTH, plain_table, print_columns, print_lines, say, wrapped
from seekwise.report.outcome import content_of, times
from seekwise.report.rows import trial_rows
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.purpose import PURPOSES
from seekwise.workload.study.plan import Plan

REGRET_SHOWN = 0.005
METRIC_TITLES = {"p99": "p99", "cpu_efficiency": "MB per CPU s"}


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


@dataclass(frozen=True)
class TuneAdvised:
    """What a run of `tune` advises to set, for everything or for one purpose."""

    asked: TuneAsked
    content: ReportContent
    """Of what was asked for."""

    def reason(self) -> str:
        """Why, as `apply` writes it down."""
        return f"run {self.content.run_id}: {self.content.advice.headline.rstrip('.')}"

    def document(self) -> TuneAdvice:
        """What `advise --json` prints."""
        said, choice = self.content.advice, self.asked.choice
        return TuneAdvice(
            self.content.run_id, self.asked.purpose, said.headline, choice, said.set_lines, said.undo_lines
        )

    def sets(self, run: str) -> str | None:
        """The command that sets it; None with nothing to change, where `apply` would only say so."""
        return tune_answer.apply_command(self.asked.outcome, run, self.asked.purpose)

    def show(self, console: Console) -> None:
        """The answer, and the command that sets it."""
        terminal.print_run(self.content, console, shows_all="")
        if self.asked.purpose is None and (known := self.asked.outcome.decided.by_purpose):
            options = " or ".join(f"`--for {name}` ({PURPOSES[name]})" for name in known)
            print_lines([f"For one purpose: {options}."], console)
        if command := self.sets(self.content.run_id):
            say(f"next: {command}", console)


def _alone(content: ReportContent, advice: Advice) -> ReportContent:
    """The advice without the tables of the whole run."""
    return replace(content, advice=advice, question=None, table=None, arrays=(), systems=())


@dataclass(frozen=True)
class StudyAdvised:
    """What a run of a study advises to set, for everything or for one use, on one system or each."""

    asked: StudyAsked
    content: ReportContent
    """Of the whole run."""

    @property
    def outcome(self) -> StudyOutcome:
        """The judged run."""
        return self.asked.outcome

    def reason(self) -> str:
        """Why, as `apply` writes it down; of each drive where there are several."""
        drives = self.asked.drives
        said = [(drive.system, use_answer.of_system(drive, self.content).headline.rstrip(".")) for drive in drives]
        headlines = [f"{system}: {headline}" if len(said) > 1 else headline for system, headline in said]
        return f"run {self.content.run_id}: {'; '.join(headlines or [self.content.advice.headline.rstrip('.')])}"

    def sets(self, run: str) -> str | None:
        """The command that sets it; None with nothing to change, where `apply` would only say so."""
        if not self.asked.has_changes:
            return None
        words = f" --for {shlex.quote(self.asked.purpose)}" if self.asked.purpose else ""
        system = f" --system {shlex.quote(self.asked.system)}" if self.asked.system else ""
        return self.outcome.run.typed(f"sudo seekwise apply {run}{words}{system}")

    def document(self) -> RunAdvice | SystemsAdvice:
        """What `advise --json` prints."""
        if self.asked.drives:
            first = self.asked.drives[0]
            weighed = first.weighing.weighed if first.weighing else None
            made = _document(self.outcome, use_answer.of_system(first, self.content), weighed)
            return replace(made, systems=[_system(drive, self.content) for drive in self.asked.drives])
        if self.asked.has_systems:
            return SystemsAdvice(self.outcome.run.run_id, self.outcome.provenance, self._choices())
        if self.asked.weighing is None:
            return _document(self.outcome, self.content.advice, None)
        advice = use_answer.of_use(self.asked.weighing, self.outcome.plan)
        return _document(self.outcome, advice, self.asked.weighing.weighed)

    def _choices(self) -> list[SystemChoice]:
        """What to set on each system, for one use or for all that the study asks about."""
        if self.asked.workload is None:
            return [choice for choice in self.content.advice.choices if not choice.threads]
        return self.asked.choices()

    def show(self, console: Console) -> None:
        """The answer, and the command that sets it."""
        on = f", system {self.asked.system}" if self.asked.system and not self.asked.drives else ""
        run = self.outcome.run
        say(f"run {run.run_id}, study {run.study_name}{on}, {self.outcome.provenance}\n", console)
        if self.asked.drives:
            self._show_drives(console)
        elif self.asked.has_systems:
            self._show_systems(console)
        elif self.asked.weighing is None:
            terminal.print_answer(self.content, console)
        else:
            weighed = self.asked.weighing.weighed
            advice = use_answer.of_use(self.asked.weighing, self.outcome.plan)
            terminal.print_answer(_alone(self.content, advice), console)
            say(f"\n{weighed.workload.name}: {weighed.workload.meaning}", console)
            _print_throughputs(console, self.content.records, weighed)
            _print_weighed(console, weighed, self.outcome.plan)
        if command := self.sets(self.content.run_id):
            say(f"\nnext: {command}", console)

    def _show_drives(self, console: Console) -> None:
        many = len(self.outcome.plan.systems) > 1
        for drive in self.asked.drives:
            if many:
                say(f"{drive.system} ({', '.join(drive.devices)})", console)
            if self.asked.workload is None and not many:
                terminal.print_answer(self.content, console)
            else:
                advice = use_answer.of_system(drive, self.content)
                terminal.print_answer(_alone(self.content, advice), console)
            if drive.weighing is not None:
                console.print()
                _print_throughputs(
                    console,
                    [r for r in self.content.records if not many or r.factors.get("system") == drive.system],
                    drive.weighing.weighed,
                )
                _print_weighed(console, drive.weighing.weighed, drive.outcome.plan)
        if self.asked.workload is not None:
            say(f"\n{self.asked.workload.name}: {self.asked.workload.meaning}", console)

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
        if self.asked.workload is None:
            print_lines([self.content.advice.headline], console, style="bold")
            console.print()
        console.print(table)
        console.print()
        if any(choice.is_little_known or not choice.named for choice in choices):
            say(f"`{NOT_LONG_ENOUGH}`: the fastest so far; another one may be as good.", console)
        run = self.outcome.run
        say(f"next: {run.typed(f'seekwise advise {run.run_id} --system NAME')}", console)


Advised = TuneAdvised | StudyAdvised


def of(content: ReportContent, outcome: Outcome, purpose: str | None = None, system: str | None = None) -> Advised:
    """`content`: of that whole run. UsageError for a use or system that it did not measure."""
    found = asked(outcome, purpose, system)
    shown = content if found.outcome is outcome else content_of(found.outcome)
    return TuneAdvised(found, shown) if isinstance(found, TuneAsked) else StudyAdvised(found, shown)


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
        estimates = [f"{standing.ratios[name][0]:.3g}" if name in standing.ratios else "" for name in metrics]
        worst = f"-{100 * standing.regret:.0f} %" if standing.regret > REGRET_SHOWN else ""
        throughput = "1" if is_reference else _interval(standing.ratios.get("rate"))
        table.add_row(
            plain_settings(standing.setting), throughput, *estimates, "yes" if standing.on_pareto_front else "", worst
        )
    return table


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
