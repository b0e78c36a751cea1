"""The page of a trace: the words, then the charts. One self-contained file, no script."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from seekwise.control.files import write_product
from seekwise.report.charts import trace as charts
from seekwise.report.charts.export import svg
from seekwise.trace.columns import Notes
from seekwise.trace.summary import Summary


def write(path: Path, title: str, words: list[str], summary: Summary, notes: Notes) -> None:
    """Draws the page."""
    pictures = [
        ("Rate and requests outstanding", charts.over_time(summary)),
        ("Where requests start", charts.offsets(summary)),
        ("Sizes", charts.sizes(summary)),
        ("Requests by process", charts.mix(summary, notes)),
    ]
    environment = Environment(loader=PackageLoader("seekwise.report"), autoescape=True, undefined=StrictUndefined)
    text = environment.get_template("trace.html").render(
        title=title, words="\n".join(words), charts=[(name, svg(chart)) for name, chart in pictures]
    )
    write_product(path, text)
