"""`seekwise import FILE…`: fio's JSON from elsewhere becomes records that are judged like our own."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.cli import _options, _shown
from seekwise.store.database import Store
from seekwise.study import foreign


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--name", default="imported", help="Name of the run; default: imported.")
@click.option("--setting", multiple=True, metavar="LABEL", help="What each FILE was measured with, in their order.")
@_options.common
def command(files: tuple[Path, ...], name: str, setting: tuple[str, ...], db: Path | None, as_json: bool) -> None:
    """Read fio's JSON (--output-format=json or json+) as records of one run.

    Without --setting a file's setting is its name up to the first dot or dash: none.1.json, none.2.json and
    mq-deadline.1.json are two settings, with two repeats and one.
    """
    from seekwise.analysis import outcome

    run, records = foreign.read(files, name=name, labels=setting)
    with Store.open(db) as store:
        store.add_run(run)
        for record in records:
            store.add(record)
        store.end_run(run.run_id, "complete")
        found = outcome.of(store, store.run(run.run_id))
    if as_json:
        _shown.echo_json(_shown.results_document(found))
        return
    click.echo(f"{len(records)} records in run {run.run_id}\n")
    _shown.print_outcome(found)
    click.echo(f"\nnext: seekwise results {run.run_id}")
