"""The charts of a study's page: which figures, over which factors, at most a dozen before "more"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seekwise.grouping import grouped
from seekwise.number_text import three
from seekwise.report.charts.panels import ChartPoint, Panel, PanelChart, Series
from seekwise.report.frame import Axes, Frame, axes, combinations, has, is_number, shown
from seekwise.report.latencies import held_words
from seekwise.report.looks import Look, Looks
from seekwise.report.rows import METRICS, Row

CHARTS_FIRST = 12
MORE_MOST = 24
POINTS_MOST = 6000
"""Charts behind "more", and points drawn ahead on one page: half a megabyte. What is left is drawn when a reader asks
for it."""


@dataclass(frozen=True)
class View:
    """How a metric is called and read. `name`: of its chart and of the picture's file."""

    name: str
    title: str
    unit: str
    caption: str


VIEWS = {
    "rate_mb_s": View("rate", "Throughput", "MB/s", "All threads together; 1 MB is 10⁶ bytes."),
    "iops": View("iops", "IOPS", "I/O per second", "Requests per second, all threads together."),
    "access_ms": View("access-time", "Mean latency", "ms", "Mean time of one request as the thread sees it."),
    "p50_ms": View("p50", "Median latency", "ms", "Half of the requests took no longer."),
    "p99_ms": View(
        "p99", "p99 latency", "ms", "99 % of the requests took no longer; shown where at least 20 took longer."
    ),
    "p999_ms": View(
        "p999", "p99.9 latency", "ms", "99.9 % of the requests took no longer; shown where at least 20 took longer."
    ),
    "cpu_us": View("cpu-time", "CPU time per I/O", "µs", "System CPU time (system, interrupts) per request."),
    "cpu_efficiency": View(
        "cpu-efficiency", "CPU efficiency", "MB per CPU second", "MB moved per second of system CPU time."
    ),
}
DRAWN = ("rate_mb_s", "access_ms", "p99_ms", "cpu_us", "cpu_efficiency")
MARK = "Marks: geometric mean of the repeats; bars: 95 % interval."


def figures(table: Frame, looks: Looks, at: Axes | None = None) -> tuple[list[PanelChart], list[PanelChart], int]:
    """(shown first, behind "more", how many are left to the table)."""
    at = at or axes(table)
    groups = combinations(table, at.rest)
    by_group = grouped((tuple(row[name] for name in at.rest), row) for row in table.rows)
    wanted = [
        (metric, number)
        for metric in DRAWN
        for number, group in enumerate(groups)
        if any(row[metric] is not None for row in by_group[tuple(group.values())])
    ]
    if len(groups) > 3:
        # Every metric of the combination whose rates differ most, then throughput of the others, what differs first.
        apart = [_apart(by_group[tuple(group.values())], at) for group in groups]
        order = sorted(range(len(groups)), key=lambda number: -apart[number])
        wanted.sort(key=lambda pair: (pair[1] != order[0], DRAWN.index(pair[0]), order.index(pair[1])))
    first: list[PanelChart] = []
    more: list[PanelChart] = []
    points = 0
    for metric, number in wanted:
        each = figure(table, at, metric, groups[number], looks, number, by_group[tuple(groups[number].values())])
        points += each.points
        if first and (points > POINTS_MOST or len(more) == MORE_MOST):
            break
        (first if len(first) < CHARTS_FIRST else more).append(each)
    return first, more, len(wanted) - len(first) - len(more)


def _apart(rows: Sequence[Row], at: Axes) -> float:
    """How many times as fast the fastest is as the slowest, in the panel where that is most."""
    panels = grouped((row[at.panel] if at.panel else None, row["rate_mb_s"]) for row in rows if row["rate_mb_s"])
    return max((max(rates) / min(rates) for rates in panels.values()), default=0.0)


