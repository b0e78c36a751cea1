"""Charts of a trace: time panels of one axis (rate, throughput, depth), offsets over time, sizes, and the mix of processes."""

from __future__ import annotations

import altair as alt
import numpy as np

from seekwise.trace.columns import Notes
from seekwise.trace.summary import KINDS, TIME_BINS, Summary

WIDTH = 760
POINTED = alt.OverlayMarkDef(opacity=0, size=9)
"""Unseen: its values are told at the pointer and by the arrow keys."""
COLOURS = alt.Scale(domain=list(KINDS), range=["#4477aa", "#ee6677"])


def _used(summary: Summary) -> int:
    return int(min(TIME_BINS, summary.last_ns // summary.bin_ns + 1))


def _seconds(summary: Summary) -> np.ndarray:
    return np.arange(_used(summary)) * summary.bin_ns / 1e9


def over_time(summary: Summary) -> alt.TopLevelMixin:
    """Requests and bytes per second by direction, and requests outstanding, over the same time."""
    seconds, used, width_s = _seconds(summary), _used(summary), summary.bin_ns / 1e9
    panels = []
    for title, table, divisor in (("IOPS", summary.rate, 1.0), ("MB/s", summary.moved, 1e6)):
        rows = [
            {"s": float(s), "kind": name, "value": float(table[kind, place]) / divisor / width_s}
            for kind, name in enumerate(KINDS)
            for place, s in enumerate(seconds[:used])
        ]
        panels.append(
            alt.Chart(alt.Data(values=rows))
            .mark_area(opacity=0.8, interpolate="step-after", point=POINTED)
            .encode(
                x=alt.X("s:Q", title=None),
                y=alt.Y("value:Q", title=title),
                color=alt.Color("kind:N", scale=COLOURS, title=None),
            )
            .properties(width=WIDTH, height=110)
        )
    depth = summary.outstanding_ns[:used] / summary.bin_ns
    rows = [{"s": float(s), "depth": float(value)} for s, value in zip(seconds, depth, strict=True)]
    panels.append(
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", color="#228833", point=POINTED)
        .encode(x=alt.X("s:Q", title="time, s"), y=alt.Y("depth:Q", title="outstanding, mean"))
        .properties(width=WIDTH, height=90)
    )
    return alt.vconcat(*panels, spacing=6).resolve_scale(x="shared")


def offsets(summary: Summary) -> alt.TopLevelMixin:
    """Where requests start, over time: darker is more."""
    used = _used(summary)
    wide = summary.bin_ns / 1e9
    high = summary.offset_sectors * 512 / 1e9
    when, where = np.nonzero(summary.offsets[:used])
    rows = [
        {
            "s": float(t * wide),
            "s2": float((t + 1) * wide),
            "gb": float(p * high),
            "gb2": float((p + 1) * high),
            "n": int(summary.offsets[t, p]),
        }
        for t, p in zip(when.tolist(), where.tolist(), strict=True)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("s:Q", title="time, s"),
            x2="s2",
            y=alt.Y("gb:Q", title="offset, GB"),
            y2="gb2",
            color=alt.Color("n:Q", scale=alt.Scale(type="log", scheme="blues"), title="requests"),
        )
        .properties(width=WIDTH, height=260)
    )


def sizes(summary: Summary) -> alt.TopLevelMixin:
    """Requests by size, in powers of two."""
    last = int(np.nonzero(summary.sizes.sum(axis=0))[0].max(initial=0)) + 1
    labels = [_size(place) for place in range(last)]
    rows = [
        {"size": labels[place], "kind": name, "n": int(summary.sizes[kind, place])}
        for kind, name in enumerate(KINDS)
        for place in range(last)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=labels, title="size, from"),
            y=alt.Y("n:Q", title="requests"),
            color=alt.Color("kind:N", scale=COLOURS, title=None),
            xOffset="kind:N",
        )
        .properties(width=WIDTH, height=140)
    )


def _size(place: int) -> str:
    bytes_count = 512 << place
    for unit, width in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes_count >= width:
            return f"{bytes_count // width} {unit}"
    return f"{bytes_count} B"


def mix(summary: Summary, notes: Notes) -> alt.TopLevelMixin:
    """Requests of the processes that moved most bytes."""
    top = sorted(summary.by_process.items(), key=lambda item: -item[1][3])[:15]
    rows = [
        {"process": notes.processes[place], "kind": name, "n": int(counts[1 + kind])}
        for place, counts in top
        for kind, name in enumerate(KINDS)
    ]
    order = [notes.processes[place] for place, _ in top]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            y=alt.Y("process:N", sort=order, title=None, axis=alt.Axis(labelLimit=220)),
            x=alt.X("n:Q", title="requests"),
            color=alt.Color("kind:N", scale=COLOURS, title=None),
        )
        .properties(width=WIDTH - 160, height=max(len(order) * 18, 40))
    )
