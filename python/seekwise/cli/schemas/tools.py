"""The guard, whose file is its document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from seekwise.settings.guard.compare import GuardVerdict


@dataclass(kw_only=True)
class Guard:
    """`apply --guard --json`: what the guard saw and did."""

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
    limit: float
    reason: str
    evidence: dict[str, Any] | None
    outcome: str
    """starting, watching before, watching after, kept, rolled back, nothing to set or failed."""
    headline: str
    comparison: GuardVerdict | None = None
    restored: list[str] = field(default_factory=list)
