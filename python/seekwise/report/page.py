"""The report: one self-contained HTML file, answer first. No network, no script; charts are SVG inside the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import altair as alt
from jinja2 import Environment, PackageLoader, StrictUndefined

from seekwise.report import arrays
from seekwise.report.charts.diagrams import diagram
from seekwise.report.charts.export import png, svg
from seekwise.report.charts.figures import graph
from seekwise.report.charts.head_position import head_position
from seekwise.report.charts.registry import CHARTS, x_factor
from seekwise.report.content import METRIC_TITLES, ReportContent
from seekwise.report.printed import MEANS
from seekwise.report.rows import OPERATION_NAMES, OPERATION_ORDER, apart, summary_rows, trial_rows
from seekwise.report.terminal import known, word
from seekwise.store.record import Record
from seekwise.study.quantity import size_word


def number(value: object, digits: int = 3) -> str:
    """Three significant digits, without exponent; an en dash for None."""
    if value is None:
        return "–"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def number_table(content: ReportContent) -> tuple[list[str], list[dict[str, object]]]:
    """The factors beside operation and setting, and a summary row per cell, in the order of operations."""
    dimensions = apart(content.records)
    x = x_factor(content.records)
    names = [*dimensions, x] if x not in dimensions else dimensions
    rows = summary_rows(trial_rows(content.records), by=("operation", *names, "setting"))
    order = {name: place for place, name in enumerate(OPERATION_ORDER)}

    def key(row: dict[str, object]) -> tuple[object, ...]:
        values = tuple((isinstance(row[name], str), row[name]) for name in names)
        return (order.get(str(row["operation"]), 9), *values, str(row["setting"]))

    rows.sort(key=key)
    for row in rows:
        for name in names:
            if name.endswith("bytes") and isinstance(row[name], int):
                row[name] = size_word(int(row[name]))
    return names, rows


def charts_of(content: ReportContent) -> list[dict[str, object]]:
    """Every chart that the records support, with its picture as SVG text."""
    drawn = []
    for name, title, caption, picture in pictures(content):
        drawn.append({"name": name, "title": title, "caption": caption, "svg": svg(picture)})
    return drawn


Picture = tuple[str, str, str, "alt.TopLevelMixin"]


def pictures(content: ReportContent) -> list[Picture]:
    """(name, title, caption, chart) of everything that can be drawn; the figures of a text stand first."""
    found: list[Picture] = list(figures_of(content))
    if not found:
        for suffix, words, records in _groups(content.records):
            for chart in CHARTS:
                picture = chart.draw(records)
                if picture is not None:
                    found.append((chart.name + suffix, chart.title + words, chart.caption, picture))
    if content.traces:
        caption = "One mark per request served, joined in order of service."
        found.append(("head-position", "Head position over time", caption, head_position(content.traces)))
    return found


def figures_of(content: ReportContent) -> list[Picture]:
    """The figures of the text that the study repeats, as far as the records answer them."""
    found: list[Picture] = []
    for figure in content.figures:
        picture = (
            graph(figure, content.records, content.systems)
            if figure.metric
            else diagram(figure.diagram, content.systems)
        )
        if picture is not None:
            found.append((f"figure-{figure.number:02}", f"Figure {figure.number}", f"{figure.caption}.", picture))
    return found


def unanswered(content: ReportContent) -> list[int]:
    """Numbers of the figures that the records do not answer."""
    return [f.number for f in content.figures if f.metric is not None and graph(f, content.records) is None]


def _groups(records: Sequence[Record]) -> list[tuple[str, str, list[Record]]]:
    """(suffix, words, records) that belong into one chart: what differs in more than setting and x axis is drawn apart."""
    dimensions = [name for name in apart(records) if name != x_factor(records)]
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record.factors.get(name) for name in dimensions), []).append(record)
    if len(groups) == 1:
        return [("", "", list(records))]
    return [
        (
            "".join(f"-{_shown(name, value)}" for name, value in zip(dimensions, key, strict=True)),
            "".join(f", {_title(name)} {_shown(name, value)}" for name, value in zip(dimensions, key, strict=True)),
            members,
        )
        for key, members in groups.items()
    ]


def _title(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _shown(name: str, value: object) -> str:
    return size_word(value) if name.endswith("bytes") and isinstance(value, int) else str(value)


def render(content: ReportContent) -> str:
    """The page as HTML text."""
    environment = Environment(
        loader=PackageLoader("seekwise.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    names, rows = number_table(content)
    metrics = [name for name in METRIC_TITLES if any(name in row.cells for row in content.winners)]
    invalid = [record for record in content.records if not record.valid]
    return environment.get_template("page.html").render(
        content=content,
        charts=charts_of(content),
        unanswered=unanswered(content),
        rows=rows,
        names=names,
        known=known,
        word=word,
        means=MEANS,
        metrics=metrics,
        metric_titles=METRIC_TITLES,
        operation_names=OPERATION_NAMES,
        array_operations=arrays.operations(content.arrays),
        invalid=invalid,
        blocks=len({record.block for record in content.records}),
        seeds=sorted({record.seed for record in content.records})[:1],
    )


def write_report(path: Path, content: ReportContent) -> Path:
    """Writes the page to `path` whole or not at all; gives the absolute path."""
    path = path.absolute()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(render(content), encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def write_pictures(folder: Path, content: ReportContent, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Each chart of the report as a file of its own: `NAME.svg`, `NAME.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, _, _, picture in pictures(content):
        for kind in formats:
            path = folder / f"{name}.{kind}"
            path.write_bytes(svg(picture).encode() if kind == "svg" else png(picture))
            written.append(path)
    return written
