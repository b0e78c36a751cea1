"""`seekwise results [RUN]`: the runs on file, or what came out of one."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise import invocation
from seekwise.cli import _options, _output, _shown
from seekwise.control.settings import NOT_RESTORED
from seekwise.errors import UsageError
from seekwise.store import damage
from seekwise.store.database import Run, Store
from seekwise.workload.study.quantity import counted


@dataclass(frozen=True)
class ListedRun:
    """A run in the results database."""

    run_id: str
    created_at: str
    study: str
    backend: str
    target: str | None
    records: int
    valid: int
    outcome: str | None


@dataclass(frozen=True)
class RunList:
    """`results --json`: the runs in the results database."""

    SCHEMA: ClassVar = "seekwise.runs/1"

    runs: list[ListedRun]


@click.command("results")
@click.argument("names", nargs=-1, metavar="[RUN]…")
@click.option("--figures", is_flag=True, help="Show every rate, access time and CPU efficiency.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every table, insight, outlier and the self-check; without RUN, every run.",
)
@_options.common
def command(names: tuple[str, ...], figures: bool, everything: bool, db: Path | None, as_json: bool) -> None:
    """List the newest runs, or show the verdicts and advice of RUN.

    `last` names the newest run. Several runs of one study are merged: after rebuilding an array, changing a card or
    switching NCQ.
    """
    with Store.open(db, create=False) as store:
        if not names:
            _list(store, everything, as_json)
            return
        from seekwise.report import of_run
        from seekwise.report.layout import WIDTH, wrapped

        chosen = [store.run(name) for name in names]
        report = of_run.of_runs(store, *chosen, brief=not (as_json or figures))
        with damage.reading(report.run.run_id):
            if as_json:
                _shown.echo_json(report.document())
                return
            of_tune = not report.run.is_of_study
            if of_tune and figures:
                raise UsageError(
                    f"run {report.run.run_id} of `tune` has its figures in its table", "`--all` shows every row"
                )
            head = wrapped(report.title, min(_shown.out().width, WIDTH))
            # An answer of `tune` fills the screen.
            click.echo("\n".join([*head, *([""] if len(head) == 1 or not of_tune else [])]))
            report.show(_shown.out(), everything=everything, figures=figures)
            is_last = report.run.run_id == store.run("last").run_id
            sets = report.sets("last" if is_last else report.run.run_id) if len(chosen) == 1 else None
    space = "" if of_tune else "\n"
    click.echo(f"{space}next: {sets or report.run.typed('seekwise report ' + ' '.join(run.run_id for run in chosen))}")


def _list(store: Store, everything: bool, as_json: bool) -> None:
    runs = store.runs()
    for sentence in store.damage:
        click.echo(f"warning: {sentence}", err=True)
    if as_json:
        rows = [(run, *store.count(run.run_id)) for run in runs]
        listed = [
            ListedRun(run.run_id, run.created_at, run.name, run.backend, run.target, count, valid, run.outcome)
            for run, count, valid in rows
        ]
        _shown.echo_json(RunList(listed))
        return
    from seekwise.report.layout import WIDTH, print_lines

    out = _shown.out()
    from seekwise.cli import main

    # With an empty journal they were restored since, or given up: then they are runs like others.
    not_restored = [run for run in reversed(runs) if _is_not_restored(run)] if main.something_left() else []
    others = [run for run in reversed(runs) if run not in not_restored]
    newest = others if everything else others[:NEWEST]
    shown = [*not_restored, *newest]
    if not_restored:
        what = f"`{invocation.line('sudo seekwise revert')}` tries again."
        print_lines([f"Not everything was restored after {counted(len(not_restored), 'run')}. {what}", ""], out)
    table = [
        ("Run", "Study", "Where", "Trials", "Outcome"),
        *((run.run_id, run.name, run.target or run.backend, _trials(store, run), outcome(run)) for run in shown),
    ]
    safe = [[_output.safe_line(cell) for cell in row] for row in table]
    for line in one_line_each(safe, max(out.width if sys.stdout.isatty() else WIDTH, WIDTH)):
        click.echo(line)
    if left := len(others) - len(newest):
        click.echo(f"\n--all for {left} more")
    click.echo(
        f"\nnext: {runs[-1].typed('seekwise results last') if runs else invocation.line('sudo seekwise tune .')}"
    )


NEWEST = 12
GAP = 2
LEAST = {1: 10, 2: 12, 4: 20}
"""Columns that give way, to this width; a run's id is never cut."""
EXCEPTION = re.compile(r"failed: ([A-Z]\w+)\(")
"""A fault of the program's own, as `store.ending` writes it down."""


def _is_not_restored(run: Run) -> bool:
    return run.outcome is not None and run.outcome.startswith(f"failed: {NOT_RESTORED}")


def _trials(store: Store, run: Run) -> str:
    count, valid = store.count(run.run_id)
    return f"{count}" if count == valid else f"{valid} of {count}"


def outcome(run: Run) -> str:
    """How the run ended, in a few words: the whole sentence is shown by `results RUN`."""
    if _is_not_restored(run):
        return "NOT RESTORED"
    text = run.outcome or "unfinished"
    if match := EXCEPTION.match(text):
        return f"fault ({match[1]})"
    return " ".join(text.split())


def one_line_each(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The rows in columns of at most `width` together: what is too long ends with an ellipsis, the widest column
    first."""
    sizes = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    while sum(sizes) + GAP * (len(sizes) - 1) > width:
        widest = max((i for i in LEAST if sizes[i] > LEAST[i]), key=lambda i: sizes[i] - LEAST[i], default=None)
        if widest is None:
            break
        sizes[widest] -= 1
    cells = (
        [text if len(text) <= size else f"{text[: size - 1]}…" for text, size in zip(row, sizes, strict=True)]
        for row in rows
    )
    return [(" " * GAP).join(text.ljust(size) for text, size in zip(row, sizes, strict=True)).rstrip() for row in cells]
