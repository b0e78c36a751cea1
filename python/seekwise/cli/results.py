"""`seekwise results [RUN]`: the runs on file, or what came out of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _options, _shown
from seekwise.errors import UsageError
from seekwise.store.database import Store


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
@click.option("--all", "everything", is_flag=True, help="Show every table, insight, outlier and the self-check.")
@_options.common
def command(
    names: tuple[str, ...],
    figures: bool,
    everything: bool,
    db: Path | None,
    as_json: bool,
) -> None:
    """List the runs, or show the verdicts and advice of RUN.

    `last` names the newest run. Several runs of one study are merged: after rebuilding an array, changing a card or switching NCQ.
    """
    with Store.open(db, create=False) as store:
        if not names:
            _list(store, as_json)
            return
        from seekwise.report import of_run
        from seekwise.report.layout import WIDTH, wrapped

        chosen = [store.run(name) for name in names]
        found = of_run.of(store, *chosen, brief=not (as_json or figures))
        if as_json:
            _shown.echo_json(found.document())
            return
        of_tune = isinstance(found, of_run.TuneReport)
        if of_tune and figures:
            raise UsageError(
                f"run {found.run.run_id} of `tune` has its figures in its table", "`--all` shows every row"
            )
        head = wrapped(found.title, min(_shown.out().width, WIDTH))
        click.echo("\n".join([*head, ""]))
        found.show(_shown.out(), everything=everything, figures=figures, above=len(head))
        is_last = found.run.run_id == store.run("last").run_id
        sets = found.sets("last" if is_last else found.run.run_id) if len(chosen) == 1 else None
    # An answer of `tune` fills the screen.
    space = "" if of_tune else "\n"
    click.echo(f"{space}next: {sets or 'seekwise report ' + ' '.join(run.run_id for run in chosen)}")


def _list(store: Store, as_json: bool) -> None:
    runs = store.runs()
    for sentence in store.damage:
        click.echo(f"warning: {sentence}", err=True)
    rows = [(each, *store.count(each.run_id)) for each in runs]
    if as_json:
        listed = [
            ListedRun(each.run_id, each.created_at, each.name, each.backend, each.target, count, valid, each.outcome)
            for each, count, valid in rows
        ]
        _shown.echo_json(RunList(listed))
        return
    from seekwise.report.layout import plain_table

    shown = (
        [
            each.run_id,
            each.name,
            each.backend,
            each.target or "",
            f"{count}" if count == valid else f"{count} ({count - valid} invalid)",
            each.outcome or "unfinished",
        ]
        for each, count, valid in rows
    )
    _shown.out().print(plain_table(("Run", "Study", "Backend", "Target", "Records", "Outcome"), shown))
    click.echo("\nnext: seekwise results last")
