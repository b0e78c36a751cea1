"""`seekwise watch [RUN]`: a run while it goes on, from another terminal: how far it is, what is in force, how the candidates stand.

Reads the file of records alone, so it disturbs nothing, and ends when the run does.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _display, _options, _output, _shown
from seekwise.cli._progress import WatchedRun, progress, read
from seekwise.store.database import Store
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from rich.live import Live

WAIT_S = 2.0
SILENT_S = 600.0
"""A run without a new record for so long is called silent: killed, or in a very long trial."""


@click.command("watch")
@click.argument("name", default="last", metavar="[RUN]")
@click.option("--once", is_flag=True, help="Print where the run stands now and end.")
@_options.common
def command(name: str, once: bool, db: Path | None, as_json: bool) -> None:
    """Show a running study or `tune` as it goes on.

    Time left, the setting in force, and the standing per use.
    """
    with Store.open(db, create=False) as store:
        run_id = store.run(name).run_id
        if as_json:
            _shown.echo_json(progress(store, run_id))
            return
        with _display.moving(quiet=once, stderr=False) as (_, live):
            if live is not None:
                _on_screen(store, run_id, live)
        if live is None:
            _in_lines(store, run_id, once=once)
            return
        _output.console().print(_picture(progress(store, run_id)))
        click.echo(f"\nnext: seekwise report {run_id}")


def _in_lines(store: Store, run_id: str, *, once: bool) -> None:
    """Where nothing may move: a line whenever something has changed."""
    told, records = "", -1
    while True:
        count = store.count(run_id)[0]
        if count != records or not told:
            records = count
            now = progress(store, run_id)
            if (text := _line(now)) != told:
                click.echo(text)
                told = text
            if once:
                for each in now.standings:
                    click.echo(f"  {each.where}: {each.standing}")
            if once or now.ended:
                return
        else:
            if (ended := read(store, run_id)).ended_at:
                click.echo(f"run {run_id}: {ended.outcome}")
                return
            time.sleep(WAIT_S)


def _line(now: WatchedRun) -> str:
    parts = [f"run {now.run_id}", now.done_text]
    parts += [f"last: {now.last}"] if now.last else []
    parts += [now.outcome] if now.ended else [f"about {time_text(now.left_s)} left"] if now.left_s is not None else []
    return ", ".join(parts)


def _on_screen(store: Store, run_id: str, live: Live) -> None:
    records, now = -1, None
    while now is None or not now.ended:
        count = store.count(run_id)[0]
        # Judging takes a moment: only when there is something new.
        now = progress(store, run_id, None if count != records else now)
        records = count
        live.update(_picture(now), refresh=True)
        if not now.ended:
            time.sleep(WAIT_S)


def _picture(now: WatchedRun):
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    from seekwise.report.layout import plain_table

    parts: list = [Text(f"{now.name} ({now.run_id}), {now.backend}", style="bold"), Text(_line(now))]
    if not now.ended and now.share is not None:
        parts.append(ProgressBar(total=1.0, completed=now.share, width=40))
    if not now.ended and now.silent_s > SILENT_S:
        parts.append(Text(f"no record for {time_text(now.silent_s)}: the run may have been killed", style="yellow"))
    if now.standings:
        rows = ((each.where, each.standing) for each in now.standings)
        parts += [Text(""), plain_table(("Use", "Standing so far"), rows)]
    return Group(*parts)
