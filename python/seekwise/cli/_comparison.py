"""What `report RUN RUN`, `report --index` read from the store: pairings of runs and the list of all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from seekwise.errors import SeekwiseError
from seekwise.store import damage
from seekwise.store.database import IMPORTED, Run, Store

if TYPE_CHECKING:
    from seekwise.report.comparison import Pairing
    from seekwise.report.index_page import IndexRow

JUDGED_MOST = 40
"""Newest runs whose decision and change the index tells: each takes a second or two to judge."""


def pairing(store: Store, base: Run, new: Run) -> Pairing:
    """One run against another, by the rule of `seekwise compare`."""
    from seekwise.report import paired

    return paired.of(store, paired.after_earlier(store, base, new))


def index(store: Store, folder: Path) -> list[IndexRow]:
    """All runs, the newest first."""
    runs = store.runs()
    found = []
    for number, run in enumerate(reversed(runs)):
        earlier = [each for each in runs if each.created_at < run.created_at and _alike(each, run)]
        found.append(_entry(store, run, earlier[-1] if earlier else None, folder, judge=number < JUDGED_MOST))
    return found


def _alike(a: Run, b: Run) -> bool:
    """Whether one may be the other's run before: the same study or `tune` on the same target."""
    if not (a.is_of_study and b.is_of_study):
        return a.is_of_study == b.is_of_study and a.target == b.target
    return (a.study_name, a.backend, a.target) == (b.study_name, b.backend, b.target) and a.backend != IMPORTED


def _entry(store: Store, run: Run, before: Run | None, folder: Path, *, judge: bool) -> IndexRow:
    from seekwise.report.index_page import IndexRow

    count, valid = store.count(run.run_id)
    decision, device = _decision(store, run) if judge and count else ("", run.target or "")
    since, regressions = _since(store, before, run) if judge and before is not None and valid else ("", 0)
    page = f"seekwise-{run.run_id}.html"
    return IndexRow(
        run.run_id,
        run.created_at[:16].replace("T", " "),
        str(run.plan.get("name") or run.name),
        run.backend,
        device,
        count,
        count - valid,
        run.outcome or "unfinished",
        decision,
        since,
        regressions,
        page if (folder / page).is_file() else "",
    )


def _decision(store: Store, run: Run) -> tuple[str, str]:
    """(headline, device)"""
    try:
        # One bad run must not spoil the list of the others.
        with damage.reading(run.run_id):
            return _judged_decision(store, run)
    except SeekwiseError as error:
        return f"Cannot be read: {error.message}", run.target or ""


def _judged_decision(store: Store, run: Run) -> tuple[str, str]:
    from seekwise.report import of_run

    found = of_run.of(store, run)
    return found.headline(), found.place()


def _since(store: Store, before: Run, run: Run) -> tuple[str, int]:
    try:
        with damage.reading(run.run_id):
            found = pairing(store, before, run)
    except SeekwiseError:
        return "", 0
    worse, better, once = (len(found.of(outcome)) for outcome in ("regression", "improvement", "unconfirmed"))
    parts = [
        f"{count} {word}" for count, word in ((worse, "worse"), (better, "better"), (once, "not confirmed")) if count
    ]
    return f"{', '.join(parts) or 'no difference shown'} (run {before.run_id})", worse
