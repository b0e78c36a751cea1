"""The guard, whose file is its document, and virtual drives, whose server writes its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from seekwise.settings.guard.compare import GuardVerdict


@dataclass(kw_only=True)
class Guard:
    """`apply --guard --json`: what the guard saw and did; with `--confirm` and `--keep` what became of the change."""

    SCHEMA: ClassVar = "seekwise.guard/1"
    PARTIAL: ClassVar = True

    id: str
    started_at: str
    ended_at: str | None = None
    devices: list[str]
    wanted: dict[str, dict[str, str | None]]
    """{device: {attribute: value}}."""
    ways: list[str]
    """Where the values are kept after a restart."""
    seconds: float
    limit: float | None
    """null for a change that waits for its confirmation."""
    reason: str
    evidence: dict[str, Any] | None
    outcome: str
    """starting, watching before, watching after, waiting for confirmation, kept, rolled back, nothing to set or failed."""
    headline: str
    until: str | None = None
    """When the change is undone unless it is confirmed before."""
    comparison: GuardVerdict | None = None
    restored: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class DrivesReady:
    """`drive MODEL --json`, first line: the drives are ready."""

    SCHEMA: ClassVar = "seekwise.drive/1"

    model: str
    name: str
    bytes: int
    sockets: list[str]
    control: str
    store: str | None
    transport: dict[str, Any] | None
    """Time between client and drive, in ns: `request_ns`, `answer_ns`."""
    devices: list[str]


@dataclass(kw_only=True)
class DriveCounters:
    """What one drive did."""

    drive: int
    state: str
    reads: int
    writes: int
    flushes: int
    trims: int
    bytes_read: int
    bytes_written: int
    invalid: int
    no_space: int
    medium_errors: int
    power_cuts: int
    overruns: int
    overrun_limit_us: float
    late_us_p50: float
    late_us_p99: float
    late_us_max: float


@dataclass(kw_only=True)
class DriveReport:
    """`drive MODEL --json`, last line: what the drives did."""

    SCHEMA: ClassVar = "seekwise.drive-report/1"

    model: str
    seconds: float
    valid: bool
    """No answer was late."""
    overruns: int
    drives: list[DriveCounters]
