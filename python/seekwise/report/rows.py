"""Records as rows for charts and number tables: one row per operation, setting, factor values and repetition, and their
summaries.

Only valid records count. Intervals are 95 % t intervals of the mean of the logarithm over repetitions (so they are
ratios around a geometric mean); with a single repetition there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

from seekwise import special
from seekwise.grouping import grouped
from seekwise.store.record import Phase, Record

Row = dict[str, Any]
"""Of the table of figures: metrics, dimensions and factors by name; a metric that a record lacks is None."""

METRICS = {
    "rate_mb_s": "higher",
    "iops": "higher",
    "access_ms": "lower",
    "p50_ms": "lower",
    "p99_ms": "lower",
    "p999_ms": "lower",
    "cpu_us": "lower",
    "cpu_efficiency": "higher",
}


SHARES = ("sys_cpu_percent", "cpu_wait_percent")
"""Shares of processor time, which can be zero: plain means. Waiting is shown and never judged
(`seekwise explain cpu-wait`)."""


def trial_row(record: Record, phase: Phase) -> dict[str, object]:
    """One operation of one trial with its factors; times in ms, rate in MB/s of 10^6 bytes."""
    return {
        **record.factors,
        # A background job has threads of its own.
        **({"threads": phase.details["group_threads"]} if "group_threads" in phase.details else {}),
        "operation": phase.operation,
        "setting": record.setting,
        "combination": record.combination,
        "repetition": record.repetition,
        "trial": record.trial,
        "rate_mb_s": phase.rate_bytes_per_s / 1e6,
        "iops": phase.iops,
        "access_ms": _ms(phase.latency_mean_ns) or None,
        **{name: _ms(phase.percentile_ns(percent)) for name, percent in PERCENTILES.items()},
        "max_ms": phase.latency_max_ns / 1e6,
        "cpu_efficiency": phase.cpu_efficiency,
        "cpu_us": 1e6 * phase.cpu.system_cpu / phase.ios if phase.ios and phase.cpu.system_cpu > 0 else None,
        "system_cpu_s": phase.cpu.system_cpu,
        "sys_cpu_percent": _share(phase.cpu.system_cpu, phase),
        "cpu_wait_percent": _share(phase.cpu.iowait, phase),
    }


PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}


def _ms(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e6


def _share(seconds: float | None, phase: Phase) -> float | None:
    """Per cent of one processor's time: above 100 where several processors worked, or waited, at once."""
    return None if seconds is None or phase.elapsed_s <= 0 else 100 * seconds / phase.elapsed_s


def trial_rows(records: Iterable[Record]) -> list[Row]:
    """One row for each operation of each valid trial."""
    return [trial_row(record, phase) for record in records if record.valid for phase in record.phases]


DIMENSIONS = ("system", "load", "block_bytes", "iodepth", "memory_bytes")
"""Factors that are no setting: numbers of different ones are never averaged."""


def varied_dimensions(records: Iterable[Record]) -> list[str]:
    """Those dimensions in which records differ."""
    seen: dict[str, set[object]] = {name: set() for name in DIMENSIONS}
    for record in records:
        for name, values in seen.items():
            if name in record.factors:
                values.add(record.factors[name])
    return [name for name, values in seen.items() if len(values) > 1]


def mean_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Geometric mean and its 95 % interval (None, None for one value); all values must be positive."""
    logs = [math.log(value) for value in values]
    centre = fmean(logs)
    if len(logs) < 2:
        return math.exp(centre), None, None
    half = special.t_quantile(len(logs) - 1, 0.975) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)


def summary_rows(rows: Sequence[Row], by: Sequence[str] = ("operation", "setting", "threads")) -> list[Row]:
    """Rows grouped by `by`: mean, low and high of each metric over repetitions, and the number of trials `n`."""
    groups = grouped((tuple(row.get(name) for name in by), row) for row in rows)
    summaries = []
    for key, members in groups.items():
        summary: dict[str, object] = dict(zip(by, key, strict=True)) | {"n": len(members)}
        for metric in METRICS:
            values = [float(value) for row in members if (value := row[metric]) is not None and float(value) > 0]
            mean, low, high = mean_interval(values) if values else (None, None, None)
            summary |= {metric: mean, f"{metric}_low": low, f"{metric}_high": high}
        for share in SHARES:
            known = [float(value) for row in members if (value := row.get(share)) is not None]
            summary[share] = fmean(known) if known else None
        summaries.append(summary)
    return summaries
