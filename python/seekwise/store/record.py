"""What one trial did: the record. Written once, never rewritten; judging reads records only.

The same shape comes from every backend. Units: seconds, bytes, nanoseconds (histogram), MB = 10^6 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from seekwise.store.percentiles import is_supported, percentile_ns, percentiles

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Provenance = Literal["measured", "virtual", "simulated"]
NUMBER_MOST = 10**18
"""No count of bytes, requests or nanoseconds of one trial is larger: 1e18 ns are 31 years."""


@dataclass(frozen=True)
class Within:
    """Bounds of a number. They are pydantic's where it reads a record; it is not loaded for that here."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return cast("CoreSchema", {**handler(source), "ge": self.least, "le": self.most})


Number = Annotated[float, Within(-NUMBER_MOST, NUMBER_MOST)]
Amount = Annotated[float, Within(0, NUMBER_MOST)]
Whole = Annotated[int, Within(0, NUMBER_MOST)]
"""A database may come from anywhere: `codec` refuses what is not of these where it is read, so that no reader has to
look again."""


@dataclass(frozen=True)
class CpuSeconds:
    """CPU time by kind over a phase. `system_wide` counts every CPU, `submitter` the load's own threads only.

    `kernel_threads`: seconds by name of kernel threads that worked for the load (md's, dm-crypt's, write-back).
    """

    submitter_user: Number
    submitter_system: Number
    user: Number | None = None
    system: Number | None = None
    irq: Number | None = None
    softirq: Number | None = None
    iowait: Number | None = None
    idle: Number | None = None
    kernel_threads: dict[str, Number] = field(default_factory=dict)
    not_the_load_system: Number = 0.0
    """Seconds within `system` that were not the load's: fio's own start and report, seekwise, other programs."""

    @property
    def system_cpu(self) -> float:
        """Seconds of system CPU that the work cost: system-wide system + irq + softirq where known, else the
        submitter's.

        System-wide figures count in ticks of 10 ms; the submitter's own, known to the microsecond, are a lower bound.
        """
        if self.system is None:
            return self.submitter_system
        system_wide = self.system + (self.irq or 0.0) + (self.softirq or 0.0) - self.not_the_load_system
        return max(system_wide, self.submitter_system)


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

    operation: str
    """One of `operations.OPERATIONS`; of syncs that another tool timed the call, of a job file's step its name."""
    elapsed_s: Amount
    bytes: Whole
    ios: Whole
    """Requests completed; 0 where an imported result does not say."""
    latency_bins: dict[int, Whole]
    """Latency histogram: {upper bound of the bin in ns: requests}."""
    latency_mean_ns: Amount
    latency_max_ns: Whole
    cpu: CpuSeconds
    device_bytes: Whole | None = None
    """Bytes that the physical devices moved meanwhile."""
    windows: tuple[tuple[Number, Number], ...] = ()
    """(rate in bytes/s, mean latency in ns) over equal windows, for steady-state checks."""
    details: dict[str, Any] = field(default_factory=dict)
    reported_percentiles_ns: dict[str, Whole] = field(default_factory=dict)
    """{percent: access time}, e.g. {"99": 812000}, as another tool reports them; only where there are no
    `latency_bins`."""

    @property
    def rate_bytes_per_s(self) -> float:
        """Throughput of the phase; 0 where no time passed."""
        return self.bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def iops(self) -> float:
        """Requests per second; 0 where no time passed or the number of requests is unknown."""
        return self.ios / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def cpu_efficiency(self) -> float | None:
        """MB (10^6 bytes) moved per second of system CPU; None when no CPU second was seen."""
        seconds = self.cpu.system_cpu
        return self.bytes / 1e6 / seconds if seconds > 0 else None

    @property
    def percentiles_ns(self) -> dict[str, int]:
        """Percentiles of the histogram, and in their place those that another tool reports."""
        return {**(percentiles(self.latency_bins) if self.latency_bins else {}), **self.reported_percentiles_ns}

    def percentile_ns(self, percent: float, least: int | None = None) -> int | None:
        """As another tool reported it, else from the histogram; the median always, others where enough requests lie
        beyond them.

        `least`: requests that are enough, in place of `percentiles.is_supported`.
        """
        count = sum(self.latency_bins.values()) if self.latency_bins else self.ios
        if percent != 50.0 and not (is_supported(count, percent) if least is None else count >= least):
            return None
        reported = self.reported_percentiles_ns.get(f"{percent:g}")
        return percentile_ns(self.latency_bins, percent) if reported is None and self.latency_bins else reported

    @property
    def derived(self) -> Derived:
        """Computed from the other fields; printed in documents, not stored."""
        return Derived(self.rate_bytes_per_s, self.iops, self.cpu_efficiency, self.percentiles_ns)


@dataclass(frozen=True)
class Record:
    """What one trial, or one period of a live-switched run, measured."""

    SCHEMA: ClassVar = "seekwise.record/1"
    run_id: str
    trial: Whole
    repetition: Whole
    """From 1."""
    combination: str
    """Key of the combination without the compared setting, e.g. `disk=vda threads=8`."""
    setting: str
    """Label of what is compared, e.g. `mq-deadline`; `mq-deadline (control)` for the second label of an A/A pair."""
    factors: dict[str, str | int | Number | bool]
    """Every factor of this combination by name: scheduler, threads, block_bytes, chunk_bytes, ncq, …"""
    provenance: Provenance
    seed: Annotated[int, Within(0, 2**64 - 1)]
    started_at: str
    phases: tuple[Phase, ...]
    settings_seen: dict[str, dict[str, str]] = field(default_factory=dict)
    """{device: {attribute: value as read back}}."""
    environment: dict[str, Any] = field(default_factory=dict)
    load: dict[str, Any] = field(default_factory=dict)
    """fio's version, job text, options; or the simulator's model and versions."""
    conditions: dict[str, Any] = field(default_factory=dict)
    valid: bool = True
    invalid_reason: str | None = None
    attempt: Whole = 1

    @property
    def role(self) -> str:
        """candidate, control (the second label of an A/A pair) or sentinel (a drift check)."""
        return str(self.conditions.get("role", "candidate"))


def environment_of(records: Iterable[Record]) -> dict[str, Any]:
    """What the first record that knows it says of the machine; a run has one."""
    return next((dict(record.environment) for record in records if record.environment), {})
