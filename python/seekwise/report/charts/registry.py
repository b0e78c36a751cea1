"""The charts of a report: name, title, what it shows, and the function that draws it from records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt

from seekwise.report.charts.exceedance import exceedance
from seekwise.report.charts.lines import metric_lines
from seekwise.report.rows import OPERATION_NAMES, OPERATION_ORDER, merged_bins, summary_rows, trial_rows
from seekwise.store.record import Record

Draw = Callable[[Sequence[Record]], "alt.TopLevelMixin | None"]


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    caption: str
    draw: Draw


def x_factor(records: Sequence[Record]) -> str:
    """The factor for the x axis: threads when it varies, else the first other numeric factor that does, else threads."""
    values: dict[str, set] = {}
    for record in records:
        for name, value in record.factors.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, set()).add(value)
    varying = [name for name, found in values.items() if len(found) > 1]
    if "threads" in varying or not varying:
        return "threads"
    return varying[0]


def _lines(metric: str, axis_title: str) -> Draw:
    def draw(records: Sequence[Record]) -> alt.TopLevelMixin | None:
        x = x_factor(records)
        rows = summary_rows(trial_rows(records), by=("operation", "setting", x))
        if not any(row[metric] is not None for row in rows):
            return None
        return metric_lines(rows, metric, axis_title, x=x)

    return draw


def _exceedance(records: Sequence[Record]) -> alt.TopLevelMixin | None:
    most = max((int(record.factors.get("threads", 1)) for record in records), default=1)
    busiest = [record for record in records if int(record.factors.get("threads", 1)) == most]
    bins = {OPERATION_NAMES[name]: merged for name in OPERATION_ORDER if (merged := merged_bins(busiest, name))}
    return exceedance(bins) if bins else None


CHARTS: tuple[Chart, ...] = (
    Chart("rate", "Rate", "All threads together, MB of 10^6 bytes. Mark: geometric mean over repetitions; bar: its 95 % interval, with an arrowhead where it goes on beyond the picture.",
          _lines("rate_mb_s", "rate [MB/s], higher is better")),
    Chart("access-time", "Access time", "Mean time of one request as the thread sees it. Bar: 95 % interval over repetitions.",
          _lines("access_ms", "access time [ms], lower is better")),
    Chart("p99", "99th percentile of access time", "From merged histograms; left out where fewer than 20 requests lie beyond it.",
          _lines("p99_ms", "p99 [ms], lower is better")),
    Chart("cpu-efficiency", "CPU efficiency", "MB moved per second of system CPU time (system, irq and softirq of the whole machine).",
          _lines("cpu_efficiency", "MB per system-CPU s, higher is better")),
    Chart("slow-requests", "How many requests are slow", "Share of requests slower than a given time, at the highest thread count, all repetitions together; lower is better.",
          _exceedance),
)  # fmt: skip
