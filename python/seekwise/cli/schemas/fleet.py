"""Designed arrays."""

from __future__ import annotations

from typing import Literal

from seekwise.cli.schemas.base import Number, Part


class DesignedArray(Part):
    """The best settings that were found for an array, and what they gave."""

    name: str
    level: Literal["raid0", "raid1", "raid10", "raid5", "raid6"]
    drives: int
    chunk_kib: int | None
    scheduler: str
    queue_depth: int
    read_ahead_kib: int | None
    """Null where no load reads through the page cache."""
    capacity_bytes: int
    """Usable."""
    survives_failures: int
    rebuild_s: Number
    """Time to rebuild one drive without other load."""
    rates_mb_s: dict[str, float]
    """{use: MB/s of its first foreground job}."""
    p99_ms: float
    cpu_us: float
    """CPU time of the host per request."""
    relative_rate: float
    """Of the fastest array's; over several uses the geometric mean."""
    seeds: int
    on_front: bool
    """On the Pareto front of rate, p99, CPU, usable capacity and number of drives."""


class Design(Part):
    """`design DRIVE --json`."""

    schema_: Literal["seekwise.design/1"]
    provenance: Literal["simulated"]
    drive: str
    kernel: str
    loads: list[str]
    data_bytes: int
    """How much of the array random requests reached."""
    seed: int
    sampling: Literal["sobol", "latin"]
    combinations: int
    simulated_combinations: int
    trials: int
    stages: dict[str, int]
    """{stage: trials}."""
    surrogate_error: dict[str, float] | None
    """Median cross-validated error of the surrogate model as a share, by figure; null where there were too few points for one."""
    wanted_rate_mb_s: Number
    recommended: DesignedArray
    command: str
    arrays: list[DesignedArray]
    headline: str
