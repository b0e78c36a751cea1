"""`seekwise import FILE…`: fio's JSON becomes records that are judged like our own, DiskSim's drives become drive models."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.cli import _options, _shown
from seekwise.errors import SeekwiseError, UsageError
from seekwise.store.database import Store
from seekwise.study import foreign

DRIVES = (".parv", ".diskspecs")


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--name", default="imported", help="Name of the run; default: imported.")
@click.option("--setting", multiple=True, metavar="LABEL", help="What each FILE was measured with, in their order.")
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), help="Folder for drive models; default: this one."
)
@_options.common
def command(
    files: tuple[Path, ...], name: str, setting: tuple[str, ...], output: Path | None, db: Path | None, as_json: bool
) -> None:
    """Read fio's JSON (--output-format=json or json+) as records of one run, or DiskSim's drives as drive models.

    Without --setting a file's setting is its name up to the first dot or dash: none.1.json, none.2.json and
    mq-deadline.1.json are two settings, with two repeats and one.

    A .parv or .diskspecs file of DiskSim becomes the model file ID.toml; the layout and seek files that it names must lie beside it.
    """
    drives = [path for path in files if path.suffix in DRIVES]
    for path in files:
        if path.suffix in (".model", ".seek"):
            raise UsageError(f"{path}: is a part of a drive's description", "name the drive's .parv or .diskspecs file")
    if drives:
        if len(drives) < len(files):
            raise UsageError(
                "fio's JSON and DiskSim's drives cannot be imported together", "import them one after the other"
            )
        _drives(drives, output or Path(), as_json)
        return
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


def _drives(files: list[Path], folder: Path, as_json: bool) -> None:
    """A model file for each drive; all are checked before the first is written."""
    from seekwise import _core
    from seekwise.trace.disksim import drive

    found = [drive.load(path) for path in files]
    for path, model in zip(files, found, strict=True):
        try:
            _core.replay_on_drive(model.toml(), [], [], [], [])
        except ValueError as error:
            raise UsageError(f"{path}: {error}") from None
    written = []
    for model in found:
        target = folder / f"{model.id}.toml"
        if target in written:
            raise UsageError(f"two drives are called {model.id}", "import them into different folders")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            target.write_text(model.toml(), encoding="utf-8")
        except OSError as error:
            raise SeekwiseError(f"{target}: cannot be written: {error.strerror}") from None
        written.append(target)
    if as_json:
        _shown.echo_json(
            {
                "schema": "seekwise.import.drives/1",
                "drives": [
                    {
                        "file": str(path),
                        "id": model.id,
                        "name": model.name,
                        "notes": list(model.notes),
                        "model": str(target),
                    }
                    for path, model, target in zip(files, found, written, strict=True)
                ],
            }
        )
        return
    for model, target in zip(found, written, strict=True):
        click.echo(f"{model.name}: {target}")
        for note in model.notes[1:]:
            click.echo(f"  {note}")
    click.echo(f"\nnext: seekwise drive {written[0]}")
