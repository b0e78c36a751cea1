"""What one trial did: the record. Written once, never rewritten; judging reads records only.

The same shape comes from every backend. Units: seconds, bytes, nanoseconds (histogram), MB = 10^6 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

Provenance = Literal["measured", "virtual", "simulated"]
Operation = Literal["seq_read", "seq_write", "rand_read", "rand_write", "mixed"]


@dataclass(frozen=True)
class CpuSeconds:
    """CPU time by kind over a phase. `system_wide` counts every CPU, `submitter` the load's own threads only.

    `kernel_threads`: seconds by name of kernel threads that worked for the load (md's, dm-crypt's, write-back).
    """

    submitter_user: float
    submitter_system: float
    user: float | None = None
    system: float | None = None
    irq: float | None = None
    softirq: float | None = None
    iowait: float | None = None
    idle: float | None = None
    kernel_threads: dict[str, float] = field(default_factory=dict)
    not_the_load_system: float = 0.0
    """Seconds within `system` that were not the load's: fio's own start and report, seekwise, other programs."""

    @property
    def system_cpu(self) -> float:
        """Seconds of system CPU that the work cost: system-wide system + irq + softirq where known, else the submitter's.

        System-wide figures count in ticks of 10 ms; the submitter's own, known to the microsecond, are a lower bound.
        """
        if self.system is None:
            return self.submitter_system
        system_wide = self.system + (self.irq or 0.0) + (self.softirq or 0.0) - self.not_the_load_system
        return max(system_wide, self.submitter_system)


PERCENTILES = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99)


def percentiles(bins: dict[int, int], wanted: tuple[float, ...] = PERCENTILES) -> dict[str, int]:
    """Percentiles of a histogram: the upper bound of the bin that holds the request of that rank.

    A percentile p is given only where at least 20 requests lie beyond it (N (1 - p) >= 20), the median always: with
    fewer, the figure is one request's luck.
    """
    total = sum(bins.values())
    found: dict[str, int] = {}
    if total == 0:
        return found
    ranked = sorted(bins.items())
    for percent in wanted:
        if percent != 50.0 and total * min(percent, 100.0 - percent) / 100.0 < 20.0:
            continue
        rank = max(1, -(-int(total * percent * 100) // 10_000))
        seen = 0
        for upper, count in ranked:
            seen += count
            if seen >= rank:
                found[f"{percent:g}"] = upper
                break
    return found


@dataclass(frozen=True)
class Derived:
    """Figures computed from the phase, for readers without this program."""

    rate_bytes_per_s: float
    iops: float
    cpu_efficiency_mb_per_system_cpu_s: float | None
    latency_percentiles_ns: dict[str, int]
    """{percent: nanoseconds}."""


@dataclass(frozen=True)
class Phase:
    """One operation within a trial.

    `ios` and `latency_mean_ns` are 0 where an imported result does not have them; then nothing is judged by them.
    `device_bytes` proves that no cache answered.
    """

    SHOWN: ClassVar = ("derived",)

    operation: Operation
    elapsed_s: float
    bytes: int
    ios: int
    """Requests completed; 0 where an imported result does not say."""
    latency_bins: dict[int, int]
    """Latency histogram: {upper bound of the bin in ns: requests}."""
    latency_mean_ns: float
    latency_max_ns: int
    cpu: CpuSeconds
    device_bytes: int | None = None
    """Bytes that the physical devices moved meanwhile."""
    windows: tuple[tuple[float, float], ...] = ()
    """(rate in bytes/s, mean latency in ns) over equal windows, for steady-state checks."""
    details: dict[str, object] = field(default_factory=dict)
    reported_percentiles_ns: dict[str, int] = field(default_factory=dict)
    """{percent: access time}, e.g. {"99": 812000}, as another tool reports them; only where there are no `latency_bins`."""

    @property
    def rate_bytes_per_s(self) -> float:
        return self.bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def iops(self) -> float:
        return self.ios / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def cpu_efficiency(self) -> float | None:
        """MB (10^6 bytes) moved per second of system CPU; None when no CPU second was seen."""
        seconds = self.cpu.system_cpu
        return self.bytes / 1e6 / seconds if seconds > 0 else None

    @property
    def percentiles_ns(self) -> dict[str, int]:
        """Percentiles of the histogram; where another tool gave none, those that it reports."""
        return percentiles(self.latency_bins) if self.latency_bins else dict(self.reported_percentiles_ns)

    @property
    def derived(self) -> Derived:
        return Derived(self.rate_bytes_per_s, self.iops, self.cpu_efficiency, self.percentiles_ns)


@dataclass(frozen=True)
class Record:
    """What one trial, or one period of a live-switched run, measured."""

    SCHEMA: ClassVar = "seekwise.record/1"
    NAMES: ClassVar = {"provenance": "badge", "repetition": "block", "combination": "cell"}

    run_id: str
    trial: int
    repetition: int
    """From 1."""
    combination: str
    """Key of the combination without the compared setting, e.g. `disk=vda threads=8`."""
    setting: str
    """Label of what is compared, e.g. `mq-deadline`; `mq-deadline (control)` for the second label of an A/A pair."""
    factors: dict[str, str | int | float | bool]
    """Every factor of this combination by name: scheduler, threads, block_bytes, chunk_bytes, ncq, …"""
    provenance: Provenance
    seed: int
    started_at: str
    phases: tuple[Phase, ...]
    settings_seen: dict[str, dict[str, str]] = field(default_factory=dict)
    """{device: {attribute: value as read back}}."""
    environment: dict[str, object] = field(default_factory=dict)
    load: dict[str, object] = field(default_factory=dict)
    """fio's version, job text, options; or the simulator's model and versions."""
    conditions: dict[str, object] = field(default_factory=dict)
    valid: bool = True
    invalid_reason: str | None = None
    attempt: int = 1
