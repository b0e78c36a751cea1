"""A record of another machine, checked field by field before anything believes it: what is stored can be summed, exported and shown."""

from __future__ import annotations

import math
from typing import Any

from seekwise.store import codec
from seekwise.store.record import CpuSeconds, Phase, Record

INTEGER_MOST = 2**63 - 1
"""What SQLite and Parquet hold."""
FIGURE_MOST = 1e30
PROVENANCES = ("measured", "virtual", "simulated")


def check(record: Record) -> None:
    """Raises ValueError naming what is wrong."""
    if record.provenance not in PROVENANCES:
        raise ValueError(f"provenance {record.provenance!r:.40}")
    texts = (record.combination, record.setting, record.started_at)
    whole = (record.environment, record.factors, record.settings_seen, record.load, record.conditions)
    if not (
        all(isinstance(each, str) for each in texts)
        and all(isinstance(each, dict) for each in whole)
        and isinstance(record.valid, bool)
        and isinstance(record.invalid_reason, str | None)
    ):
        raise ValueError("a field of the record is of another type")
    if not all(is_integer(each) for each in (record.trial, record.attempt, record.repetition, record.seed)):
        raise ValueError("a number of the record is none")
    for phase in record.phases:
        _check_phase(phase)
    codec.encode(record)


def check_period(record: Record) -> None:
    """Raises ValueError if a record of a live-switched run does not say when its period was."""
    if not all(_is_figure(record.conditions.get(name)) for name in ("start_s", "length_s")):
        raise ValueError("a period has no time")


def is_integer(value: Any) -> bool:
    """Whether it is a whole number from 0 on that a file takes."""
    return type(value) is int and 0 <= value <= INTEGER_MOST


def _check_phase(phase: Phase) -> None:
    if not (isinstance(phase.operation, str) and isinstance(phase.details, dict)):
        raise ValueError("a field of a phase is of another type")
    figures = (phase.elapsed_s, phase.bytes, phase.ios, phase.latency_mean_ns, phase.latency_max_ns)
    if not all(_is_figure(each) for each in figures):
        raise ValueError("a figure is no positive number")
    if not all(each <= INTEGER_MOST for each in (phase.bytes, phase.ios, phase.latency_max_ns)):
        raise ValueError("a figure is larger than any can be")
    if not all(is_integer(upper) and is_integer(count) for upper, count in phase.latency_bins.items()):
        raise ValueError("a histogram has a negative count, or one that is none")
    if sum(phase.latency_bins.values()) > INTEGER_MOST:
        raise ValueError("a histogram counts more requests than there can be")
    if not isinstance(phase.reported_percentiles_ns, dict) or not all(
        isinstance(name, str) and _is_figure(value) for name, value in phase.reported_percentiles_ns.items()
    ):
        raise ValueError("a percentile is no positive number")
    if not all(_is_figure(each) for window in phase.windows for each in window):
        raise ValueError("a window has a figure that is no positive number")
    _check_cpu(phase.cpu)


def _check_cpu(cpu: CpuSeconds) -> None:
    for name in CpuSeconds.__dataclass_fields__:
        value = getattr(cpu, name)
        if name == "kernel_threads":
            if not isinstance(value, dict) or not all(type(each) in (int, float) for each in value.values()):
                raise ValueError("CPU times of kernel threads are of another type")
        # The kernel's own count of iowait may go back, so a difference of two may be negative.
        elif not (type(value) in (int, float) and abs(value) < FIGURE_MOST) and (
            value is not None or "submitter" in name
        ):
            raise ValueError(f"CPU time {name} is no number")


def _is_figure(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value < FIGURE_MOST
