"""A recorded load on other storage: means of each setting and program, and which settings are as good as the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from seekwise.grouping import grouped
from seekwise.store.percentiles import merged, percentile_ns
from seekwise.store.record import Record
from seekwise.trace.load import FOREGROUND, RECORDED

TIE = 0.05
"""Settings so close to the best are as good: as much as a prediction may be wrong."""


OPEN_P99 = "open_p99_ns"
"""Of a record's load: p99 where every request comes at its recorded time (`whatif --open`)."""
CARRIED = 0.9
"""Storage that does less of what comes at its own times falls behind for as long as the load lasts."""
LATE_NS = 5e9
"""A program whose requests take longer has stopped, whether it waits for them or not."""
OPEN_MOST = 0.5
"""Share of requests that come at their times, from which a load does not wait for its storage."""


@dataclass(frozen=True)
class Recorded:
    """The foreground as it was recorded; None for latencies of traces without completions."""

    p50_ns: float | None
    p99_ns: float | None
    rate_bytes_per_s: float
    iops: float
    elapsed_s: float
    open_share: float
    """Of the requests, those that come at their times whatever the storage does."""


def recorded(records: Sequence[Record]) -> Recorded | None:
    """As the records keep it; None in runs of former versions."""
    load = next((record.load[RECORDED] for record in records if isinstance(record.load.get(RECORDED), dict)), None)
    if not isinstance(load, dict) or not all(field.name in load for field in fields(Recorded)):
        return None
    return Recorded(**{field.name: load[field.name] for field in fields(Recorded)})


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
    requests: int


def carries(row: WhatIfRow, load: Recorded | None) -> bool:
    """Whether the storage keeps up with the load. Where it does not, latencies grow with the length of the recording
    and say nothing else."""
    if load is None or row.iops >= CARRIED * load.iops:
        return True
    return load.open_share < OPEN_MOST and row.p99_ns <= max(LATE_NS, load.p99_ns or 0)


def rows(records: Sequence[Record]) -> dict[tuple[str, str], WhatIfRow]:
    """By setting and program."""
    kept = grouped(((record.setting, str(record.load["program"])), record) for record in records if record.phases)
    return {key: _row(*key, values) for key, values in kept.items()}


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
        sum(phase.ios for phase in phases) // count,
    )


def ranked(
    kept: dict[tuple[str, str], WhatIfRow], labels: Sequence[str], load: Recorded | None = None
) -> list[WhatIfRow]:
    """The foreground of each setting, the shortest p99 first; within a tie the higher rate. What cannot carry the load
    comes last, by its rate."""
    front = [kept[label, FOREGROUND] for label in labels if (label, FOREGROUND) in kept]
    able = [row for row in front if carries(row, load)]
    best = min((row.p99_ns for row in able), default=0)
    able.sort(
        key=lambda row: (
            row.p99_ns > best * (1 + TIE),
            row.p99_ns if row.p99_ns > best * (1 + TIE) else 0,
            -row.rate_bytes_per_s,
            row.p99_ns,
        )
    )
    return able + sorted((row for row in front if not carries(row, load)), key=lambda row: -row.iops)


def as_good(order: Sequence[WhatIfRow], load: Recorded | None = None) -> list[WhatIfRow]:
    """Settings that a prediction cannot tell from the best: by p99 and rate, or by rate alone where none carries the
    load."""
    best = order[0]
    if not carries(best, load):
        return [row for row in order if row.iops >= best.iops * (1 - TIE)]
    return [
        row
        for row in order
        if carries(row, load)
        and row.p99_ns <= best.p99_ns * (1 + TIE)
        and row.rate_bytes_per_s >= best.rate_bytes_per_s * (1 - TIE)
    ]
