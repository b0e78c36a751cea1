"""The graphs of a published text: one metric over threads, a panel per system, a line per scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seekwise.judge.repeats import repeats
from seekwise.judge.system_choices import system_title
from seekwise.number_text import natural, three
from seekwise.report.charts import panels as multiples
from seekwise.report.looks import Looks
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.study.study import System
from seekwise_papers.printed_tables import mean_of
from seekwise_papers.publication import Figure

Y_TITLES = {
    "rate": "rate [MB/s]",
    "access_time": "access time [ms]",
    "cpu_efficiency": "MB per SYS-CPU second",
    "sys_cpu": "SYS-CPU share [%]",
    "cpu_load": "CPU load [%]",
}
BETTER = {"rate": "higher", "access_time": "lower", "cpu_efficiency": "higher", "sys_cpu": "lower", "cpu_load": "lower"}


def figure_rows(
    figure: Figure, records: Sequence[Record], systems: Sequence[System] = ()
) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """(a row per panel, setting and thread count; panels with an answer; panels without one)."""
    known = repeats(records, figure.metric or "rate")
    asked = [figure.operation] if figure.operation else operations.OPERATIONS
    named = [system_title(name, systems) for name in figure.systems]
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


def drawn(
    figure: Figure, records: Sequence[Record], systems: Sequence[System], looks: Looks
) -> multiples.PanelChart | None:
    """The figure; None where the records answer nothing of it."""
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


ORDER = ("NOOP", "DEADLINE", "ANTICIPATORY", "CFQ", "NONE", "MQ-DEADLINE", "BFQ", "KYBER")


def _order(setting: str) -> tuple[int, tuple[object, ...]]:
    return (ORDER.index(setting) if setting in ORDER else len(ORDER), natural(setting))
