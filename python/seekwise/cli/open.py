"""`seekwise open [RUN]`: the report of a run in a browser, where there is one."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from seekwise.cli import _options, _shown
from seekwise.cli.report import made
from seekwise.store.database import Store

SCHEMA = "seekwise.open/1"


@click.command("open")
@click.argument("name", default="last", metavar="[RUN]")
@_options.common
def command(name: str, db: Path | None, as_json: bool) -> None:
    """Show the report of RUN in a browser.

    RUN is the newest by default. The path is printed where no browser can be started.
    """
    from seekwise.cli import _report_page

    with Store.open(db, create=False) as store:
        run = store.run(name)
        path = _report_page.write(store, run, made(folder()) / f"seekwise-{run.run_id}.html")
    why_not = no_browser()
    opened = why_not is None and webbrowser.open(path.as_uri())
    if as_json:
        _shown.echo_json({"schema": SCHEMA, "run_id": run.run_id, "report": str(path), "opened": opened})
        return
    if not opened:
        click.echo(
            f"note: {why_not or 'the browser did not start'}; copy the file to a machine with a browser", err=True
        )
    click.echo(path)


def folder() -> Path:
    """Pages that only `open` needs: `$XDG_CACHE_HOME/seekwise/reports`, by default below `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    cache = Path(home) if home and os.path.isabs(home) else Path.home() / ".cache"
    return cache / "seekwise" / "reports"


def no_browser() -> str | None:
    """Why no browser can be started here; None if one can."""
    if os.environ.get("BROWSER"):
        return None
    if os.geteuid() == 0:
        return "a browser is not started as root"
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "this session has no display"
    try:
        webbrowser.get()
    except webbrowser.Error:
        return "no browser is installed"
    return None
