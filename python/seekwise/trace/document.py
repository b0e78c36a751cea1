"""What `trace show --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seekwise.trace.depend import Process
from seekwise.trace.summary import TraceFigures


@dataclass(frozen=True, kw_only=True)
class Trace(TraceFigures):
    """`trace show FILE --json`."""

    SCHEMA: ClassVar = "seekwise.trace/1"

    file: str
    source: str
    devices: list[str]
    dropped_events: int
    truncated: str | None
    anonymous: bool
    notes: list[str]
    dependencies: list[Process]
