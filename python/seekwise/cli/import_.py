"""`seekwise import FILE…`: results of other tools and hosts become records like our own."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.cli import _fleet, _options
from seekwise.errors import UsageError
from seekwise.workload.study.quantity import counted

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
"""Names of `measure.foreign.registry.FORMATS`, written out so that `--help` need not load them; a test compares the two."""

BUNDLE = ".bundle"
ZSTANDARD = b"\x28\xb5\x2f\xfd"
"""How a compressed file begins (RFC 8878, section 3.1.1)."""


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
@_options.common
def command(
    files: tuple[Path, ...],
    name: str,
    setting: tuple[str, ...],
    given: tuple[str, ...],
    format_name: str | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Import results of other tools, or bundles of hosts.

    FILE.bundle, which `seekwise export --bundle` makes on a host, keeps its runs; several hosts' are pooled.

    Reads fio (JSON, terse, logs), tiotest and tiobench, gnome-disks, Phoronix Test Suite and sysbench fileio.

    A file's configuration is --setting, or what the file itself calls it, or its name up to the first dot: none.1.json,
    none.2.json and mq-deadline.1.json are two configurations, with two repeats and one.
    """
    for path in files:
        if path.is_dir() and (found := sorted(path.glob(f"*{BUNDLE}"))):
            raise UsageError(
                f"{path} is a folder, with {counted(len(found), 'bundle')} in it",
                hint=f"name the files: seekwise import {path}/*{BUNDLE}",
            )
    bundles = [path for path in files if path.suffix == BUNDLE or _begins_as_bundle(path)]
    if bundles:
        if len(bundles) < len(files):
            raise UsageError("bundles and other files cannot be imported together", "import them one after the other")
        if name != "imported" or setting or given or format_name:
            raise UsageError(
                "a bundle says itself what it holds, so it goes with no other option than `--db` and `--json`"
            )
        _fleet.import_bundles(bundles, db, as_json)
        return
    from seekwise.cli import _shown
    from seekwise.measure import foreign
    from seekwise.measure.foreign.result import parse_given
    from seekwise.report import of_run
    from seekwise.store.database import Store

    run, records = foreign.read(files, name=name, labels=setting, given=parse_given(given), format_name=format_name)
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


def _begins_as_bundle(path: Path) -> bool:
    """Whether a file of another name is compressed as bundles are, which no other format here is."""
    if not path.is_file():
        return False  # a pipe would be waited for
    try:
        with path.open("rb") as file:
            return file.read(len(ZSTANDARD)) == ZSTANDARD
    except OSError:
        return False  # the reader of the file says what is wrong with it
