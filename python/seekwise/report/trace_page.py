"""The page of a trace: the words, then the charts. One self-contained file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seekwise.report import close_up, site
from seekwise.report.charts import trace as charts
from seekwise.report.looks import Looks
from seekwise.trace.close_up import of_rows
from seekwise.trace.columns import Notes
from seekwise.trace.summary import Summary

REQUESTS_MOST = 180


def write(
    path: Path, title: str, words: list[str], summary: Summary, notes: Notes, begun: np.ndarray | None = None
) -> None:
    """Draws the page. `words`: the answer, an empty line, and the rest. `begun`: the first requests of the trace, of which the busiest stretch is shown request by
    request."""
    pictures = [
        ("Rate and requests outstanding", charts.over_time(summary)),
        ("Where requests start", charts.offsets(summary)),
        ("Sizes", charts.sizes(summary)),
    ]
    looks = Looks()
    stretch = None if begun is None else _stretch(begun, notes, looks)
    site.write(
        path,
        site.render(
            "trace.html",
            title=title,
            answer=words[0],
            words="\n".join(words[2:]),
            charts=pictures,
            looks=looks,
            stretch=stretch,
        ),
    )


def _stretch(rows: np.ndarray, notes: Notes, looks: Looks) -> close_up.CloseUpSection | None:
    """Of the device with the most requests; None where the trace does not say when requests were issued."""
    devices, counts = np.unique(rows["device"], return_counts=True)
    device = int(devices[int(np.argmax(counts))])
    name = notes.devices[device] if device < len(notes.devices) else "device"
    close = of_rows(rows[rows["device"] == device], name, REQUESTS_MOST)
    if close is None:
        return None
    return close_up.stretch([close], looks, "The busiest stretch")
