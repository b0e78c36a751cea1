"""The page of any run at a path, made again from its records."""

from __future__ import annotations

from pathlib import Path

from seekwise.cli import _shown
from seekwise.errors import SeekwiseError
from seekwise.store.database import Run, Store


def write(store: Store, run: Run, path: Path) -> Path:
    """Writes the page of a run; SeekwiseError where it has no record."""
    from seekwise.report import of_run

    found = of_run.of(store, run)
    if not found.records:
        raise SeekwiseError(
            f"run {run.run_id} has no records, so there is nothing to show", hint="`seekwise results` lists the runs"
        )
    return _shown.write_page(found, path).absolute()
