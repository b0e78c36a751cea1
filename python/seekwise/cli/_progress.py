"""How far a stored run is, and how its candidates stand so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from seekwise.cli import _live_runs
from seekwise.errors import SeekwiseError
from seekwise.store.database import Run, Store
from seekwise.study.quantity import time_text

SCHEMA = "seekwise.watch/1"
SHOWN_MOST = 14


@dataclass(frozen=True)
class Progress:
    """One look at a run."""

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
    standings: tuple[tuple[str, str], ...]
    """(use and metric, how it stands)."""

    @property
    def done_text(self) -> str:
        if self.total is not None:
            return f"{self.done} of {self.total} trials"
        return f"{self.done} period{'' if self.done == 1 else 's'} in {time_text(self.seconds)}"

    def document(self) -> dict[str, object]:
        found = asdict(self)
        found["standings"] = [{"where": where, "standing": text} for where, text in self.standings]
        return found


def read(store: Store, run_id: str) -> Run:
    """The run as it stands now."""
    return next(run for run in store.runs() if run.run_id == run_id)


def progress(store: Store, run_id: str, before: Progress | None = None) -> Progress:
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
    live = _live_runs.is_live(run.plan)
    if live:
        total, left = None, max(float(run.plan["budget_s"]) - seconds, 0.0)  # type: ignore[arg-type]
        share = min(seconds / max(float(run.plan["budget_s"]), 1e-9), 1.0)  # type: ignore[arg-type]
    else:
        total = len(run.plan.get("trials", []))  # type: ignore[arg-type]
        valid = len({record.trial for record in records if record.valid})
        share = min(valid / total, 1.0) if total else None
        left = seconds * (1 - share) / share if share else None
    newest = records[-1] if records else None
    where = f"{newest.setting}, {newest.factors.get('use') or newest.cell}" if newest else ""
    silent = (datetime.now(UTC) - _moment(newest.started_at)).total_seconds() if newest else seconds
    try:
        standings = (_live(store, run) if live else _study(store, run)) if records else []
    except SeekwiseError:
        standings = []
    return Progress(
        run_id, str(run.plan.get("name") or run.name), run.backend, bool(run.ended_at), run.outcome or "running", len(records), total,
        seconds, None if run.ended_at else left, share, where, max(silent, 0.0), tuple(standings[:SHOWN_MOST]),
    )  # fmt: skip


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _live(store: Store, run: Run) -> list[tuple[str, str]]:
    from seekwise.report import live
    from seekwise.report.answer import best_text, metric_name

    found = live.of(store, run)
    return [(f"{each.use}: {metric_name(each)}", f"best: {best_text(each)}") for each in found.found.judged]


def _study(store: Store, run: Run) -> list[tuple[str, str]]:
    from seekwise.report import outcome
    from seekwise.report.looks import Looks
    from seekwise.report.losses import blocks

    found = []
    for block in blocks(outcome.of(store, run).content, Looks()):
        where = f"{block.system}: {block.operation}" if block.system else block.operation
        rows = [f"{row.look.label} {row.words}" for row in block.rows[:4]]
        found.append((f"{where}, {block.metric}", "; ".join(rows)))
    return found
