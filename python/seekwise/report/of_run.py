"""A stored run as every command shows it, whichever way it was measured: answer, rows, notes, document, page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from seekwise.document import printed
from seekwise.judge import outcome
from seekwise.judge.decision.choose import Choice
from seekwise.judge.observation import Verdict
from seekwise.judge.outcome import LiveOutcome, notes
from seekwise.judge.study_outcome import StudyOutcome
from seekwise.report import documents, tune_answer
from seekwise.report.content import ReportContent
from seekwise.report.outcome import content_of
from seekwise.store import damage
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from seekwise.report.advised import Advised


class _OfRun:
    """What every run tells."""

    outcome: outcome.Outcome

    @property
    def run(self) -> Run:
        """The stored run; of several shown as one, the first."""
        return self.outcome.run

    @property
    def records(self) -> Sequence[Record]:
        """Every trial or period, invalid ones included."""
        return self.outcome.records

    @property
    def provenance(self) -> str:
        """measured, virtual or simulated."""
        return self.outcome.provenance

    @property
    def title(self) -> str:
        """What was run, where, and whether it ended: the first line of what is shown of it."""
        return f"run {self.run.run_id}, {self._what()}, {self.provenance}, {self.run.outcome or 'unfinished'}"

    def _what(self) -> str:
        return self.run.title

    @property
    def choice(self) -> Choice | None:
        """The setting that the verdicts choose; None where nothing can be chosen."""
        return self.outcome.choice

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """Of pairs of settings, where the run was judged by pairs."""
        return self.outcome.verdicts


def of_runs(store: Store, *runs: Run, brief: bool = False) -> Report:
    """One run, or several of one study as one. UsageError where they cannot be one; `brief`: for the words alone."""
    return of_outcome(outcome.of_runs(store, *runs, brief=brief))


def of_outcome(judged: outcome.Outcome) -> Report:
    """The report of what was judged."""
    return TuneReport(judged) if isinstance(judged, LiveOutcome) else StudyReport(judged)


@dataclass(frozen=True)
class StudyReport(_OfRun):
    """Of a run of a study."""

    outcome: StudyOutcome

    @cached_property
    def content(self) -> ReportContent:
        """Everything that its page draws."""
        with damage.reading(self.run.run_id):
            return content_of(self.outcome)

    @property
    def plan(self) -> Plan:
        """As stored when the run began."""
        return self.outcome.plan

    def headline(self) -> str:
        """Of the study's advice, as sentences with their periods."""
        from seekwise.report import page

        return page.sentence(self.content.advice.headline)

    def reasons(self) -> Sequence[str]:
        """Sentences that the advice rests on; empty where nothing is advised."""
        return self.content.advice.reasons

    def notes(self) -> Sequence[str]:
        """What limits the results: outliers, drift, discarded trials, devices that need care."""
        return self.content.notes

    def findings(self) -> Sequence[str]:
        """Insights over all systems."""
        return tuple(finding.text for finding in self.content.findings)

    def advised(self, purpose: str | None = None, system: str | None = None) -> Advised:
        """`purpose`: a use; `system`: needed where systems differ in what is best. UsageError (exit status 2) for an
        unknown one."""
        from seekwise.report import advised

        return advised.of_study(self.outcome, self.content, purpose, system)

    def sets(self, run: str) -> str | None:
        """The command that sets what this run advises; None where nothing is to be set here. `run`: what it is called
        there."""
        from seekwise.report import advised

        return advised.of_study(self.outcome, self.content, None, None).sets(run)

    def document(self, *, records: bool = True, report: str | None = None) -> dict[str, object]:
        """Schema of `results --json`; `records` is ignored, since a study's document holds none."""
        document: dict[str, object] = printed(documents.of_study(self.outcome, self.content, report=report))
        return document

    def show(
        self, console: Console, *, everything: bool = False, figures: bool = False, told: Sequence[str] | None = None
    ) -> None:
        """`everything`: every row instead of the first ones."""
        from seekwise.report import terminal

        if figures:
            terminal.print_figures(self.content, console, everything=True)
            console.print()
        everything_shown = self.run.typed(f"seekwise results {self.run.run_id} --all")
        terminal.print_study(self.content, console, everything=everything, told=told, shows_all=everything_shown)

    def pictures(self) -> list[tuple[str, str]]:
        """(name, SVG) of each chart."""
        from seekwise.report import page

        return page.pictures(self.content)

    def write(self, path: Path) -> Path:
        """Whole or not at all; returns the absolute path."""
        from seekwise.report import page

        return page.write_report(path, self.content)


@dataclass(frozen=True)
class TuneReport(_OfRun):
    """Of a run that was switched live."""

    outcome: LiveOutcome

    def headline(self) -> str:
        """What to set or keep, or why there is no verdict."""
        return tune_answer.headline(self.outcome)

    def reasons(self) -> Sequence[str]:
        """A line per use and metric that the answer rests on."""
        return tuple(f"{row.use}, {row.subject}: {row.words}" for row in tune_answer.rows(self.outcome))

    def notes(self) -> Sequence[str]:
        """Warnings about the devices, and uses that were left out."""
        return notes(self.outcome)

    def findings(self) -> Sequence[str]:
        """Always empty: insights compare systems and thread counts, which a live run does not vary."""
        return ()

    def advised(self, purpose: str | None = None, system: str | None = None) -> Advised:
        """UsageError (exit status 2) for any `system`, since a run of `tune` has one target, and for a use that was not
        measured."""
        from seekwise.report import advised

        return advised.of_tune(self.outcome, purpose, system)

    def _what(self) -> str:
        plan = self.outcome.plan
        drives = f" on {', '.join(plan.current)}" if plan.current else ""
        minutes = round(self.outcome.seconds / 60)
        took = f"{minutes} minute{'s' if minutes != 1 else ''}" if minutes else time_text(self.outcome.seconds)
        name = f"{self.run.given_name}, " if self.run.given_name else ""
        return f"{name}tune of {self.run.target or plan.stack[0].split(';')[0]}{drives}, {took}"

    def sets(self, run: str) -> str | None:
        """The command that sets what this run advises; None where nothing is to be set here. `run`: what it is called
        there."""
        command = tune_answer.next_command(self.outcome, run)
        return command if command.startswith("sudo seekwise apply") else None

    def document(self, *, records: bool = True, report: str | None = None) -> dict[str, object]:
        """Schema of `tune --json`; `records`: with every period."""
        document: dict[str, object] = printed(documents.of_tune(self.outcome, records=records, report=report))
        return document

    def show(
        self, console: Console, *, everything: bool = False, figures: bool = False, told: Sequence[str] | None = None
    ) -> None:
        """Lines made for the console's width; `figures` and `told` have no effect here."""
        for line in tune_answer.lines(self.outcome, width=console.width, everything=everything):
            console.print(Text(line), soft_wrap=True)

    def pictures(self) -> list[tuple[str, str]]:
        """(name, SVG) of each chart of the live page."""
        from seekwise.report import live_page

        return live_page.pictures(self.outcome)

    def write(self, path: Path) -> Path:
        """Whole or not at all; returns `path` as given."""
        from seekwise.report import live_page

        return live_page.write(path, self.outcome)


Report = StudyReport | TuneReport
