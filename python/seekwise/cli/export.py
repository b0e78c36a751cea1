"""`seekwise export [RUN]…`: records as JSON, CSV or Parquet, a study, or a host's runs as one file for a fleet."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seekwise.cli import _options
from seekwise.errors import UsageError
from seekwise.store import damage, export
from seekwise.store.database import Run, Store
from seekwise.workload.study.quantity import counted


@click.command("export")
@click.argument("names", nargs=-1, metavar="[RUN]…")
@click.option("--format", "form", type=click.Choice(["json", "csv", "study"]), help="Default: json.")
@click.option(
    "--bundle", is_flag=True, help="Write this host's measured runs, or RUN…, into one file for `seekwise import`."
)
@click.option("--parquet", is_flag=True, help="Write every run, or RUN…, as Parquet for Dask, DuckDB and pandas.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of --bundle or --parquet; default: HOST.bundle or seekwise.parquet.",
)
@_options.database
def command(
    names: tuple[str, ...], form: str | None, bundle: bool, parquet: bool, output: Path | None, db: Path | None
) -> None:
    """Print the records of RUN, or write many runs into a file.

    json holds everything; csv has a line per phase; study is the TOML of the study that was run.
    """
    to_file = bundle or parquet
    if bundle and parquet:
        raise UsageError("`--bundle` and `--parquet` are two files", hint="export one after the other")
    if to_file and form is not None:
        raise UsageError(f"`--format {form}` is printed, so it goes with neither `--bundle` nor `--parquet`")
    if output is not None and str(output) == "-":
        raise UsageError("a bundle or Parquet file cannot be printed", hint="name a file: `--output FILE`")
    if output is not None and not to_file:
        raise UsageError("`--output` goes with `--bundle` or `--parquet`", hint="redirect what is printed: `… > FILE`")
    if not to_file and len(names) != 1:
        raise UsageError("which run?" if not names else "one run at a time", hint="`seekwise results` lists them")
    with Store.open(db, create=False) as store:
        if to_file:
            _to_file(store, names, bundle, output)
            return
        found = store.run(names[0])
        if form == "study":
            click.echo(found.study.rstrip())
            return
        writer = export.write_csv if form == "csv" else export.write_json
        with damage.reading(found.run_id):
            writer(found, store.records(found.run_id), sys.stdout)


def _to_file(store: Store, names: tuple[str, ...], bundle: bool, output: Path | None) -> None:
    import platform

    from seekwise.cli import _output

    runs = [store.run(name) for name in names] or [
        run for run in store.runs() if not bundle or _is_measured(store, run)
    ]
    if not runs:
        raise UsageError(f"{store.path} has no measured run", hint="`seekwise tune PATH` measures")
    if not bundle:
        from seekwise.report.fleet import parquet

        parquet.arrow()
        path = output or Path("seekwise.parquet")
        count = parquet.write(path, (store.records(run.run_id) for run in runs))
        click.echo(f"{count} rows of {counted(len(runs), 'run')}: {path}")
        click.echo(f"\nnext: seekwise results {path}")
        return
    from seekwise.report.fleet import bundle as bundles

    host = platform.node() or "host"
    path = output or Path(f"{_output.safe_line(host).replace('/', '_')}{bundles.SUFFIX}")
    count_runs, count = bundles.write(path, host, ((run, store.records(run.run_id)) for run in runs))
    click.echo(f"{count} records of {counted(count_runs, 'run')}: {path}")
    click.echo(f"\nnext: seekwise import {path}")


def _is_measured(store: Store, run: Run) -> bool:
    return any(record.provenance == "measured" for record in store.records(run.run_id))
