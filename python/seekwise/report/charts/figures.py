"""The graphs of a published text: one metric over threads, a panel per system on one y axis, a line per scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from seekwise.judge.printed import mean_of, repeats
from seekwise.judge.system_choices import kind_of
from seekwise.number_text import natural, three
from seekwise.report.charts import panels as multiples
from seekwise.report.charts.style import configured, scales
from seekwise.report.looks import Looks
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.study.shown import Figure
from seekwise.workload.study.study import System

Y_TITLES = {
    "rate": "rate [MB/s]",
    "access_time": "access time [ms]",
    "cpu_efficiency": "MB per SYS-CPU second",
    "sys_cpu": "SYS-CPU share [%]",
    "cpu_load": "CPU load [%]",
}
WIDTH, HEIGHT, NARROW = 330, 260, 178


def panel_title(name: str, systems: Sequence[System]) -> str:
    """`A: hardware RAID 1, 9650-2LP`: what a system's name stands for, without what all have; the name alone where that is nothing."""
    system = next((each for each in systems if each.name == name), None)
    if system is None:
        return name
    others = [_parts(each) for each in systems if each.name != name]
    parts = [part for part in _parts(system) if not others or not all(part in each for each in others)]
    return f"{name}: {', '.join(parts)}" if parts else name


def _parts(system: System) -> list[str]:
    """Kind, controller, chunk and drives of a system."""
    chunk = f"chunk {system.chunk_kib[0]} KiB" if system.chunk_kib else None
    drives = f"{system.drives} × {system.drive}" if system.drives > 1 else system.drive
    parts = [None if drives == system.drive else kind_of(system), system.controller, chunk, drives]
    return [part for part in parts if part]


def figure_rows(
    figure: Figure, records: Sequence[Record], systems: Sequence[System] = ()
) -> tuple[list[dict], list[str], list[str]]:
    """(a row per panel, setting and thread count; panels with an answer; panels without one)."""
    known = repeats(records, figure.metric)
    asked = [figure.operation] if figure.operation else operations.OPERATIONS
    named = [panel_title(name, systems) for name in figure.systems]
    titles = dict(zip(figure.systems, figure.panel_titles or named, strict=True))
    rows = [
        {
            "panel": titles[system] if figure.operation else operations.name(operation),
            "setting": setting.upper(),
            "threads": threads,
            "value": mean_of(values, "plain"),
            "low": min(values),
            "high": max(values),
            "n": len(values),
        }
        for (system, setting, operation, threads, _), values in known.items()
        if system in figure.systems and operation in asked
    ]
    panels = list(titles.values()) if figure.operation else [operations.name(name) for name in asked]
    shown = [panel for panel in panels if any(row["panel"] == panel for row in rows)]
    return rows, shown, [panel for panel in titles.values() if figure.operation and panel not in shown]


def graph(figure: Figure, records: Sequence[Record], systems: Sequence[System] = ()) -> alt.TopLevelMixin | None:
    """The figure, or None when the records answer nothing of it."""
    rows, panels, missing = figure_rows(figure, records, systems)
    if not rows:
        return None
    drawn = _panels(figure, rows, panels, shared=figure.operation is not None)
    # A panel of which nothing is known keeps its place.
    if missing:
        drawn = drawn.properties(title=alt.Title(f"no answer for {', '.join(missing)}", anchor="start", fontSize=11))
    return configured(drawn)


def drawn(
    figure: Figure, records: Sequence[Record], systems: Sequence[System], looks: Looks
) -> multiples.PanelChart | None:
    """The same figure for the page."""
    rows, panels, missing = figure_rows(figure, records, systems)
    if not rows:
        return None
    settings = sorted({str(row["setting"]) for row in rows}, key=_order)
    known = looks.of([setting.lower() for setting in settings])
    counts = sorted({int(row["threads"]) for row in rows})
    title = figure.y_title or Y_TITLES[str(figure.metric)]
    made = []
    for panel in panels:
        series = []
        for setting in settings:
            mine = [row for row in rows if row["panel"] == panel and row["setting"] == setting]
            points = [
                multiples.ChartPoint(
                    counts.index(row["threads"]),
                    row["value"],
                    row["low"] if row["n"] > 1 else None,
                    row["high"] if row["n"] > 1 else None,
                    f"{row['threads']} threads: {three(row['value'])} ({three(row['low'])} to {three(row['high'])}), n = {row['n']}",
                )
                for row in sorted(mine, key=lambda row: row["threads"])
            ]
            if points:
                series.append(multiples.Series(known[setting.lower()], tuple(points)))
        made.append(multiples.Panel(panel, tuple(map(str, counts)), tuple(series)))
    caption = f"{figure.caption}. Bars: least and greatest of the repeats."
    if missing:
        caption += f" No answer for {', '.join(missing)}."
    return multiples.PanelChart(
        name=f"figure-{figure.number:02}", title=f"Figure {figure.number}: {title}", unit="", better=BETTER.get(str(figure.metric), ""),
        x_title="threads", panels=tuple(made), caption=caption,
    )  # fmt: skip


BETTER = {"rate": "higher", "access_time": "lower", "cpu_efficiency": "higher", "sys_cpu": "lower", "cpu_load": "lower"}


def _panels(figure: Figure, rows: list[dict], panels: list[str], *, shared: bool) -> alt.FacetChart:
    settings = sorted({str(row["setting"]) for row in rows}, key=_order)
    colours, dashes, markers = scales([setting.lower() for setting in settings])
    for scale in (colours, dashes, markers):
        scale.domain = settings
    counts = sorted({int(row["threads"]) for row in rows})
    most = max(max(row["value"] for row in rows), figure.y_max or 0.0)
    # An axis as printed, longer where a value would leave it.
    domain = {"domain": [figure.y_min or 0.0, most]} if figure.y_max is not None else {"zero": True}
    y = alt.Y("value:Q", title=figure.y_title or Y_TITLES[str(figure.metric)], scale=alt.Scale(nice=True, **domain))
    x = alt.X(
        "threads:Q",
        title="threads",
        scale=alt.Scale(domain=[0.6, counts[-1] + 0.4], nice=False),
        axis=alt.Axis(values=list(range(1, counts[-1] + 1)) if counts[-1] <= 8 else counts, format="d", grid=False),
    )
    base = alt.Chart().encode(x=x, color=alt.Color("setting:N", scale=colours, title=None))
    layers = [
        base.mark_line(strokeWidth=1.6, opacity=0.85).encode(
            y=y, strokeDash=alt.StrokeDash("setting:N", scale=dashes, title=None)
        ),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=False, size=70, strokeWidth=1.8, opacity=1).encode(
            y=y, shape=alt.Shape("setting:N", scale=markers, title=None)
        ),
    ]
    width = WIDTH if len(panels) <= 2 or shared else NARROW
    chart = alt.layer(*layers, data=alt.Data(values=rows)).properties(width=width, height=HEIGHT)
    faceted = chart.facet(
        facet=alt.Facet("panel:N", sort=panels, title=None, header=alt.Header(labelLimit=width)), columns=4
    )
    return faceted if shared else faceted.resolve_scale(y="independent")


ORDER = ("NOOP", "DEADLINE", "ANTICIPATORY", "CFQ", "NONE", "MQ-DEADLINE", "BFQ", "KYBER")


def _order(setting: str) -> tuple[int, tuple]:
    return (ORDER.index(setting) if setting in ORDER else len(ORDER), natural(setting))
