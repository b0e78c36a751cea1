"""`seekwise export RUN`: its records as JSON or CSV, or its study, for other programs and other machines."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seekwise.store import export
from seekwise.store.database import Store


@click.command("export")
@click.argument("run", metavar="RUN")
@click.option("--format", "form", type=click.Choice(["json", "csv", "study"]), default="json", help="Default: json.")
@click.option("--db", type=click.Path(path_type=Path, dir_okay=False), help="File of records instead of the usual one.")
def command(run: str, form: str, db: Path | None) -> None:
    """Print the records of RUN.

    json holds everything; csv has a line per phase; study is the TOML of the study that was run.
    """
    with Store.open(db, create=False) as store:
        found = store.run(run)
        if form == "study":
            click.echo(found.study.rstrip())
            return
        writer = export.write_json if form == "json" else export.write_csv
        writer(found, store.records(found.run_id), sys.stdout)
