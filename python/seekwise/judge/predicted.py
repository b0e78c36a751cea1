"""A recorded load on other storage: means of each setting and program, and which settings are as good as the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.store.percentiles import merged, percentile_ns
from seekwise.store.record import Record
from seekwise.trace.load import FOREGROUND

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
