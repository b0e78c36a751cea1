"""`seekwise import FILE…`: results of other tools become records like our own, DiskSim's drives become drive models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _options
from seekwise.errors import SeekwiseError, UsageError
from seekwise.files import make_folders, write_product

FORMAT_NAMES = (
    "gnome-disks",
    "phoronix",
    "fio-json",
    "fio-terse",
    "tiobench",
    "tiotest",
    "sysbench",
    "fio-logs",
)
"""Names of `importing.registry.FORMATS`, written out so that `--help` need not load them; a test compares the two."""

DRIVES = (".parv", ".diskspecs")


@dataclass(frozen=True)
class ImportedDrive:
    """A drive model made from DiskSim's parameters."""

    file: Path
    id: str
    name: str
    notes: Sequence[str]
    model: Path
    """The model file."""


@dataclass(frozen=True)
class ImportDrives:
    """`import FILE.parv --json`."""

    SCHEMA: ClassVar = "seekwise.import.drives/1"

    drives: list[ImportedDrive]


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--name", default="imported", show_default=True, help="Name of the run.")
@click.option(
    "--setting", multiple=True, metavar="LABEL", help="Configuration that each FILE was measured with, in order."
)
@click.option(
    "--given",
    multiple=True,
    metavar="KEY=VALUE",
    help="A fact that the files lack: threads, block, iodepth, operation, processors, numruns, random-operations, tool-version.",
)
@click.option(
    "--format", "format_name", type=click.Choice(FORMAT_NAMES), help="Format of every FILE; default: recognised."
)
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), help="Folder for drive models; default: this one."
)
@_options.common
def command(
    files: tuple[Path, ...],
    name: str,
    setting: tuple[str, ...],
    given: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Import results of other tools.

    Reads fio (JSON, terse, logs), tiotest and tiobench, gnome-disks, Phoronix Test Suite and sysbench fileio.

    A file's configuration is --setting, or what the file itself calls it, or its name up to the first dot: none.1.json,
    none.2.json and mq-deadline.1.json are two configurations, with two repeats and one.

    A .parv or .diskspecs file of DiskSim becomes the model file ID.toml; the layout and seek files that it names must lie beside it.
    """
    if drives := _of_disksim(files):
        _drives(drives, output or Path(), as_json)
        return
    from seekwise import importing
    from seekwise.cli import _shown
    from seekwise.importing.result import parse_given
    from seekwise.report import of_run
    from seekwise.store.database import Store

    run, records = importing.read(files, name=name, labels=setting, given=parse_given(given), format_name=format_name)
    with Store.open(db) as store:
        store.add_run(run)
        for record in records:
            store.add(record)
        store.end_run(run.run_id, "complete")
        found = of_run.of(store, store.run(run.run_id))
    if as_json:
        _shown.echo_json(found.document())
        return
    click.echo(f"{len(records)} records in run {run.run_id}\n")
    found.show(_shown.out())
    click.echo(f"\nnext: seekwise results {run.run_id}")


def _of_disksim(files: Sequence[Path]) -> list[Path]:
    """The files that describe drives: all of them or none."""
    drives = [path for path in files if path.suffix in DRIVES]
    for path in files:
        if path.suffix in (".model", ".seek"):
            raise UsageError(f"{path}: is a part of a drive's description", "name the drive's .parv or .diskspecs file")
    if drives and len(drives) < len(files):
        hint = "import them one after the other"
        raise UsageError("fio's JSON and DiskSim's drives cannot be imported together", hint)
    return drives


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
            make_folders(folder)
            write_product(target, model.toml())
        except OSError as error:
            raise SeekwiseError(f"{target}: cannot be written: {error.strerror}") from None
        written.append(target)
    if as_json:
        from seekwise.cli import _shown

        listed = [
            ImportedDrive(path, model.id, model.name, model.notes, target)
            for path, model, target in zip(files, found, written, strict=True)
        ]
        _shown.echo_json(ImportDrives(listed))
        return
    for model, target in zip(found, written, strict=True):
        click.echo(f"{model.name}: {target}")
        for note in model.notes[1:]:
            click.echo(f"  {note}")
    click.echo(f"\nnext: seekwise drive {written[0]}")
