"""Charts of a trace: time panels of one axis (rate, throughput, depth), offsets over time, and sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from seekwise.number_text import three
from seekwise.report.charts import plot
from seekwise.trace.summary import KINDS, TIME_BINS, Summary
from seekwise.workload.study.quantity import bytes_text

WIDTH, LEFT = 830, 60.0
COLOURS = ("#4477aa", "#ee6677")
KEYS = [(kind, colour, "", "square") for kind, colour in zip(KINDS, COLOURS, strict=True)]
SHADES = ("#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#084594")


def _used(summary: Summary) -> int:
    return int(min(TIME_BINS, summary.last_ns // summary.bin_ns + 1))


def _box(top: float, height: float, left: float = LEFT) -> tuple[plot.Point, plot.Point]:
    return (left, top), (WIDTH - 14, top + height)


def over_time(summary: Summary) -> Markup:
    """Requests and bytes per second by direction, and requests outstanding, over the same time."""
    used, width_s = _used(summary), summary.bin_ns / 1e9
    depth = summary.outstanding_ns[:used] / summary.bin_ns
    panels = [
        ("IOPS", [summary.rate[kind][:used] / width_s for kind in range(len(KINDS))], COLOURS, KINDS),
        ("MB/s", [summary.moved[kind][:used] / 1e6 / width_s for kind in range(len(KINDS))], COLOURS, KINDS),
        ("outstanding, mean", [depth], ("#228833",), ("outstanding",)),
    ]
    parts, step = [], 165.0
    for number, (unit, tables, colours, names) in enumerate(panels):
        stacked = np.cumsum(tables, axis=0)
        last = number == len(panels) - 1
        at, axes = plot.axes(
            _box(28 + step * number, 110), (0.0, used * width_s), (0.0, float(stacked.max()) or 1.0), ("time [s]" if last else "", unit)
        )  # fmt: skip
        parts.append(axes)
        for upper, values, colour, name in reversed(list(zip(stacked, tables, colours, names, strict=True))):
            steps = [at(s * width_s, float(y)) for bin_, y in enumerate(upper) for s in (bin_, bin_ + 1)]
            parts.append(plot.curve([at(0, 0), *steps, at(used * width_s, 0)], colour, 1, fill=colour))
            parts += [
                plot.rect(at(bin_ * width_s, float(y)), at((bin_ + 1) * width_s, 0), "transparent", f"{bin_ * width_s:.3g} s: {name} {three(float(value))} {unit}")
                for bin_, (y, value) in enumerate(zip(upper, values, strict=True)) if value
            ]  # fmt: skip
    end = 28 + step * len(panels)
    return plot.picture(WIDTH, end + 12, "Rate and requests outstanding", *parts, plot.legend(LEFT, end, KEYS))


def offsets(summary: Summary) -> Markup:
    """Where requests start, over time: darker is more."""
    used, wide, high = _used(summary), summary.bin_ns / 1e9, summary.offset_sectors * 512 / 1e9
    when, where = np.nonzero(summary.offsets[:used])
    top = float(where.max(initial=0) + 1) * high
    at, axes = plot.axes(_box(28, 260), (0.0, used * wide), (0.0, top), ("time [s]", "offset [GB]"))
    most = math.log1p(float(summary.offsets.max(initial=1)))
    boxes = []
    for t, p in zip(when.tolist(), where.tolist(), strict=True):
        count = int(summary.offsets[t, p])
        shade = SHADES[min(int(math.log1p(count) / most * len(SHADES)), len(SHADES) - 1)]
        said = f"{t * wide:.3g} s, {p * high:.4g} GB: {count} requests"
        boxes.append(plot.rect(at(t * wide, p * high), at((t + 1) * wide, (p + 1) * high), shade, said))
    return plot.picture(WIDTH, 28 + 260 + plot.BELOW, "Where requests start", axes, *boxes)


def sizes(summary: Summary) -> Markup:
    """Requests by size, in powers of two."""
    last = int(np.nonzero(summary.sizes.sum(axis=0))[0].max(initial=0)) + 1
    most = float(summary.sizes.max(initial=1))
    at, axes = plot.axes(_box(28, 140), (0.0, float(last)), (0.0, most), ("", "requests"))
    bars = _bars([[int(summary.sizes[kind, place]) for kind in range(len(KINDS))] for place in range(last)], at)
    # Over the numbers of the axis, which mean nothing here.
    names = [plot.rect((LEFT - 8, 170), (WIDTH, 184), "#fff")]
    names += [plot.text(at(place + 0.5, 0)[0], 182, bytes_text(512 << place)) for place in range(last)]
    title = plot.text(WIDTH / 2, 198, "size, from")
    return plot.picture(WIDTH, 222, "Sizes", axes, *bars, *names, title, plot.legend(LEFT, 208, KEYS))


def _bars(counts: Sequence[Sequence[int]], at: plot.Place) -> list[str]:
    wide = 0.8 / len(KINDS)
    return [
        plot.rect(at(place + 0.1 + wide * kind, 0), at(place + 0.1 + wide * (kind + 1), count), COLOURS[kind], f"{KINDS[kind]}: {count}")
        for place, row in enumerate(counts) for kind, count in enumerate(row) if count
    ]  # fmt: skip
