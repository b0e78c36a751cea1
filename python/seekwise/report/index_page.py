"""The page of all runs: a row each, searchable, with what each one decided and whether it got worse since the run before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seekwise.report import site
from seekwise.report.markdown import table


@dataclass(frozen=True)
class IndexRow:
    """One run."""

    run_id: str
    date: str
    name: str
    backend: str
    device: str
    records: int
    discarded: int
    outcome: str
    decision: str
    """One sentence; empty where it was not judged again."""
    since: str
    """`2 regressions since RUN`, `no change since RUN`; empty without an earlier one."""
    regressions: int
    page: str
    """Name of its page beside the index; empty where there is none."""


def write(path: Path, entries: Sequence[IndexRow], source: str, damage: Sequence[str] = ()) -> Path:
    """Writes the page whole or not at all."""
    return site.write(path, html(entries, source, damage))


def html(entries: Sequence[IndexRow], source: str, damage: Sequence[str] = ()) -> str:
    """The page as text, the newest run first."""
    regressed = [each for each in entries if each.regressions]
    return site.render("index.html", entries=entries, regressed=regressed, source=source, damage=damage)


def markdown(entries: Sequence[IndexRow]) -> str:
    """The list as a table."""
    rows = ([e.date, e.run_id, e.name, e.device, e.records, e.outcome, e.decision, e.since] for e in entries)
    return "\n".join(table(["Date", "Run", "Study", "Device", "Records", "State", "Decision", "Change"], rows)).rstrip()
