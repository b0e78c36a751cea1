"""The report: one self-contained HTML file, answer first. No network, no script; charts are SVG inside the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from seekwise.report.charts.export import png, svg
from seekwise.report.charts.head_position import head_position
from seekwise.report.charts.registry import CHARTS, x_factor
from seekwise.report.content import METRIC_TITLES, ReportContent
from seekwise.report.rows import OPERATION_NAMES, OPERATION_ORDER, summary_rows, trial_rows


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


def number_table(content: ReportContent) -> tuple[str, list[dict[str, object]]]:
    """The factor beside operation and setting, and a summary row per cell, in the order of operations."""
    x = x_factor(content.records)
    rows = summary_rows(trial_rows(content.records), by=("operation", x, "setting"))
    order = {name: place for place, name in enumerate(OPERATION_ORDER)}
    rows.sort(
        key=lambda row: (
            order.get(str(row["operation"]), 9),
            row[x] if isinstance(row[x], int | float) else 0,
            str(row["setting"]),
        )
    )
    return x, rows


def charts_of(content: ReportContent) -> list[dict[str, object]]:
    """Every chart that the records support, with its picture as SVG text."""
    drawn = []
    for chart in CHARTS:
        picture = chart.draw(content.records)
        if picture is not None:
            drawn.append({"name": chart.name, "title": chart.title, "caption": chart.caption, "svg": svg(picture)})
    if content.traces:
        drawn.append({
            "name": "head-position",
            "title": "Where the head was",
            "caption": "One mark per request served, joined in order of service.",
            "svg": svg(head_position(content.traces)),
        })  # fmt: skip
    return drawn


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
    x, rows = number_table(content)
    metrics = [name for name in METRIC_TITLES if any(name in row.cells for row in content.winners)]
    invalid = [record for record in content.records if not record.valid]
    return environment.get_template("page.html").render(
        content=content,
        charts=charts_of(content),
        rows=rows,
        x=x,
        metrics=metrics,
        metric_titles=METRIC_TITLES,
        operation_names=OPERATION_NAMES,
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
    pictures = [(chart.name, chart.draw(content.records)) for chart in CHARTS]
    if content.traces:
        pictures.append(("head-position", head_position(content.traces)))
    for name, picture in pictures:
        if picture is None:
            continue
        for kind in formats:
            path = folder / f"{name}.{kind}"
            path.write_bytes(svg(picture).encode() if kind == "svg" else png(picture))
            written.append(path)
    return written
