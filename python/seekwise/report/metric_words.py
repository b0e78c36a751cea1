"""Metrics and losses in words, the same everywhere."""

from __future__ import annotations

import math

from seekwise.analysis.decision.verdicts import Judged

FACTOR_FROM = 2.0
"""From this factor on a loss is said as "3 times longer" instead of "200 % longer"."""

STARVED_FACTOR = 1000.0

NO_BOUND_FACTOR = 100.0
"""A loss that may be larger than this is not bounded in any way that helps."""

METRIC_NAMES = {
    "time": "time per unit",
    "tail": "slow tail of the units",
    "done": "units done",
    "rate": "throughput",
    "p50": "median latency",
    "p99": "p99 latency",
    "p999": "p99.9 latency",
    "mean": "mean latency",
    "cpu": "processor time per operation",
    "fairness": "evenness among equal processes",
    "background_rate": "background throughput",
}


def percent(share: float) -> str:
    """`3 %`, `0.4 %`, `38 %`, and `over 99.9 %` of what is almost all."""
    value = 100 * share
    if 99.95 <= value < 100:
        return "over 99.9 %"
    return f"{value:.2g} %" if value < 9.95 else f"{value:.0f} %"


def loss_cell(share: float) -> str:
    """A loss in a table: in per cent, from ten times as long on `29.4×`."""
    return f"{factor_text(1 + share)}×" if share >= 9 else percent(share)


def factor_text(factor: float) -> str:
    return f"{factor:.2g}" if factor < 9.95 else f"{float(f'{factor:.3g}'):g}"


def metric_name(judged: Judged | str) -> str:
    """`p99 latency`, `background throughput`, `stores: throughput`."""
    metric = judged if isinstance(judged, str) else judged.metric
    if metric in METRIC_NAMES:
        return METRIC_NAMES[metric]
    job, _, kind = metric.rpartition("_")
    word = METRIC_NAMES.get(kind, kind)
    return f"{word} of {'the background job' if job == 'background' else job}"


def amount(loss: float, more_is_better: bool, metric: str = "") -> str:
    """`38 % less`, `150 times longer`: a loss as a share, of a rate or of a time."""
    factor = 1 + loss if not more_is_better else (1 / (1 - loss) if loss < 1 else math.inf)
    word = "less" if more_is_better else ("more" if metric.endswith("cpu") else "longer")
    if factor < FACTOR_FROM:
        return f"{percent(loss)} {word}"
    if more_is_better and factor > STARVED_FACTOR:
        # What is left of it is chance: "52500 times less" tells no more.
        return f"over 99.9 % {word}"
    return f"{factor_text(factor)} times {word}"


def open_bound(high: float, more_is_better: bool, metric: str = "") -> str:
    """An undecided loss of at most `high`, as a share: `open, at most 38 % less`; `open, no useful bound` where the bound says nothing."""
    factor = 1 + high if not more_is_better else (1 / (1 - high) if high < 1 else math.inf)
    return (
        f"open, at most {amount(high, more_is_better, metric)}" if factor < NO_BOUND_FACTOR else "open, no useful bound"
    )


def change(factor: float, more_is_better: bool, metric: str = "") -> str:
    """`12 % higher`, `3.2 times shorter`: what a value became, as a factor of what it was."""
    up, down = (
        ("higher", "lower") if more_is_better else ("more", "less") if metric.endswith("cpu") else ("longer", "shorter")
    )
    word, size = (up, factor) if factor >= 1 else (down, 1 / factor)
    if size >= FACTOR_FROM:
        return f"{factor_text(size)} times {word}"
    return f"{percent(abs(factor - 1))} {word}"
