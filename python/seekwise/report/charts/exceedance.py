"""Access times on a scale of nines: share of requests slower than t, a line per setting, a panel per operation. Shows tails
that a mean hides."""

from __future__ import annotations

import altair as alt

from seekwise.report.charts.style import PANEL_COLUMNS, PANEL_HEIGHT, PANEL_WIDTH, configured, scales

POINTS_MAX = 160


def curve(bins: dict[int, int]) -> list[tuple[float, float]]:
    """(access time in ms, share of requests slower than the bin below) by rising time; thinned to about `POINTS_MAX`."""
    total = beyond = sum(bins.values())
    series = []
    for bound in sorted(bins):
        series.append((bound / 1e6, beyond / total))
        beyond -= bins[bound]
    step = max(1, len(series) // POINTS_MAX)
    return series[::step] + ([series[-1]] if (len(series) - 1) % step else [])


def exceedance(bins: dict[str, dict[str, dict[int, int]]]) -> alt.TopLevelMixin:
    """`bins`: {panel: {setting: {upper bound in ns: count}}}; both axes logarithmic."""
    rows = [
        {"panel": panel, "setting": setting, "ms": ms, "share": share}
        for panel, by_setting in bins.items()
        for setting, histogram in by_setting.items()
        for ms, share in curve(histogram)
    ]
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    colours, dashes, _ = scales(settings)
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            x=alt.X(
                "ms:Q", title="access time [ms]", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(tickCount=4)
            ),
            y=alt.Y(
                "share:Q", title="share of requests slower", scale=alt.Scale(type="log"), axis=alt.Axis(format="~p")
            ),
            color=alt.Color("setting:N", scale=colours, title=None),
            strokeDash=alt.StrokeDash("setting:N", scale=dashes, title=None),
        )
        .properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
    )
    faceted = chart.facet(facet=alt.Facet("panel:N", sort=list(bins), title=None), columns=PANEL_COLUMNS)
    return configured(faceted.resolve_scale(x="independent"))
