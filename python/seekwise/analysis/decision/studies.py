"""Verdicts of a study in the shape in which live-switched runs are decided: one rule and one answer for both.

An operation is a use: its throughput says how much gets done, its p99 latency how responsive it is. Access times count only where
no throughput is known, as a closed loop's access time is its throughput read the other way round. Rows over all thread counts stand for those of single counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from scipy import special

from seekwise.analysis.decision.bounds import NOISE_FLOOR_LOG, Ahead
from seekwise.analysis.decision.verdicts import Judged, Standing, Word, share
from seekwise.analysis.model import Observation, Verdict
from seekwise.analysis.observe import POOLED_FACTOR, cell_without
from seekwise.analysis.rule import RULE, more_is_better
from seekwise.study.uses import Purpose

METRICS: dict[str, tuple[Purpose, str, float]] = {
    "rate": ("throughput", "MB/s", 1e-6),
    "p99": ("responsive", "ms", 1e-6),
    "access_time": ("throughput", "ms", 1e-6),
}
"""{metric: (purpose, unit, what a value is multiplied by)}."""


def judged(
    verdicts: Sequence[Verdict],
    observed: Iterable[Observation],
    settings: Sequence[str],
    name: Callable[[str], str] = str,
) -> list[Judged]:
    """Every cell and metric that decides; `name`: a cell as a person says it."""
    cells = {verdict.cell for verdict in verdicts}
    # A cell over all thread counts stands for its single ones.
    pooled = {
        cell for cell in cells if any(each != cell and cell_without(each, POOLED_FACTOR) == cell for each in cells)
    }
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if {verdict.setting_a, verdict.setting_b} <= set(settings) and verdict.metric in METRICS:
            whole = cell_without(verdict.cell, POOLED_FACTOR)
            if verdict.cell == whole or whole not in pooled:
                groups.setdefault((verdict.cell, verdict.metric), []).append(verdict)
    rated = {cell for cell, metric in groups if metric == "rate"}
    groups = {key: mine for key, mine in groups.items() if key[1] != "access_time" or key[0] not in rated}
    values = _values(observed)
    return [_judged(cell, metric, mine, settings, values, name(cell)) for (cell, metric), mine in groups.items()]


def _values(observed: Iterable[Observation]) -> dict[tuple[str, str, str], float]:
    """Geometric means over repetitions by cell, metric and setting."""
    logs: dict[tuple[str, str, str], list[float]] = {}
    for each in observed:
        if each.metric in METRICS and each.value > 0 and math.isfinite(each.value):
            logs.setdefault((each.cell, each.metric, each.setting), []).append(math.log(each.value))
    return {key: math.exp(sum(found) / len(found)) * METRICS[key[1]][2] for key, found in logs.items()}


def _judged(
    cell: str,
    metric: str,
    verdicts: Sequence[Verdict],
    settings: Sequence[str],
    values: dict[tuple[str, str, str], float],
    use: str,
) -> Judged:
    more = more_is_better(metric)
    limit = RULE.threshold_log(metric)
    ahead: dict[tuple[str, str], Ahead] = {}
    beaten: dict[str, set[str]] = {}
    for each in verdicts:
        if each.winner is not None:
            loser = each.setting_b if each.winner == each.setting_a else each.setting_a
            beaten.setdefault(loser, set()).add(each.winner)
        if (found := _ahead(each, more)) is not None:
            ahead[each.setting_a, each.setting_b] = found
            ahead[each.setting_b, each.setting_a] = found.turned()
    ran = [name for name in settings if any(name in (v.setting_a, v.setting_b) for v in verdicts)]
    standings = tuple(
        _standing(name, ran, ahead, beaten, limit, more, values.get((cell, metric, name))) for name in ran
    )
    purpose, unit, _ = METRICS[metric]
    return Judged(
        use, metric, unit, more, RULE.threshold_share[metric], "foreground", "", use, standings, max(v.blocks for v in verdicts),
        math.nan, purpose, "", "", metric, None, ahead,
    )  # fmt: skip


def _ahead(verdict: Verdict, more: bool) -> Ahead | None:
    """How much better a is than b; None where nothing bounds it."""
    low, high, ratio = verdict.ratio_low, verdict.ratio_high, verdict.ratio
    if not (0 < low <= high and math.isfinite(high)) or verdict.blocks < RULE.blocks_min or not ratio > 0:
        return None
    df = float(verdict.blocks - 1)
    se = (math.log(high) - math.log(low)) / 2 / float(special.stdtrit(df, 0.975))
    return Ahead(math.log(ratio) * (1 if more else -1), max(se, NOISE_FLOOR_LOG), df, verdict.blocks)


def _standing(
    name: str,
    ran: Sequence[str],
    ahead: dict[tuple[str, str], Ahead],
    beaten: dict[str, set[str]],
    limit: float,
    more: bool,
    value: float | None,
) -> Standing:
    others = [other for other in ran if other != name]
    known = [ahead[other, name] for other in others if (other, name) in ahead]
    loss = max([0.0, *(each.mean for each in known)])
    low = max([0.0, *(each.low(0.025) for each in known)])
    high = max([0.0, *(each.high(0.025) for each in known)]) if len(known) == len(others) else math.inf
    word: Word = "undecided"
    if beaten.get(name):
        word = "worse"
    elif others and all(name in beaten.get(other, ()) for other in others):
        word, loss, low, high = "best", 0.0, 0.0, 0.0
    elif high <= limit:
        word = "within"
    return Standing(
        name, word, value, share(loss, more), share(low, more), share(high, more) if math.isfinite(high) else None,
        max((each.rounds for each in known), default=0), math.exp(loss),
    )  # fmt: skip
