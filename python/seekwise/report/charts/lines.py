"""A metric over a factor, a line per setting, a panel per operation, with intervals: the articles' graph."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from seekwise.report.charts.style import PANEL_COLUMNS, PANEL_HEIGHT, PANEL_WIDTH, configured, scales
from seekwise.report.rows import OPERATION_NAMES, OPERATION_ORDER

SHOWN_MOST = 3.0
"""Intervals are drawn up to so many times the greatest value of their panel: two scattered blocks say next to nothing, and their
interval would press everything else onto the axis."""


def cut(rows: list[dict]) -> None:
    """Ends intervals at the edge of the picture, and says which (`cut`)."""
    most: dict[str, float] = {}
    for row in rows:
        most[row["panel"]] = max(most.get(row["panel"], 0.0), SHOWN_MOST * row["value"])
    for row in rows:
        row["cut"] = row["high"] > most[row["panel"]]
        row["high"] = min(row["high"], most[row["panel"]])


def metric_lines(
    summaries: Sequence[dict[str, object]],
    metric: str,
    axis_title: str,
    *,
    x: str = "threads",
    x_title: str | None = None,
    panel: str = "operation",
    colour: str = "setting",
    log_y: bool = False,
) -> alt.TopLevelMixin:
    """Chart of `metric` (a name of `seekwise.report.rows.METRICS`) over the factor `x`; any factor may be x, colour or panel.

    Rows come from `summary_rows`; rows without the metric are left out. An arrowhead ends an interval that goes on beyond the picture.
    """
    rows = [
        {
            "x": row[x],
            "panel": OPERATION_NAMES.get(str(row[panel]), str(row[panel])),
            "setting": str(row[colour]),
            "value": row[metric],
            "low": row[f"{metric}_low"] if row[f"{metric}_low"] is not None else row[metric],
            "high": row[f"{metric}_high"] if row[f"{metric}_high"] is not None else row[metric],
            "n": row["n"],
        }
        for row in summaries
        if row.get(metric) is not None
    ]
    if not rows:
        raise ValueError(f"no row has {metric}")
    cut(rows)
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    panels = [
        OPERATION_NAMES[name] for name in OPERATION_ORDER if OPERATION_NAMES[name] in {row["panel"] for row in rows}
    ]
    panels = panels or sorted({row["panel"] for row in rows})
    colours, dashes, markers = scales(settings)
    numbers = sorted({row["x"] for row in rows}, key=lambda value: (isinstance(value, str), value))
    x_axis = alt.X(
        "x:O",
        sort=numbers,
        title=x_title or x.replace("_", " "),
        axis=alt.Axis(labelAngle=0),
        scale=alt.Scale(padding=0.3),
    )
    scale = alt.Scale(type="log") if log_y else alt.Scale(zero=True)
    y_axis = alt.Y("value:Q", title=axis_title, scale=scale)
    # Settings stand beside each other instead of on top of each other, or intervals could not be read.
    offset = alt.XOffset("setting:N", scale=alt.Scale(domain=settings))
    base = alt.Chart().encode(x=x_axis, color=alt.Color("setting:N", scale=colours, title=None))
    one_point = len(numbers) == 1
    layers = [
        base.mark_point(filled=True, size=70, opacity=1).encode(
            y=y_axis, shape=alt.Shape("setting:N", scale=markers, title=None), xOffset=offset
        ),
        base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q", xOffset=offset),
    ]
    if any(row["cut"] for row in rows):
        arrow = base.transform_filter("datum.cut").mark_text(text="▲", fontSize=9, baseline="top")
        layers.append(arrow.encode(y=alt.Y("high:Q", scale=scale), xOffset=offset))
    if not one_point:
        line = base.mark_line(strokeWidth=1.6, opacity=0.8).encode(
            y=y_axis, strokeDash=alt.StrokeDash("setting:N", scale=dashes, title=None), xOffset=offset
        )
        layers.insert(0, line)
    chart = alt.layer(*layers, data=alt.Data(values=rows)).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
    faceted = chart.facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=PANEL_COLUMNS)
    return configured(faceted.resolve_scale(y="independent"))
