"""`seekwise published RUN…`: the tables and figures of the text that a study repeats, with what came out of a run of
it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import click
from markupsafe import Markup

from seekwise.commands import Share, common, console, echo_json
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge import outcome, system_choices
from seekwise.judge.study_outcome import StudyOutcome
from seekwise.report import site
from seekwise.report.charts import panels
from seekwise.report.looks import Looks
from seekwise.store import operations
from seekwise.store.database import Store
from seekwise_papers import figures, publication, words
from seekwise_papers.diagrams import diagram
from seekwise_papers.printed_tables import MEANS, Printed, PrintedGrid, PrintedTable, Style, printed
from seekwise_papers.publication import Publication


@dataclass(frozen=True)
class Published:
    """`published --json`: a run beside the text that its study repeats."""

    SCHEMA: ClassVar = "seekwise.published/1"

    run_id: str
    agreement: str
    conclusions: list[str]
    tables: list[PrintedTable]
    grids: list[PrintedGrid]


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
@common
def command(
    names: tuple[str, ...], mean: str, acceptable: float | None, output: Path | None, db: Path | None, as_json: bool
) -> None:
    """Show RUN (or `last`) of a published study in the publication's tables, with what the publication prints.

    Several runs of one study are shown as one.
    """  # fmt: skip
    with Store.open(db, create=False) as store:
        opened = outcome.of_runs(store, *(store.run(name) for name in names))
    text = publication.of_study(opened.study.name) if isinstance(opened, StudyOutcome) and opened.study else None
    if text is None or not isinstance(opened, StudyOutcome):
        raise UsageError(
            f"run {opened.run.run_id} repeats no publication", hint="`seekwise run published/article-2008` does"
        )
    style = Style("high" if mean == "high" else "plain", acceptable)
    tables = printed(text.table, text.grid, opened.compared, style)
    said = words.conclusions(system_choices.choices(opened.study, opened.compared), text.conclusion)
    if output is not None:
        try:
            site.write(output, page(text, tables, said, opened))
        except OSError as error:
            raise SeekwiseError(f"cannot write {output}: {error.strerror}", hint="name another place") from error
    if as_json:
        echo_json(Published(opened.run.run_id, words.paragraph(tables), said, tables.tables, tables.grids))
        return
    click.echo(f"run {opened.run.run_id}, {opened.run.title}, {opened.provenance}\n")
    words.show(tables, said, console())


def page(text: Publication, tables: Printed, said: list[str], study_outcome: StudyOutcome) -> str:
    """One self-contained HTML page."""
    looks = Looks()
    systems = study_outcome.study.system if study_outcome.study else ()
    graphs = [figure for figure in text.figure if figure.metric]
    charts = [figures.drawn(graph, study_outcome.compared, systems, looks) for graph in graphs]
    source = (files("seekwise_papers") / "published.html").read_text(encoding="utf-8")
    return site.render(
        site.environment().from_string(source),
        title=study_outcome.plan.study,
        run=study_outcome.run,
        provenance=study_outcome.provenance,
        sentences=[sentence for sentence in (words.paragraph(tables), *said) if sentence],
        printed=tables,
        means=MEANS,
        operation_names=operations.NAMES,
        known=words.known,
        word=words.word,
        looks=looks,
        definitions=panels.definitions(),
        figures=[panels.figure(chart) for chart in charts if chart is not None],
        unanswered=[graph.number for graph, chart in zip(graphs, charts, strict=True) if chart is None],
        diagrams=[
            (row.number, row.caption, Markup(diagram(row.diagram, systems))) for row in text.figure if row.diagram
        ],
    )
