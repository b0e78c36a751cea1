"""`seekwise report RUN`: the report of a run again, judged afresh from its records; its charts as pictures on request."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.cli import _options, _shown
from seekwise.errors import SeekwiseError
from seekwise.store.database import Store

REPORT_SCHEMA = "seekwise.report/1"


@click.command("report")
@click.argument("names", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder for the page instead of this one; made if it does not exist.",
)
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write each chart as SVG and PNG into this folder too.",
)
@_options.printed
@_options.common
def command(
    names: tuple[str, ...],
    output: Path,
    pictures: Path | None,
    mean: str,
    acceptable: float | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Write the report of RUN (or `last`) as one HTML file.

    Its path is the last line. Several runs of one study are merged.
    """
    with Store.open(db, create=False) as store:
        from seekwise.analysis import outcome

        style = _options.style(mean, acceptable)
        chosen = [store.run(name) for name in names]
        found = outcome.of(store, chosen[0], style) if len(chosen) == 1 else outcome.merged(store, chosen, style)
    if not found.records:
        raise SeekwiseError(f"run {found.run.run_id} has no records, so there is nothing to show")
    written: list[Path] = []
    if pictures is not None:
        from seekwise.report.page import write_pictures

        try:
            written = write_pictures(pictures, found.content)
        except OSError as error:
            raise SeekwiseError(f"cannot write pictures to {pictures}: {error.strerror}") from error
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeekwiseError(f"cannot make folder {output}: {error.strerror}") from error
    path = _shown.write_report(found, output)
    if as_json:
        document = {"schema": REPORT_SCHEMA, "run_id": found.run.run_id, "report": str(path)}
        _shown.echo_json(document | {"pictures": [str(picture.absolute()) for picture in written]})
        return
    for picture in written:
        click.echo(picture)
    click.echo(path)
