"""`seekwise import FILE…`: results of other tools become records like our own."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.cli import _options

FORMAT_NAMES = (
    "gnome-disks",
    "phoronix",
    "yabs",
    "fio-json",
    "fio-text",
    "fio-terse",
    "diskmark",
    "tiobench",
    "tiotest",
    "sysbench",
    "fio-logs",
)
"""Names of `importing.registry.FORMATS`, written out so that `--help` need not load them; a test compares the two."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--name", type=_options.RunName(), default="imported", show_default=True, help="Name of the run.")
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
    """Import results of other tools.

    Reads fio (JSON, terse, normal output, logs), yabs.sh, CrystalDiskMark and KDiskMark, tiotest and tiobench,
    gnome-disks, Phoronix Test Suite and sysbench fileio.

    A file's configuration is --setting, or what the file itself calls it, or its name up to the first dot: none.1.json,
    none.2.json and mq-deadline.1.json are two configurations, with two repeats and one.
    """
    from seekwise import importing
    from seekwise.cli import _shown
    from seekwise.importing.result import parse_given
    from seekwise.report import of_run
    from seekwise.store.database import Store
    from seekwise.workload.study.quantity import counted

    run, records = importing.read(files, name=name, labels=setting, given=parse_given(given), format_name=format_name)
    with Store.open(db) as store:
        store.add_run(run)
        for record in records:
            store.add(record)
        store.end_run(run.run_id, "complete")
        report = of_run.of_runs(store, store.run(run.run_id))
    if as_json:
        _shown.echo_json(report.document())
        return
    click.echo(f"{counted(len(records), 'record')} in run {run.run_id}\n")
    report.show(_shown.out())
    click.echo(f"\nnext: {report.run.typed(f'seekwise results {run.run_id}')}")
