"""The page of a trace: the words, then the charts. One self-contained file."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from seekwise.report import site
from seekwise.report.charts import trace as charts
from seekwise.report.charts.export import compact, svg
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
    shown = [(name, Markup(compact(svg(chart)))) for name, chart in pictures]
    site.write(path, site.render("trace.html", title=title, words="\n".join(words), charts=shown))
