"""Latency by the share of faster requests: of which requests it is drawn, and its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from seekwise.report.charts import live_svg
from seekwise.report.frame import TITLES, Axes, Frame, combinations, shown
from seekwise.report.looks import Look
from seekwise.report.metric_words import shown_setting
from seekwise.store.percentiles import merged
from seekwise.store.record import Record
from seekwise.workload.study.quantity import counted

CURVES_MOST, REQUESTS_LEAST = 12, 40


def histograms(records: Sequence[Record], operation: str, factors: Mapping[str, object]) -> dict[str, dict[int, int]]:
    """{setting: {upper bound ns: count}} of one operation where these factors hold; settings with requests enough for a curve."""
    bins: dict[str, list[dict[int, int]]] = {}
    for record in records:
        if not record.valid or record.role != "candidate":
            continue
        if any(record.factors.get(name) != value for name, value in factors.items()):
            continue
        for phase in record.phases:
            if phase.operation == operation:
                bins.setdefault(shown_setting(record.setting), []).append(phase.latency_bins)
    together = {name: merged(counts) for name, counts in bins.items()}
    return {name: counts for name, counts in together.items() if sum(counts.values()) >= REQUESTS_LEAST}


def nines(bins: Mapping[int, int], steps: int = 20) -> list[tuple[float, float]]:
    """(nines, ms): the latency that all but 10^-nines of the requests kept to, as far as 20 requests lie beyond."""
    bounds = np.array(sorted(bins), dtype=float)
    counts = np.array([bins[int(bound)] for bound in bounds], dtype=float)
    total = counts.sum()
    if total < REQUESTS_LEAST:
        return []
    below = np.cumsum(counts)
    most = min(5.0, float(np.log10(total / 20)))
    points = []
    for step in range(int(most * steps) + 1):
        share = 1 - 10 ** (-step / steps)
        place = int(np.searchsorted(below, share * total))
        points.append((step / steps, float(bounds[min(place, len(bounds) - 1)]) / 1e6))
    return points


def picture(bins: Mapping[str, Mapping[int, int]], looks: Mapping[str, Look], title: str) -> Markup | None:
    """A curve for each setting that has enough requests; None where no setting has, or more than a picture holds."""
    curves = {name: points for name, counts in bins.items() if (points := nines(counts))}
    if not 0 < len(curves) <= CURVES_MOST:
        return None
    drawn = [(f"series {looks[name].css}", looks[name].dash, points) for name, points in curves.items()]
    return live_svg.nines(drawn, f"{title} by the share of faster requests", list(curves))


def busiest(table: Frame, at: Axes) -> dict[str, object]:
    """Factors of the combination whose latencies are shown: the fullest, at the most threads."""
    held = dict(combinations(table, at.rest)[0]) if at.rest else {}
    for name in ("threads", "block_bytes", "iodepth"):
        if name in table.factors and name not in table.subject:
            held[name] = (
                max(v for v in table.factors[name] if isinstance(v, int))
                if name == "threads"
                else held.get(name, table.factors[name][0])
            )
    return {name: value for name, value in held.items() if name not in ("chunk", "operation")}


def held_words(factors: Mapping[str, object]) -> str:
    """`8 threads, request size 4 KiB`."""
    parts = []
    for name, value in factors.items():
        if name == "threads":
            parts.append(counted(int(str(value)), "thread"))
        elif name in ("system", "load", "scheduler") and value not in (None, ""):
            parts.append(str(value))
        elif value not in (None, ""):
            parts.append(f"{TITLES.get(name, name.replace('_', ' '))} {shown(name, value)}")
    return ", ".join(parts)
