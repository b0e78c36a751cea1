"""How far a stored run is, and how its candidates stand so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

from seekwise.errors import SeekwiseError
from seekwise.store.database import Run, Store
from seekwise.workload.study.quantity import counted, time_text

SHOWN_MOST = 14


@dataclass(frozen=True)
class UseProgress:
    """How one metric of one use stands."""

    where: str
    standing: str


@dataclass(frozen=True)
class WatchedRun:
    """`watch --json`: one look at a run."""

    SCHEMA: ClassVar = "seekwise.watch/1"

    run_id: str
    name: str
    backend: str
    ended: bool
    outcome: str
    done: int
    """Records so far."""
    total: int | None
    """Trials planned; null where time is the bound."""
    seconds: float
    left_s: float | None
    share: float | None
    """Of the plan or of the budget."""
    last: str
    """The setting and use (or load) of the newest record."""
    silent_s: float
    """Seconds since the newest record."""
    standings: tuple[UseProgress, ...]

    @property
    def done_text(self) -> str:
        """`12 of 40 trials`, or periods and time where time is the bound."""
        if self.total is not None:
            return f"{self.done} of {self.total} trials"
        return f"{counted(self.done, 'period')} in {time_text(self.seconds)}"


def read(store: Store, run_id: str) -> Run:
    """The run as it stands now."""
    return next(run for run in store.runs() if run.run_id == run_id)


def progress(store: Store, run_id: str, before: WatchedRun | None = None) -> WatchedRun:
    """A look; with `before` only the clock goes on."""
    run = read(store, run_id)
    began = _moment(run.created_at)
    end = _moment(run.ended_at) if run.ended_at else datetime.now(UTC)
    seconds = max((end - began).total_seconds(), 0.0)
    if before is not None and not run.ended_at:
        gone = seconds - before.seconds
        left = None if before.left_s is None else max(before.left_s - gone, 0.0)
        return replace(before, seconds=seconds, left_s=left, silent_s=before.silent_s + gone)
    records = list(store.records(run_id))
    budget_s = None if "trials" in run.plan else run.plan.get("budget_s")
    if isinstance(budget_s, int | float):
        total, left = None, max(budget_s - seconds, 0.0)
        share = min(seconds / max(budget_s, 1e-9), 1.0)
    else:
        total = len(run.plan.get("trials", []))  # type: ignore[arg-type]
        valid = len({record.trial for record in records if record.valid})
        share = min(valid / total, 1.0) if total else None
        left = seconds * (1 - share) / share if share else None
    newest = records[-1] if records else None
    where = f"{newest.setting}, {newest.factors.get('use') or newest.combination}" if newest else ""
    silent = (datetime.now(UTC) - _moment(newest.started_at)).total_seconds() if newest else seconds
    from seekwise.report import of_run

    try:
        standings = of_run.of(store, run).standings() if records else []
    except SeekwiseError:
        standings = []
    return WatchedRun(
        run_id, str(run.plan.get("name") or run.name), run.backend, bool(run.ended_at), run.outcome or "running", len(records), total,
        seconds, None if run.ended_at else left, share, where, max(silent, 0.0), tuple(UseProgress(*each) for each in standings[:SHOWN_MOST]),
    )  # fmt: skip


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
