"""What crosses the border to the compiled simulator, as JSON; its shape is checked on the other side
(`crates/sim/src/spec/`)."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Spec = dict[str, Any]
"""What is asked: a trial, or a part of one. It has as many optional parts as studies have factors; the other side refuses unknown ones."""


class CpuAnswer(TypedDict):
    """Processor time of a phase."""

    user_s: float
    system_s: float
    thread_s: float
    """Of md's thread, or of a driver's."""
    irq_s: float
    processors: int
    lock_wait_s: NotRequired[float]
    lock_held_s: NotRequired[float]
    hz: NotRequired[int]
    user_ticks: NotRequired[int]
    system_ticks: NotRequired[int]


class PhaseAnswer(TypedDict):
    """One phase of a trial (`crates/sim/src/result/`); of a group of threads the same keys without those of the machine."""

    operation: str
    started_ns: int
    elapsed_ns: int
    bytes: int
    ios: int
    latency_bins: dict[str, int]
    latency_mean_ns: float
    latency_max_ns: int
    cpu: CpuAnswer
    device_bytes: int
    device_busy_ns: int
    merges: int
    windows: list[tuple[float, float]]
    window_ns: int
    threads: list[dict[str, int]]
    jobs: list[dict[str, Any]]
    members: NotRequired[list[dict[str, int]]]
    resync: NotRequired[dict[str, Any]]
    bitmap: NotRequired[dict[str, Any]]
    call_rate_mean: NotRequired[float]
    held_bytes: NotRequired[int]


class QueueAnswer(TypedDict):
    """Settings of a queue as they are in force."""

    scheduler: str
    nr_requests: int
    max_sectors_kb: int
    nomerges: int
    wbt_lat_usec: int
    queue_depth: int
    rotational: int
    iosched: dict[str, Any]


class Answer(TypedDict):
    """A trial's result; where it could not be simulated, `error` alone."""

    phases: list[PhaseAnswer]
    settings: QueueAnswer
    models: dict[str, str]
    model_version: int
    array: NotRequired[dict[str, Any]]
    trace: NotRequired[dict[str, Any]]
    error: NotRequired[str]


class Reported(PhaseAnswer):
    """Of a run the phase that was asked for, with its run; the whole run where nothing less was asked for, or why there is none."""

    run: NotRequired[Answer]
    phases: NotRequired[list[PhaseAnswer]]
    error: NotRequired[str]


class Described(TypedDict):
    """What a specification makes, without a trial."""

    drive: str
    kernel: str
    capacity_bytes: int
    processors: int
    schedulers: list[str]
    settings: QueueAnswer
    array: NotRequired[dict[str, Any]]
