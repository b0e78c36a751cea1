"""Where the head was over time, a panel per setting: the elevator's sweep, the batches, the idling.

Many points are binned before they are drawn; what is left is one mark per served request or per bin.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from seekwise.report.charts.style import configured, style_of

POINTS_MAX = 4000


def head_position(trace_by_setting: dict[str, Sequence[dict[str, float]]]) -> alt.TopLevelMixin:
    """`trace_by_setting`: {setting: rows with `time_ms`, `position_percent` (of the drive), `kind` (read or write)}."""
    panels = []
    for setting, trace in trace_by_setting.items():
        step = max(1, len(trace) // POINTS_MAX)
        rows = list(trace)[::step]
        base = alt.Chart(alt.Data(values=rows), title=setting).encode(
            x=alt.X("time_ms:Q", title="time [ms]"),
            y=alt.Y("position_percent:Q", title="position on the drive [%]", scale=alt.Scale(zero=False)),
        )
        path = base.mark_line(strokeWidth=0.5, opacity=0.35, color="#888").encode(order=alt.Order("time_ms:Q"))
        dots = base.mark_point(filled=True, size=14, color=style_of(setting)[0]).encode(
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=["read", "write"], range=["circle", "square"]))
        )
        panels.append((path + dots).properties(width=680, height=130))
    return configured(alt.vconcat(*panels).resolve_scale(x="shared", y="shared"))
