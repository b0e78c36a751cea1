"""Designed arrays, and what many hosts measured."""

from __future__ import annotations

from typing import Literal

from seekwise.cli.schemas.base import Number, Part, part_of
from seekwise.report.fleet.rows import Unit


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


class OutlierDevice(part_of(Unit)):
    """A device unlike its twins: those of the same model and level."""

    load: str
    """The load where it differs most."""
    metric: Literal["rate", "p99"]
    ratio: float
    """Of its figure and its twins'."""
    twins: int
    further: int
    """Further loads and metrics in which it differs."""
    is_worse: bool
    sentence: str


class PartChange(Part):
    """What a kernel or firmware changes against the most common one."""

    part: Literal["kernel", "firmware"]
    value: str
    against: str
    model: str
    level: str
    load: str
    metric: Literal["rate", "p99"]
    ratio: float
    ratio_low: float
    ratio_high: float
    """95 % interval of the ratio: from ratio_low to ratio_high."""
    devices: int
    """With `value`."""
    together_with: str
    """The other part, if every device with `value` has it, too; else empty."""
    further: int
    is_worse: bool
    sentence: str


class PooledRatio(Part):
    """A setting against the most common one, with the host as a random effect."""

    model: str
    level: str
    load: str
    metric: Literal["rate", "p99"]
    setting: str
    reference: str
    devices: int
    ratio: float
    ratio_low: float
    ratio_high: float
    """95 % interval of the mean ratio, corrected for all comparisons of the fleet."""
    host_spread: float
    """Standard deviation of the ratio between hosts, beyond that of repeats, as a share."""
    word: Literal["clear", "small", "tie", "undecided"]


class Fleet(Part):
    """`import FILE.bundle --json`, `results --fleet --json` and `results FILE.parquet --json`."""

    schema_: Literal["seekwise.fleet/1"]
    provenance: Literal["measured"]
    hosts: int
    devices: int
    measured: int
    """Operations of trials that count."""
    outliers: list[OutlierDevice]
    changes: list[PartChange]
    pooled: list[PooledRatio]
