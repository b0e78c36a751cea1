"""What each candidate loses against the best, use by use: the picture on a study's first screen.

A row of a study is one operation on one system (or family of arrays). Its combinations are weighed like in `seekwise
advise`, so picture, answer and table come from one rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from seekwise.errors import UsageError
from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.rule import THRESHOLD_SHARE, more_is_better
from seekwise.judge.system_choices import OVERALL, competitions, system_title
from seekwise.judge.workloads import OperationMix, Weighed, WeighedSetting, weigh
from seekwise.number_text import by
from seekwise.report.charts.live_svg import Distance, distances
from seekwise.report.content import ReportContent
from seekwise.report.looks import Look, Looks
from seekwise.report.metric_words import METRIC_NAMES, NO_BOUND_FACTOR, shown_setting
from seekwise.store import operations
from seekwise.store.operations import OPERATIONS, Operation
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX

LINES_MOST = 16
"""Lines on the first screen, one per candidate; with more, all candidates of a row share one picture."""
METRICS = ("rate", "p99")


@dataclass(frozen=True)
class LossBlock:
    """One operation of one system, or one use, by one metric."""

    place: str
    """The operation, or the use."""
    metric: str
    best: str
    rows: tuple[Distance, ...]
    """The nearest to the best first."""
    picture: Markup
    """All candidates in one."""
    words: str
    """What the recommended ones lose."""
    system: str = ""
    judged: Judged | None = None
    """What it was made from, of a live-switched run."""

    @property
    def first(self) -> str:
        """The best one by its estimate."""
        return next((row.look.label for row in self.rows if row.is_best), "the best")


def blocks(
    content: ReportContent, looks: Looks, operations: Sequence[Operation | None] = OPERATIONS
) -> list[LossBlock]:
    """By throughput for every operation, by p99 latency where a setting is shown to be worse in it. Empty where nothing
    competes."""
    return [
        block
        for system, records in _competitions(content)
        for operation in operations
        for block in _by_metric(content, system, records, operation, looks)
    ]


def overview(content: ReportContent, looks: Looks) -> list[LossBlock]:
    """The same over all operations of each system: the first screen of a study with several systems."""
    return blocks(content, looks, [None])


def _by_metric(
    content: ReportContent, system: str, records: Sequence[Record], operation: str | None, looks: Looks
) -> list[LossBlock]:
    blocks = []
    for metric in METRICS:
        weighed = _weighed(records, operation, metric)
        if weighed is None:
            continue
        block = _block(content, system, operation, metric, weighed, looks)
        if metric == "rate" or any(row.low > 1 + THRESHOLD_SHARE[metric] for row in block.rows):
            blocks.append(block)
    return blocks


def largest_loss(blocks: Sequence[LossBlock]) -> str:
    """Where the recommended setting loses most, as a sentence; empty where it is shown to lose nothing."""
    shown = [
        (row, block)
        for block in blocks
        for row in block.rows
        if row.chosen and row.factor is not None and row.low > 1 and row.factor > 1 + THRESHOLD_SHARE["p99"]
    ]
    if not shown:
        return ""
    row, block = max(shown, key=lambda pair: pair[0].factor or 1.0)
    where = f"{block.system}, {block.place.lower()}" if block.system else block.place.lower()
    what = "" if block.metric == METRIC_NAMES["rate"] else f"{block.metric} "
    return f"{row.look.label} costs most in {where}: {what}{row.words} than {block.first}"


def _competitions(content: ReportContent) -> list[tuple[str, list[Record]]]:
    valid = [r for r in content.records if r.valid and not r.setting.endswith(CONTROL_SUFFIX)]
    if content.study is not None:
        by_system = [(system, records) for system, _, records in competitions(content.study, valid)]
        return [(system if len(by_system) > 1 else "", records) for system, records in by_system]
    systems = list(dict.fromkeys(str(r.factors.get("system", "")) for r in valid))
    many = len(systems) > 1
    groups = [
        (system_name if many else "", [r for r in valid if str(r.factors.get("system", "")) == system_name])
        for system_name in systems
    ]
    return [(name, records) for name, records in groups if len({r.setting for r in records}) > 1]


def _chosen(content: ReportContent, system: str) -> set[str]:
    for choice in content.advice.choices:
        if choice.use == "overall" and not choice.threads and (choice.system == system or not system):
            return set() if choice.is_level else set(choice.named)
    return set(content.advice.recommended)


def _weighed(records: Sequence[Record], operation: str | None, metric: str) -> Weighed | None:
    """Weighed against the best by this metric; None where nothing can be told."""
    settings = list(dict.fromkeys(record.setting for record in records))
    use = OperationMix(operation, "", "all", {operation: 1.0}) if operation else OVERALL
    try:
        first = weigh(records, use, settings[0])
        if sum(metric in standing.ratios for standing in first.standings) < 2:
            return None
        return weigh(records, use, _best(first, metric))
    except (UsageError, ValueError):
        return None


def _best(weighed: Weighed, metric: str) -> str:
    known = [standing for standing in weighed.standings if metric in standing.ratios]
    sign = 1 if more_is_better(metric) else -1
    return max(known, key=lambda s: sign * s.ratios[metric][0]).setting


def _block(
    content: ReportContent, system: str, operation: str | None, metric: str, weighed: Weighed, looks: Looks
) -> LossBlock:
    names = sorted(s.setting for s in weighed.standings)
    if content.plan is not None:
        order = [setting.label for setting in content.plan.settings]
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
    labels = [shown_setting(name) for name in names]
    ordered = all(label[:1].isdigit() for label in labels)
    if ordered:
        labels.sort(key=lambda label: float(re.match(r"[\d.]+", label)[0]))  # type: ignore[index]
    known = looks.by_label(labels, ordered=ordered)
    chosen = _chosen(content, system)
    limit = 1 / (1 - THRESHOLD_SHARE[metric]) if more_is_better(metric) else 1 + THRESHOLD_SHARE[metric]
    now = content.plan.systems[0].scheduler if content.plan is not None and content.plan.backend == "kernel" else None
    rows = [
        _row(
            standing, metric, limit, known[shown_setting(standing.setting)], weighed.reference, standing.setting in chosen, now
        )
        for standing in weighed.standings
    ]  # fmt: skip
    rows.sort(key=lambda row: row.factor if row.factor is not None else math.inf)
    ordered_rows = sorted(rows, key=lambda row: labels.index(row.look.label))
    name = operations.name(operation) if operation else "all operations"
    title = ", ".join(part for part in (system, name, METRIC_NAMES[metric]) if part)
    return LossBlock(
        name,
        METRIC_NAMES[metric],
        _best_text(rows, weighed, metric),
        tuple(rows),
        distances(ordered_rows, title),
        "; ".join(f"{row.look.label} {row.words}" for row in rows if row.chosen),
        system_title(system, content.systems),
    )


def _row(
    standing: WeighedSetting, metric: str, limit: float, look: Look, reference: str, chosen: bool, now: str | None
) -> Distance:
    is_best = standing.setting == reference
    ratio, low, high = standing.ratios.get(metric, (math.nan,) * 3) if not is_best else (1.0, 1.0, 1.0)
    if more_is_better(metric):
        ratio, low, high = (
            (1 / ratio if ratio else math.inf),
            (1 / high if high else math.nan),
            (1 / low if low else math.inf),
        )
    factor = max(ratio, 1.0) if math.isfinite(ratio) else None
    low = max(low, 1.0) if math.isfinite(low) else 1.0
    # 2 repeats say next to nothing: an interval beyond the page has no end.
    high = max(high, 1.0) if math.isfinite(high) else math.inf
    words = _words(factor, low, high, limit, metric, is_best=is_best)
    in_force = now is not None and shown_setting(standing.setting) == now
    return Distance(look, factor, low, high, words, limit, chosen, in_force, is_best)


def _best_text(rows: Sequence[Distance], weighed: Weighed, metric: str) -> str:
    """Names of those that the best does not beat."""
    if metric == "rate":
        best = [shown_setting(name) for name in weighed.best]
    else:
        best = [row.look.label for row in rows if row.factor is not None and row.low <= 1]
        if len(best) == len(rows):
            best = []
    return "" if not best else "all alike" if len(best) == len(rows) else ", ".join(best)


def _words(factor: float | None, low: float, high: float, limit: float, metric: str, *, is_best: bool) -> str:
    if is_best:
        return "fastest" if metric == "rate" else "shortest"
    if factor is None:
        return "not measured"
    if not math.isfinite(high):
        return f"{amount(factor, metric)}; no interval"
    if high <= limit:
        return f"within {100 * THRESHOLD_SHARE[metric]:.0f} %"
    if low <= 1:
        bound = f": at most {amount(high, metric)}" if high < NO_BOUND_FACTOR else ""
        return f"not measured long enough{bound}"
    return amount(factor, metric)


def amount(factor: float, metric: str) -> str:
    """`12 % slower`, `3.1 times longer`."""
    word = "slower" if more_is_better(metric) else "longer"
    if factor < 1.0005:
        return "level"
    return by(factor, word, of_rate=more_is_better(metric))
