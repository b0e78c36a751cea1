"""This machine: its settings, what was applied, what is wrong."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seekwise.cli.schemas.base import Map, Part
from seekwise.settings.guard.compare import Comparison

Values = dict[str, dict[str, str | None]]
"""{device: {attribute: value}}."""


class Guard(Part):
    """`apply --guard --json`: what the guard saw and did."""

    schema_: Literal["seekwise.guard/1"]
    id: str
    started_at: str
    ended_at: str | None = None
    devices: list[str]
    wanted: Values
    ways: list[str]
    """Where the values are kept after a restart."""
    seconds: float
    limit: float
    reason: str
    evidence: Map | None
    outcome: str
    """starting, watching before, watching after, kept, rolled back, nothing to set or failed."""
    headline: str
    comparison: Comparison | None = None
    restored: list[str] = Field(default_factory=list)
