"""The page of any run at a path, judged again from its records."""

from __future__ import annotations

from pathlib import Path

from seekwise.cli import _live_runs, _shown
from seekwise.errors import SeekwiseError
from seekwise.store.database import Run, Store


def write(store: Store, run: Run, path: Path) -> Path:
    """Writes the page of a live-switched run or of a study; SeekwiseError where it has no record."""
    if _live_runs.is_live(run.plan):
        from seekwise.report import live

        found = live.of(store, run)
        _must_have_records(run, found.records)
        from seekwise.report import live_page

        return live_page.write(path, found).absolute()
    from seekwise.report import outcome

    judged = outcome.of(store, run)
    _must_have_records(run, judged.records)
    return _shown.write_report_as(judged, path)


def _must_have_records(run: Run, records: list) -> None:
    if not records:
        raise SeekwiseError(
            f"run {run.run_id} has no records, so there is nothing to show", hint="`seekwise results` lists the runs"
        )
