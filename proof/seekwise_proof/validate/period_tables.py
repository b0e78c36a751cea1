"""Tables of periods: `table,period,start_s,use,setting,metric,value`, as a live-switched run makes them.

Truth beside it: `table,use,metric,setting_a,setting_b,ratio`, ratio = true a / b. The order of the periods matters:
consecutive periods are correlated, and a setting can leave something behind for the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seekwise.judge.decision.pairs import Pair, pairs
from seekwise.judge.decision.table import Conditions, UseFigure, values_of
from seekwise.judge.decision.verdicts import judge, log_of_share
from seekwise.judge.rule import THRESHOLD_OF_PERIODS

COLUMNS = ("table", "period", "start_s", "use", "setting", "metric", "value")
TRUTH_COLUMNS = ("table", "use", "metric", "setting_a", "setting_b", "ratio")
MORE_IS_BETTER = ("rate", "iops", "efficiency", "throughput", "bandwidth", "fairness")
"""Words in names of metrics of which more is better; of all others less is."""


def more_is_better(metric: str) -> bool:
    """Whether larger values of a metric of this name are better."""
    return any(word in metric.lower() for word in MORE_IS_BETTER)


def threshold(metric: str) -> float:
    """5 % for rates and CPU, 10 % for latencies and the background."""
    limits = THRESHOLD_OF_PERIODS
    if metric.startswith("background"):
        return limits.background
    return limits.rate if more_is_better(metric) or "cpu" in metric.lower() else limits.latency


@dataclass(frozen=True)
class PeriodRow:
    """One value. `start_s` orders periods of equal number."""

    table: str
    period: int
    start_s: float
    use: str
    setting: str
    metric: str
    value: float


def entries(rows: Iterable[PeriodRow]) -> dict[str, list[UseFigure]]:
    """{table: entries} with the periods of each in the order of time."""
    groups: dict[tuple[str, str, str], list[PeriodRow]] = {}
    for row in rows:
        groups.setdefault((row.table, row.use, row.metric), []).append(row)
    figures: dict[str, list[UseFigure]] = {}
    for (table, use, metric), members in groups.items():
        members.sort(key=lambda row: (row.start_s, row.period) if math.isfinite(row.start_s) else (0.0, row.period))
        values = values_of([(row.setting, row.value) for row in members])
        figures.setdefault(table, []).append(
            UseFigure(
                use,
                metric,
                "",
                more_is_better(metric),
                threshold(metric),
                values,
                table=table,
                conditions=Conditions(metric),
            )
        )
    return figures


def verdicts(rows: Sequence[PeriodRow]) -> list[Pair]:
    """Every pair of settings of every use by every metric."""
    return [pair for members in entries(rows).values() for pair in pairs(judge(members))]


def limit_log(metric: str) -> float:
    """What counts as a difference, on the log scale."""
    return log_of_share(threshold(metric), more_is_better(metric))
