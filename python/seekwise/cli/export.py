"""`seekwise export [RUN]…`: records as JSON or CSV for other programs, or the study that was run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seekwise.cli import _options
from seekwise.errors import UsageError
from seekwise.store import damage, export
from seekwise.store.database import Store
from seekwise.store.record import Record


@click.command("export")
@click.argument("names", nargs=-1, metavar="[RUN]…")
@click.option(
    "--format", "form", type=click.Choice(["json", "csv", "study"]), default="json", show_default=True, help="Format."
)
@_options.database
def command(names: tuple[str, ...], form: str, db: Path | None) -> None:
    """Print the records of RUN.

    json holds everything; csv has a line per phase, of several runs or of all if none is named; study is the TOML of
    the study that was run.
    """
    if form != "csv" and len(names) != 1:
        raise UsageError("which run?" if not names else "one run at a time", hint="`seekwise results` lists them")
    with Store.open(db, create=False) as store:
        runs = [store.run(name) for name in names] or store.runs()
        if form == "study" and not runs[0].study:
            raise UsageError(
                f"run {runs[0].run_id} is of no study", "`--format json` has its records and what was planned"
            )
        if form == "study":
            click.echo(runs[0].study.rstrip())
        elif form == "json":
            with damage.reading(runs[0].run_id):
                export.write_json(runs[0], store.records(runs[0].run_id), sys.stdout)
        else:
            records: list[Record] = []
            for run in runs:
                with damage.reading(run.run_id):
                    records += store.records(run.run_id)
            export.write_csv(records, sys.stdout)
