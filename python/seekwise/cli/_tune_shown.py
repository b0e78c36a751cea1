"""What `tune` prints of a plan and of a stored run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _output
from seekwise.errors import SeekwiseError
from seekwise.store.database import Store

if TYPE_CHECKING:
    from seekwise.store.database import Run
    from seekwise.workload.live_plan import LivePlan


def print_stack(plan: LivePlan) -> None:
    """The storage below the target and its warnings, on standard error."""
    for line in plan.stack:
        _output.to_person(line)
    for warning in plan.warnings:
        _output.to_person(f"warning: {warning}")


@contextlib.contextmanager
def interruptible(store: Store, run: Run) -> Iterator[None]:
    """Says what an interrupted run leaves: settings as before, and what was measured until then."""
    try:
        yield
    except KeyboardInterrupt:
        results = run.typed(f"seekwise results {run.run_id}")
        kept = f"`{results}` shows what was measured" if store.count(run.run_id)[0] else "nothing was measured yet"
        with contextlib.suppress(OSError):  # a terminal that was closed
            _output.to_person(f"interrupted; settings are as before; {kept}")
        raise


def show(store: Store, run_id: str, *, as_json: bool, began_s: float) -> None:
    """The answer of a stored run, and its report beside the working folder. `began_s`: of the monotonic clock."""
    from seekwise.cli import _shown
    from seekwise.judge import outcome
    from seekwise.report import of_run, tune_answer

    stored = outcome.of_runs(store, store.run(run_id))
    assert isinstance(stored, outcome.LiveOutcome)
    judged = replace(stored, seconds=time.monotonic() - began_s)
    if not judged.records:
        raise SeekwiseError("nothing was measured: the command did not run once", hint="a longer --budget")
    report = of_run.Report(judged)
    _shown.write_page(report, path := Path(_shown.page_name(run_id)))
    if as_json:
        _shown.echo_json(report.document(records=False, report=str(path)))
        return
    report.show(_shown.out())
    click.echo(f"page: {path}")
    click.echo(f"next: {tune_answer.next_command(judged)}")
