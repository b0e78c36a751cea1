"""The graphs of a published text: one metric over threads, a panel per system, a line per scheduler."""

from __future__ import annotations

from collections.abc import Sequence

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

LOOKS = {
    "rate": ("rate [MB/s]", "higher"),
    "access_time": ("access time [ms]", "lower"),
    "cpu_efficiency": ("MB per SYS-CPU second", "higher"),
    "sys_cpu": ("SYS-CPU share [%]", "lower"),
    "cpu_load": ("CPU load [%]", "lower"),
}
"""Title of the y axis, and which way is better."""


def drawn(
    figure: Figure, records: Sequence[Record], systems: Sequence[System], looks: Looks
) -> multiples.PanelChart | None:
    """The figure; None where the records answer nothing of it."""
    asked = [figure.operation] if figure.operation else operations.OPERATIONS
    named = [system_title(name, systems) for name in figure.systems]
    titles = dict(zip(figure.systems, figure.panel_titles or named, strict=True))
    # {panel: {setting: {threads: values of the repeats}}}
    values: dict[str, dict[str, dict[int, list[float]]]] = {}
    for (system, setting, operation, threads, _), repeated in repeats(records, figure.metric or "rate").items():
        if system in figure.systems and operation in asked:
            panel = titles[system] if figure.operation else operations.name(operation)
            values.setdefault(panel, {}).setdefault(setting, {})[threads] = repeated
    if not values:
        return None
    panels = list(titles.values()) if figure.operation else [operations.name(name) for name in asked]
    settings = sorted({setting for of_panel in values.values() for setting in of_panel}, key=_order)
    known = looks.by_label(settings)
    counts = sorted({count for of_panel in values.values() for by_count in of_panel.values() for count in by_count})
    made = tuple(
        multiples.Panel(
            panel,
            tuple(map(str, counts)),
            tuple(
                multiples.Series(
                    known[setting], tuple(_point(counts, *value) for value in sorted(values[panel][setting].items()))
                )
                for setting in settings
                if setting in values[panel]
            ),
            figure.y_max,
        )
        for panel in panels
        if panel in values
    )
    caption = f"{figure.caption}. Bars: least and greatest of the repeats."
    if missing := [panel for panel in titles.values() if figure.operation and panel not in values]:
        caption += f" No answer for {', '.join(missing)}."
    title, better = LOOKS[str(figure.metric)]
    return multiples.PanelChart(
        name=f"figure-{figure.number:02}", title=f"Figure {figure.number}: {title}", unit="", better=better,
        x_title="threads", panels=made, caption=caption,
    )  # fmt: skip


def _point(counts: Sequence[int], threads: int, values: Sequence[float]) -> multiples.ChartPoint:
    low, high, mean = min(values), max(values), mean_of(values, "plain")
    said = f"{threads} threads: {three(mean)} ({three(low)} to {three(high)}), n = {len(values)}"
    ends = (low, high) if len(values) > 1 else (None, None)
    return multiples.ChartPoint(counts.index(threads), mean, ends[0], ends[1], said)


ORDER = ("noop", "deadline", "anticipatory", "cfq", "none", "mq-deadline", "bfq", "kyber")


def _order(setting: str) -> tuple[int, tuple[object, ...]]:
    return (ORDER.index(setting) if setting in ORDER else len(ORDER), natural(setting))
