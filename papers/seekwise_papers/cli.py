"""`seekwise published RUN…`: the tables and figures of the text that a study repeats, with what came out of a run of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import click
from markupsafe import Markup

from seekwise.commands import Share, common, console, echo_json
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge import outcome, system_choices
from seekwise.judge.study_outcome import StudyOutcome
from seekwise.report import site
from seekwise.report.charts import files as picture_files
from seekwise.report.charts import panels
from seekwise.report.looks import Looks
from seekwise.store import operations
from seekwise.store.database import Store
from seekwise.workload.study.study import System
from seekwise_papers import figures, publication, words
from seekwise_papers.diagrams import diagram
from seekwise_papers.printed_tables import MEANS, Printed, Style, printed
from seekwise_papers.publication import Publication


@dataclass(frozen=True)
class Published:
    """`published --json`: a run beside the text that its study repeats."""

    SCHEMA: ClassVar = "seekwise.published/1"

    run_id: str
    agreement: str
    conclusions: list[str]
    tables: list[dict[str, Any]]
    grids: list[dict[str, Any]]


@click.command("published")
@click.argument("names", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--mean",
    type=click.Choice(list(MEANS)),
    default="plain",
    help="Mean of repeats: plain, or one that prefers high values.",
)
@click.option("--acceptable", type=Share(), help="Mark rates of at least this share of the best system's, e.g. 90%.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write tables, figures and diagrams as one HTML page.",
)
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write each figure as SVG into this folder.",
)
@common
def command(
    names: tuple[str, ...],
    mean: str,
    acceptable: float | None,
    output: Path | None,
    pictures: Path | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Show RUN (or `last`) of a published study in the publication's tables, with what the publication prints.

    Several runs of one study are shown as one.
    """  # fmt: skip
    with Store.open(db, create=False) as store:
        found = outcome.of(store, *(store.run(name) for name in names))
    text = publication.of_study(found.study.name) if isinstance(found, StudyOutcome) and found.study else None
    if text is None or not isinstance(found, StudyOutcome):
        raise UsageError(
            f"run {found.run.run_id} repeats no publication", hint="`seekwise run published/article-2008` does"
        )
    style = Style("high" if mean == "high" else "plain", acceptable)
    tables = printed(text.table, text.grid, found.compared, style)
    said = words.conclusions(system_choices.choices(found.study, found.compared), text.conclusion)
    if pictures is not None:
        _write(lambda: picture_files.write_all(pictures, _pictures(text, found)), pictures)
    if output is not None:
        _write(lambda: site.write(output, page(text, tables, said, found)), output)
    if as_json:
        echo_json(document(found.run.run_id, tables, said))
        return
    click.echo(f"run {found.run.run_id}, {found.run.title}, {found.provenance}\n")
    words.show(tables, said, found.provenance, console())


def _write(write: Callable[[], object], path: Path) -> None:
    try:
        write()
    except OSError as error:
        raise SeekwiseError(f"cannot write {path}: {error.strerror}", hint="name another place") from error


def document(run_id: str, tables: Printed, said: list[str]) -> Published:
    """For `--json`."""
    return Published(
        run_id,
        words.paragraph(tables),
        said,
        [
            {"number": table.number, "title": table.title, "agreement": table.agreement, "blocks": [
                {"title": block.title, "rows": {name: [asdict(cell) | {"agrees": cell.agrees} for cell in row] for name, row in block.rows.items()}}
                for block in table.blocks
            ]}
            for table in tables.tables
        ],
        [asdict(grid) for grid in tables.grids],
    )  # fmt: skip


def page(text: Publication, tables: Printed, said: list[str], found: StudyOutcome) -> str:
    """One self-contained HTML page."""
    looks = Looks()
    drawn = {each.number: _chart(each, found, looks) for each in text.figure if each.metric}
    source = (files("seekwise_papers") / "published.html").read_text(encoding="utf-8")
    return site.render(
        site.environment().from_string(source),
        title=found.plan.study,
        run=found.run,
        provenance=found.provenance,
        sentences=[each for each in (words.paragraph(tables), *said) if each],
        printed=tables,
        means=MEANS,
        operation_names=operations.NAMES,
        known=words.known,
        word=words.word,
        looks=looks,
        definitions=panels.definitions(),
        figures=[panels.figure(each) for each in drawn.values() if each is not None],
        unanswered=[number for number, chart in drawn.items() if chart is None],
        diagrams=[
            (each.number, each.caption, Markup(diagram(each.diagram, _systems(found))))
            for each in text.figure
            if each.diagram
        ],
    )


def _pictures(text: Publication, found: StudyOutcome) -> Iterable[tuple[str, str]]:
    looks = Looks()
    for each in text.figure:
        if each.diagram:
            yield f"figure-{each.number:02}", diagram(each.diagram, _systems(found))
        elif (chart := _chart(each, found, looks)) is not None:
            yield chart.name, picture_files.svg(chart)


def _chart(each: publication.Figure, found: StudyOutcome, looks: Looks) -> panels.PanelChart | None:
    return figures.drawn(each, found.compared, _systems(found), looks)


def _systems(found: StudyOutcome) -> Sequence[System]:
    return found.study.system if found.study else ()
