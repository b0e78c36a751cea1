"""The answer to "what if": a recorded load on other storage, in words. The command and every later output of its run say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.report.content import Advice
from seekwise.store.percentiles import merged, percentile_ns
from seekwise.store.record import Record
from seekwise.trace.load import FOREGROUND, RECORDED_P99

TIE = 0.05
"""Settings so close to the best are as good: as much as a prediction may be wrong."""


@dataclass(frozen=True)
class WhatIfRow:
    """One setting and one group of programs; means over the repeats, latencies of all of them together."""

    setting: str
    program: str
    p50_ns: int
    p99_ns: int
    mean_ns: float
    rate_bytes_per_s: float
    iops: float
    elapsed_s: float


def rows(records: Sequence[Record]) -> dict[tuple[str, str], WhatIfRow]:
    """By setting and program."""
    kept: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.phases:
            kept.setdefault((record.setting, str(record.load["program"])), []).append(record)
    return {key: _row(*key, found) for key, found in kept.items()}


def _row(setting: str, program: str, records: Sequence[Record]) -> WhatIfRow:
    phases = [record.phases[0] for record in records]
    bins = merged(phase.latency_bins for phase in phases)
    count = len(phases)
    return WhatIfRow(
        setting,
        program,
        percentile_ns(bins, 50) or 0,
        percentile_ns(bins, 99) or 0,
        sum(phase.latency_mean_ns for phase in phases) / count,
        sum(phase.rate_bytes_per_s for phase in phases) / count,
        sum(phase.iops for phase in phases) / count,
        sum(phase.elapsed_s for phase in phases) / count,
    )


def ranked(found: dict[tuple[str, str], WhatIfRow], labels: Sequence[str]) -> list[WhatIfRow]:
    """The foreground of each setting, the shortest p99 first; within a tie the higher rate."""
    front = [found[label, FOREGROUND] for label in labels if (label, FOREGROUND) in found]
    best = min((row.p99_ns for row in front), default=0)
    return sorted(
        front,
        key=lambda row: (
            row.p99_ns > best * (1 + TIE),
            row.p99_ns if row.p99_ns > best * (1 + TIE) else 0,
            -row.rate_bytes_per_s,
            row.p99_ns,
        ),
    )


def as_good(order: Sequence[WhatIfRow]) -> list[WhatIfRow]:
    """Settings that a prediction cannot tell from the best."""
    best = order[0]
    return [
        row
        for row in order
        if row.p99_ns <= best.p99_ns * (1 + TIE) and row.rate_bytes_per_s >= best.rate_bytes_per_s * (1 - TIE)
    ]


def sentence(order: Sequence[WhatIfRow], recorded_p99_ns: float | None) -> str:
    """The answer."""
    best, ties = order[0], as_good(order)
    if len(order) == 1:
        text = f"With {best.setting} the foreground's p99 would be {time_word(best.p99_ns)}"
        if recorded_p99_ns:
            text += f", {_times(recorded_p99_ns, best.p99_ns)} the recorded {time_word(recorded_p99_ns)}"
        return text + "."
    worst = max(order, key=lambda row: row.p99_ns)
    if len(ties) == len(order):
        return f"No setting stands out: all {len(order)} are within 5 % in p99 and rate."
    names = " or ".join(row.setting for row in ties[:3]) + (" …" if len(ties) > 3 else "")
    return f"Best: {names}. p99 {time_word(best.p99_ns)}, {_factor(worst.p99_ns / max(best.p99_ns, 1))} times shorter than {worst.setting}."


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def _times(old: float, new: float) -> str:
    ratio = new / max(old, 1)
    return (
        f"{_factor(1 / ratio)} times shorter than"
        if ratio < 0.97
        else f"{_factor(ratio)} times"
        if ratio > 1.03
        else "as long as"
    )


def time_word(ns: float) -> str:
    """Nanoseconds as `85 µs`, `12.3 ms` or `1.2 s`."""
    if ns < 999.5e3:
        return f"{ns / 1e3:.3g} µs"
    return f"{ns / 1e6:.3g} ms" if ns < 999.5e6 else f"{ns / 1e9:.3g} s"


def advice(records: Sequence[Record], labels: Sequence[str], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a stored run of `whatif`; None for any other run."""
    if not any("program" in record.load for record in records):
        return None
    order = ranked(rows(records), labels)
    if not order:
        return None
    recorded = next((record.load[RECORDED_P99] for record in records if RECORDED_P99 in record.load), None)
    named = tuple(row.setting for row in as_good(order)) if len(order) > 1 else ()
    text = sentence(order, float(str(recorded)) if recorded is not None else None)
    return Advice(text, caution=cautions, recommended=named if len(named) < len(order) else ())
