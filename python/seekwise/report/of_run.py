"""A stored run as every command shows it, whichever way it was measured: answer, rows, notes, document, page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from seekwise.document import printed
from seekwise.judge import outcome
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.document import UseVerdict, uses
from seekwise.report import documents, tune_answer
from seekwise.report.content import ReportContent
from seekwise.report.layout import sentence
from seekwise.report.outcome import content_of
from seekwise.store import damage
from seekwise.store.database import Run, Store
from seekwise.store.record import Record

if TYPE_CHECKING:
    from seekwise.report.advised import Advised


def of_runs(store: Store, *runs: Run, brief: bool = False) -> Report:
    """One run, or several of one study as one. UsageError where they cannot be one; `brief`: for the words alone."""
    return Report(outcome.of_runs(store, *runs, brief=brief))


@dataclass(frozen=True)
class Report:
    """Of a run of a study, or of one that was switched live."""

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
        what = tune_answer.what(self.outcome) if isinstance(self.outcome, outcome.LiveOutcome) else self.run.title
        return f"run {self.run.run_id}, {what}, {self.provenance}, {self.run.outcome or 'unfinished'}"

    @property
    def choice(self) -> Choice | None:
        """The setting that the verdicts choose; None where nothing can be chosen."""
        return self.outcome.choice

    @property
    def verdicts(self) -> Sequence[UseVerdict]:
        """Every figure of every use, or combination, with its settings against the one in force."""
        return uses(self.outcome.named)

    @cached_property
    def content(self) -> ReportContent:
        """Everything that its page draws."""
        with damage.reading(self.run.run_id):
            return content_of(self.outcome)

    def headline(self) -> str:
        """What to set or keep, or why there is no verdict, as sentences with their periods."""
        return sentence(self.content.advice.headline)

    def reasons(self) -> Sequence[str]:
        """What the answer rests on: sentences, or a line per use and metric."""
        return self.content.advice.reasons

    def notes(self) -> Sequence[str]:
        """What limits the results: outliers, drift, what was discarded or left out, devices that need care."""
        return self.content.notes

    def findings(self) -> Sequence[str]:
        """Insights over all systems; a live run varies neither systems nor thread counts, so it has none."""
        return tuple(finding.text for finding in self.content.findings)

    def advised(self, purpose: str | None = None, system: str | None = None) -> Advised:
        """`purpose`: a use; `system`: needed where systems of a study differ in what is best. UsageError (exit status 2)
        for what was not measured."""
        from seekwise.report import advised

        return advised.of(self.content, self.outcome, purpose, system)

    def sets(self, run: str) -> str | None:
        """The command that sets what this run advises; None where nothing is to be set here. `run`: what it is called
        there."""
        if isinstance(self.outcome, outcome.LiveOutcome):
            return tune_answer.apply_command(self.outcome, run)
        return self.advised().sets(run)

    def document(self, *, records: bool = True, report: str | None = None) -> dict[str, object]:
        """Schema of `results --json` or `tune --json`. `records`: with every period; a study's document always has its trials."""
        document: dict[str, object] = printed(documents.of(self.outcome, self.content, records=records, report=report))
        return document

    def show(
        self, console: Console, *, everything: bool = False, figures: bool = False, told: Sequence[str] | None = None
    ) -> None:
        """`everything`: every row instead of the first ones. `figures` and `told` are of a study."""
        from seekwise.report import terminal

        if figures and self.content.live is None:
            terminal.print_figures(self.content, console, everything=True)
            console.print()
        everything_shown = self.run.typed(f"seekwise results {self.run.run_id} --all")
        terminal.print_run(self.content, console, everything=everything, told=told, shows_all=everything_shown)

    def pictures(self) -> list[tuple[str, str]]:
        """(name, SVG) of each chart."""
        from seekwise.report import page

        return page.pictures(self.content)

    def write(self, path: Path) -> Path:
        """Whole or not at all; returns the absolute path."""
        from seekwise.report import page

        return page.write_report(path, self.content)
