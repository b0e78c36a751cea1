"""What each candidate loses against the best, use by use: the picture on a study's first screen.

A row of a study is one operation on one system (or family of arrays). Its cells are weighed like in `seekwise advise`, so picture, answer and
table come from one rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from seekwise.advise.answer import OVERALL, competitions
from seekwise.advise.workloads import Weighed, Workload, weigh
from seekwise.analysis.rule import CONTROL_SUFFIX, RULE, more_is_better
from seekwise.errors import UsageError
from seekwise.report.charts import live_svg
from seekwise.report.charts.figures import panel_title
from seekwise.report.content import ReportContent
from seekwise.report.looks import Look, Looks
from seekwise.report.rows import OPERATION_NAMES, OPERATION_ORDER
from seekwise.store.record import Record

FIRST_ROWS = 24
"""Rows on the first screen; the rest stands behind a click."""
METRIC_NAMES = {"rate": "throughput", "access_time": "mean latency", "p99": "p99 latency"}


@dataclass(frozen=True)
class LossRow:
    look: Look
    loss: float | None
    low: float
    high: float | None
    words: str
    picture: Markup
    chosen: bool
    in_force: bool


@dataclass(frozen=True)
class LossBlock:
    """One operation of one system by one metric."""

    system: str
    operation: str
    metric: str
    best: str
    rows: tuple[LossRow, ...]
    decided: bool
    picture: Markup
    """All candidates in one."""
    words: str
    """What the recommended ones lose."""


def blocks(content: ReportContent, looks: Looks) -> list[LossBlock]:
    """Empty where nothing competes."""
    found = []
    for system, records in _competitions(content):
        chosen = _chosen(content, system)
        for operation in OPERATION_ORDER:
            weighed = _weighed(records, operation)
            if weighed is not None:
                found += _blocks(content, system, operation, weighed, looks, chosen)
    return found


def overview(content: ReportContent, looks: Looks) -> list[LossBlock]:
    """One block per system over all its operations: the first screen of a study with several systems."""
    found = []
    for system, records in _competitions(content):
        weighed = _weighed(records, None)
        if weighed is not None:
            found += _blocks(content, system, "", weighed, looks, _chosen(content, system))
    return found


def price(found: Sequence[LossBlock]) -> str:
    """Where the recommended setting loses most, as a sentence; empty where it is shown to lose nothing."""
    shown = [
        (row, block)
        for block in found
        for row in block.rows
        if row.chosen and row.loss is not None and row.low > 0 and row.loss > RULE.threshold_share["rate"]
    ]
    if not shown:
        return ""
    row, block = max(shown, key=lambda pair: pair[0].loss or 0.0)
    first = next((each.look.label for each in block.rows if each.words == "fastest"), "the fastest")
    where = f"{block.system}, {block.operation.lower()}" if block.system else block.operation.lower()
    return f"{row.look.label} costs most in {where}: {row.words.replace('slower', f'slower than {first}')}"


def _competitions(content: ReportContent) -> list[tuple[str, list[Record]]]:
    valid = [r for r in content.records if r.valid and not r.setting.endswith(CONTROL_SUFFIX)]
    if content.study is not None:
        found = [(system, records) for system, _, records in competitions(content.study, valid)]
        return [(system if len(found) > 1 else "", records) for system, records in found]
    systems = list(dict.fromkeys(str(r.factors.get("system", "")) for r in valid))
    many = len(systems) > 1
    groups = [
        (each if many else "", [r for r in valid if str(r.factors.get("system", "")) == each]) for each in systems
    ]
    return [(name, records) for name, records in groups if len({r.setting for r in records}) > 1]


def _chosen(content: ReportContent, system: str) -> set[str]:
    for choice in content.advice.choices:
        if choice.use == "overall" and not choice.threads and (choice.system == system or not system):
            return set() if choice.is_level else set(choice.named)
    return set(content.advice.recommended)


def _weighed(records: Sequence[Record], operation: str | None) -> Weighed | None:
    """Weighed against the fastest; None where nothing can be told."""
    settings = list(dict.fromkeys(record.setting for record in records))
    use = Workload(operation, "", "all", {operation: 1.0}) if operation else OVERALL
    try:
        first = weigh(records, use, settings[0])
        if len(first.standings) < 2:
            return None
        return weigh(records, use, _best(first, "rate"))
    except (UsageError, ValueError):
        return None


def _best(weighed: Weighed, metric: str) -> str:
    sign = 1 if more_is_better(metric) else -1
    return max(weighed.standings, key=lambda s: sign * s.ratios.get(metric, (0.0,))[0]).setting


def _blocks(
    content: ReportContent, system: str, operation: str, weighed: Weighed, looks: Looks, chosen: set[str]
) -> list[LossBlock]:
    now = content.plan.systems[0].scheduler if content.plan is not None and content.plan.backend == "kernel" else None
    names = sorted(s.setting for s in weighed.standings)
    if content.plan is not None:
        order = [setting.label for setting in content.plan.settings]
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
    labels = [shown_setting(name) for name in names]
    ordered = all(label[:1].isdigit() for label in labels)
    if ordered:
        labels.sort(key=lambda label: float(re.match(r"[\d.]+", label)[0]))  # type: ignore[index]
    known = looks.of(labels, ordered=ordered)
    rows = []
    limit = RULE.threshold_share["rate"]
    for standing in weighed.standings:
        ratio, low, high = standing.ratios.get("rate", (1.0, 1.0, 1.0))
        is_best = standing.setting == weighed.reference
        loss, least = 1 - ratio, 1 - high
        # 2 repeats say next to nothing: an interval beyond the page has no end.
        most = 1 - low if math.isfinite(low) and low > 0 else None
        words = _words(loss, least, most, limit, is_best=is_best)
        look = known[shown_setting(standing.setting)]
        rows.append(
            LossRow(
                look,
                loss,
                max(least, 0.0),
                most,
                words,
                live_svg.loss_interval(
                    live_svg.factor_of(max(least, 0.0), True),
                    live_svg.factor_of(max(loss, 0.0), True) if math.isfinite(loss) else None,
                    live_svg.factor_of(most, True) if not is_best else 1.0,
                    live_svg.factor_of(limit, True),
                    look.mark,
                    look.css,
                    f"{look.label}: {words}",
                    strong=standing.setting in chosen,
                ),
                standing.setting in chosen,
                now is not None and shown_setting(standing.setting) == now,
            )
        )
    rows.sort(key=lambda row: row.loss if row.loss is not None else 9.0)
    best = [shown_setting(name) for name in weighed.best]
    text = "open" if not best else "all alike" if len(best) == len(rows) else ", ".join(best)
    intervals = [
        live_svg.Interval(
            live_svg.factor_of(row.low, True),
            None if row.loss is None else live_svg.factor_of(max(row.loss, 0.0), True),
            live_svg.factor_of(row.high, True) if row.words != "fastest" else 1.0,
            row.look.mark,
            row.look.css,
            f"{row.look.label}: {row.words}",
            row.chosen,
        )
        for row in sorted(rows, key=lambda row: labels.index(row.look.label))
    ]
    title = ", ".join(part for part in (system, OPERATION_NAMES.get(operation, ""), METRIC_NAMES["rate"]) if part)
    together = live_svg.loss_rows(intervals, live_svg.factor_of(limit, True), title)
    chosen_rows = [row for row in rows if row.chosen]
    words = "; ".join(f"{row.look.label} {row.words}" for row in chosen_rows)
    name = OPERATION_NAMES.get(operation, "all operations")
    return [
        LossBlock(
            panel_title(system, content.systems),
            name,
            METRIC_NAMES["rate"],
            text,
            tuple(rows),
            bool(best),
            together,
            words,
        )
    ]


def _words(loss: float, least: float, most: float | None, limit: float, *, is_best: bool) -> str:
    if is_best:
        return "fastest"
    if not math.isfinite(loss):
        return "not measured"
    amount = percent_or_times(loss)
    if most is None:
        return f"{amount}; no interval"
    if most <= limit:
        return f"within {100 * limit:.0f} %"
    if least <= 0:
        return f"open, at most {percent_or_times(most)}"
    return amount


def percent_or_times(loss: float) -> str:
    """`12 % slower`, `3.1 times slower`."""
    if loss < 0.0005:
        return "level"
    if loss < 0.5:
        return f"{100 * loss:.2g} % slower"
    return f"{1 / (1 - loss):.2g} times slower" if loss < 1 else "far slower"


def shown_setting(label: str) -> str:
    """`raid_level=raid5` as `RAID 5`, `scheduler=bfq` as `bfq`; several parts stay apart."""
    parts = []
    for word in label.split():
        name, equals, value = word.partition("=")
        if equals and name == "raid_level":
            parts.append(value.replace("raid", "RAID "))
        elif equals and name == "scheduler":
            parts.append(value)
        else:
            parts.append(word.replace("_", " ").replace("=", " ") if equals else word)
    return ", ".join(parts) if "=" in label else label
