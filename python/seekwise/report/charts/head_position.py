"""Where the head was over time, a panel per setting: the elevator's sweep, the batches, the idling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from seekwise.report.charts import plot
from seekwise.report.looks import style_of

POINTS_MAX = 4000
WIDTH, HEIGHT, STEP = 740, 130, 190
SHAPES = {"read": "circle", "write": "square"}


def head_position(trace_by_setting: Mapping[str, Sequence[Mapping[str, object]]]) -> Markup:
    """`trace_by_setting`: {setting: rows with `time_ms`, `position_percent` (of the drive), `kind` (read or write)}."""
    known = {setting: list(rows)[:: max(1, len(rows) // POINTS_MAX)] for setting, rows in trace_by_setting.items()}
    points = {
        setting: [(float(str(row["time_ms"])), float(str(row["position_percent"]))) for row in rows]
        for setting, rows in known.items()
    }
    every = [point for each in points.values() for point in each] or [(0.0, 0.0)]
    times, places = [x for x, _ in every], [y for _, y in every]
    low = 10.0 * math.floor(min(places) / 10)
    span = (low, max(10.0 * math.ceil(max(places) / 10), low + 10))
    parts = []
    for number, (setting, rows) in enumerate(known.items()):
        box = ((50.0, 34.0), (WIDTH - 14.0, 34.0 + HEIGHT))
        at, axes = plot.axes(box, (0.0, max(times) or 1.0), span, ("time [ms]", "position on the drive [%]"))
        marks = [
            plot.mark(at(*point), SHAPES[str(row["kind"])], style_of(setting)[0], f"{point[0]:.4g} ms: {row['kind']} at {point[1]:.3g} %", 0.4)
            for row, point in zip(rows, points[setting], strict=True)
        ]  # fmt: skip
        path = plot.curve((at(*point) for point in points[setting]), "#bbb", 0.5)
        parts.append(
            plot.group(0, STEP * number, plot.text(50, 13, setting, anchor="start", weight="bold"), axes, path, *marks)
        )
    keys = [(kind, "#525b64", "", shape) for kind, shape in SHAPES.items()]
    end = STEP * len(known) + 14
    return plot.picture(
        WIDTH, end + 14, "Head position over time, a panel per setting", *parts, plot.legend(50, end, keys)
    )