def figure(
    table: Frame,
    at: Axes,
    metric: str,
    group: dict[str, object],
    looks: Looks,
    number: int,
    of_group: Sequence[Row],
) -> PanelChart:
    """One metric over one factor, all else held at `group`, of which `of_group` are the rows."""
    rows = [row for row in of_group if row[metric] is not None]
    view = VIEWS[metric]
    here = {name: [v for v in table.factors[name] if any(row[name] == v for row in rows)] for name in (at.x, at.panel, at.colour) if name}  # fmt: skip
    colours = here.get(at.colour or "", [None])
    known = looks_for(looks, table, at.colour)
    panels = []
    for panel in here.get(at.panel or "", [None]):
        mine = [row for row in rows if at.panel is None or row[at.panel] == panel]
        places = [v for v in here[at.x] if any(row[at.x] == v for row in mine)]
        series = []
        for colour in colours:
            points = [
                ChartPoint(
                    places.index(row[at.x]),
                    float(row[metric]),
                    row[f"{metric}_low"],
                    row[f"{metric}_high"],
                    tip(row, metric),
                )
                for row in mine
                if at.colour is None or row[at.colour] == colour
            ]
            if points:
                label = view.title if at.colour is None else shown(at.colour, colour)
                series.append(Series(known[label], tuple(sorted(points, key=lambda point: point.place))))
        title = "" if at.panel is None else shown(at.panel, panel)
        panels.append(Panel(title, tuple(shown(at.x, v) for v in places), tuple(series)))
    panels, x_title = with_unit(panels, table.title(at.x))
    held = held_words(group)
    name = view.name + (f"-{number + 1}" if number else "")
    return PanelChart(
        name=name,
        title=view.title + (f", {held}" if held else ""),
        unit=view.unit,
        better=METRICS[metric],
        x_title=x_title,
        panels=tuple(panels),
        caption=f"{view.caption} {MARK if any(row[f'{metric}_low'] is not None for row in rows) else 'One repeat: no interval.'}",
        colour_title="" if at.colour is None else table.title(at.colour),
        spec={"metric": metric, "group": number},
    )


UNIT = re.compile(r"[\d.]+ (\D+)")


def with_unit(panels: list[Panel], title: str) -> tuple[list[Panel], str]:
    """A unit that all labels of an axis share stands in its title: labels as short as can be."""
    labels = {label for panel in panels for label in panel.labels}
    units = {match[1] for label in labels if (match := UNIT.fullmatch(label))}
    plain = [label for label in labels if not UNIT.fullmatch(label)]
    if len(units) != 1 or any(label[:1].isdigit() for label in plain):
        return panels, title
    unit = units.pop()
    return [
        replace(drawn, labels=tuple(label.removesuffix(f" {unit}") for label in drawn.labels)) for drawn in panels
    ], f"{title} [{unit}]"


def looks_for(looks: Looks, table: Frame, name: str | None) -> dict[str, Look]:
    """Looks of all levels of a factor; one for charts without colours."""
    if name is None:
        return {view.title: looks.by_label(["all"], kind="none")["all"] for view in VIEWS.values()}
    levels = table.factors[name]
    ordered = all(is_number(level) for level in levels)
    kind = "setting" if name in table.subject else name
    return looks.by_label([shown(name, level) for level in levels], ordered=ordered, kind=kind)


def tip(row: Row, metric: str) -> str:
    """`123 MB/s (120 to 126), 1900 IOPS, n = 3`."""
    low, high = row[f"{metric}_low"], row[f"{metric}_high"]
    words = f"{three(row[metric])} {VIEWS[metric].unit}"
    if low is not None:
        words += f" ({three(low)} to {three(high)})"
    if metric == "rate_mb_s" and row["iops"] is not None:
        words += f", {three(row['iops'])} IOPS"
    return f"{words}, n = {row['n']}"


def late_rows(table: Frame) -> dict[str, object]:
    """The table of numbers for the browser to fill: the words of each factor's levels; rows of places in them, repeats
    and values."""
    metrics = [name for name in VIEWS if has(table, name)]
    places = {name: {level: at for at, level in enumerate(levels)} for name, levels in table.factors.items()}
    return {
        "factors": [[shown(name, value) for value in levels] for name, levels in table.factors.items()],
        "rows": [
            [*(places[name][row[name]] for name in table.factors), row["n"], *(_rounded(row[name]) for name in metrics)]
            for row in table.rows
        ],
    }


def _rounded(value: object) -> float | None:
    return None if value is None else float(f"{float(value):.4g}")  # type: ignore[arg-type]
