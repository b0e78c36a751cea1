"""`seekwise report RUN…`: the page of a run again, judged afresh from its records; of two, their comparison."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _options, _shown
from seekwise.errors import SeekwiseError, UsageError, reason
from seekwise.files import make_folders, write_product
from seekwise.store import damage
from seekwise.store.database import Run, Store


@dataclass(frozen=True)
class WrittenReport:
    """`report --json`: the files that were written."""

    SCHEMA: ClassVar = "seekwise.report/1"

    run_id: str | None
    """Null for a page of several runs."""
    runs: list[str]
    """All that the page shows."""
    report: Path
    pictures: list[Path]


@click.command("report")
@click.argument("names", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Folder for the page, or its name if it ends in .html; .md: what, why, risk and undo, to hand in with a change. Default: here.",
)
@click.option(
    "--pictures", type=click.Path(path_type=Path, file_okay=False), help="Write each chart as SVG into this folder too."
)
@click.option("--merge", is_flag=True, help="Treat several runs of one study as one run instead of comparing them.")
@_options.common
def command(
    names: tuple[str, ...], output: Path, pictures: Path | None, merge: bool, db: Path | None, as_json: bool
) -> None:
    """Write the report of RUN (or `last`) as one HTML file.

    Its path is the last line. Two runs are compared on one page; those that tested different systems of one study are
    merged.
    """
    if len(set(names)) < len(names):
        raise UsageError("a run is named twice", hint="each run counts once")
    with Store.open(db, create=False) as store:
        chosen = [store.run(name) for name in names]
        is_comparison = len(chosen) > 1 and not (merge or _are_parts(chosen))
        document = (_comparison if is_comparison else _page)(store, chosen, output, pictures)
    if as_json:
        _shown.echo_json(document)
        return
    for path in (*document.pictures, document.report):
        click.echo(path)


def _are_parts(runs: list[Run]) -> bool:
    """Runs of one study and backend that share no system: made after rebuilding an array or changing a card."""
    if len({(run.study_name, run.backend) for run in runs}) > 1:
        return False
    names = [{facts["name"] for facts in run.plan.get("systems", [])} for run in runs]
    return all(names) and sum(len(name) for name in names) == len(set().union(*names))


def _page(store: Store, runs: list[Run], output: Path, pictures: Path | None) -> WrittenReport:
    """Writes the page of a run."""
    from seekwise.report import change_request, of_run
    from seekwise.report.charts import files

    report = of_run.of_runs(store, *runs)
    run_id = report.run.run_id
    if not report.records:
        raise SeekwiseError(
            f"run {run_id} has no records, so there is nothing to show", "`seekwise results` lists the runs"
        )
    with damage.reading(run_id):
        if output.suffix.lower() == ".md":
            path = folder_made(output.parent) / output.name
            write_product(path, change_request.text(report))
            return WrittenReport(run_id, [run.run_id for run in runs], path.absolute(), [])
        try:
            written = files.write_all(folder_made(pictures), report.pictures()) if pictures is not None else []
        except OSError as error:
            raise SeekwiseError(f"cannot write pictures to {pictures}: {reason(error)}") from error
        path = _shown.write_page(report, path_of(output, run_id)).absolute()
    return WrittenReport(run_id, [run.run_id for run in runs], path, [file.absolute() for file in written])


def _comparison(store: Store, runs: list[Run], output: Path, pictures: Path | None) -> WrittenReport:
    """Writes the page of two runs beside each other."""
    from seekwise.report import compare_page, paired

    if pictures is not None:
        raise UsageError("a comparison has no pictures of its own", hint="leave out `--pictures`")
    if len(runs) > 2:
        raise UsageError(
            f"a comparison has two runs, not {len(runs)}", hint="`--merge` shows several runs of one study as one"
        )
    pairing = paired.pairing_of(store, paired.after_earlier(store, *runs))
    names = [run.run_id for run in runs]
    with damage.reading(" or ".join(names)):
        path = compare_page.write(path_of(output, "-vs-".join(names)), pairing)
    return WrittenReport(None, names, path.absolute(), [])


def path_of(output: Path, name: str) -> Path:
    """Where the page goes: into the folder `output`, or to that very file; the folder is made."""
    if output.suffix.lower() in (".html", ".htm") and not output.is_dir():
        return folder_made(output.parent) / output.name
    if output.suffix.strip(".").isalpha() and not output.exists():
        raise UsageError(
            f"a report{' of several runs' if output.suffix == '.md' else ''} is an HTML page, not {output.suffix}",
            hint=f"name it {output.with_suffix('.html')}, or make the folder first",
        )
    return folder_made(output) / _shown.page_name(name)


def folder_made(folder: Path) -> Path:
    """The folder, created where it is missing."""
    try:
        make_folders(folder)
    except OSError as error:
        raise SeekwiseError(
            f"cannot create folder {folder}: {reason(error)}", hint="name another one with `--output`"
        ) from error
    return folder
