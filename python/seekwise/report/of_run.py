"""A stored run read again, whichever way it was measured. This is the one place that asks which way that was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from seekwise.errors import UsageError
from seekwise.judge.printed import Style
from seekwise.report import answer, live, outcome
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.live_plan import is_live

ROWS_MOST = 4


class Reading(Protocol):
    """What every run tells: its answer, how its settings stand, and its page."""

    @property
    def run(self) -> Run: ...

    @property
    def records(self) -> Sequence[Record]: ...

    def headline(self) -> str:
        """The answer in its first sentences."""
        ...

    def place(self) -> str:
        """What was measured, and on which devices."""
        ...

    def standings(self) -> list[tuple[str, str]]:
        """(use and metric, how it stands)."""
        ...

    def markdown(self) -> str:
        """The report for an issue or a chat."""
        ...

    def write(self, path: Path) -> Path:
        """Writes the page. OSError where that fails."""
        ...

    def write_pictures(self, folder: Path) -> list[Path]:
        """Writes each chart into the folder. OSError where that fails."""
        ...


def of(store: Store, runs: Sequence[Run], style: Style | None = None) -> Reading:
    """One run, or several of one study as one. UsageError where runs of `tune` are among several."""
    if not any(is_live(run.plan) for run in runs):
        found = outcome.of(store, runs[0], style) if len(runs) == 1 else outcome.merged(store, runs, style)
        return OfStudy(found)
    if len(runs) > 1:
        raise UsageError("runs of `tune` cannot be merged", hint="leave out `--merge` to compare them")
    return OfTune(live.of(store, runs[0]))


@dataclass(frozen=True)
class OfStudy:
    """A run of a study."""

    found: outcome.Outcome

    @property
    def run(self) -> Run:
        return self.found.run

    @property
    def records(self) -> Sequence[Record]:
        return self.found.records

    def headline(self) -> str:
        from seekwise.report import page

        return page.sentence(self.found.content.advice.headline)

    def place(self) -> str:
        from seekwise.report import tested

        return tested.devices(self.found.content)

    def standings(self) -> list[tuple[str, str]]:
        from seekwise.report.looks import Looks
        from seekwise.report.losses import blocks

        told = []
        for block in blocks(self.found.content, Looks()):
            where = f"{block.system}: {block.operation}" if block.system else block.operation
            rows = [f"{row.look.label} {row.words}" for row in block.rows[:ROWS_MOST]]
            told.append((f"{where}, {block.metric}", "; ".join(rows)))
        return told

    def markdown(self) -> str:
        from seekwise.report.markdown import of_study

        return of_study(self.found.content)

    def write(self, path: Path) -> Path:
        from seekwise.report import page

        return page.write_report(path, self.found.content)

    def write_pictures(self, folder: Path) -> list[Path]:
        from seekwise.report import page

        return page.write_pictures(folder, self.found.content)


@dataclass(frozen=True)
class OfTune:
    """A run that was switched live."""

    found: live.LiveOutcome

    @property
    def run(self) -> Run:
        return self.found.run

    @property
    def records(self) -> Sequence[Record]:
        return self.found.records

    def headline(self) -> str:
        return answer.headline(self.found)

    def place(self) -> str:
        return f"{self.found.plan.target} on {', '.join(self.found.plan.leaves)}"

    def standings(self) -> list[tuple[str, str]]:
        return [
            (f"{each.use}: {answer.metric_name(each)}", f"best: {answer.best_text(each)}")
            for each in self.found.found.judged
        ]

    def markdown(self) -> str:
        from seekwise.report.markdown import of_live

        return of_live(self.found)

    def write(self, path: Path) -> Path:
        from seekwise.report import live_page

        return live_page.write(path, self.found)

    def write_pictures(self, folder: Path) -> list[Path]:
        from seekwise.report import live_page

        return live_page.write_pictures(folder, self.found)
