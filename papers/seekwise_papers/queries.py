"""What may be asked of a source of results, and in what words.

A metric is asked per (system, operation, scheduler, threads, options), a property per (name, quantity, options). A source of results that has no
answer raises NotModelled; the caller counts that as missed, never as skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

METRICS = ("rate", "access", "access_max", "syscpu", "cpu", "cpueff")
SCHEDULERS = ("noop", "deadline", "anticipatory", "cfq", "none", "mq-deadline", "bfq")
# Options of a metric and of a property, and the kind of value each takes.
TEXT_OPTIONS = {
    "ncq": ("on", "off"),
    "kernel": None,
    "drive": None,
    "controller": ("9550SXU-8LP", "9650-2LP", "9650-4LP"),
    "storage": ("lvm_ext4", "raw"),
    "tool": ("fio", "gnome-disks"),
}
NUMBER_OPTIONS = ("bs", "chunk", "ram", "repeat")
PLACE_OPTIONS = ("distance", "position")
QUANTITIES = (
    "rotational_latency_ms",
    "access_ms",
    "sectors_per_track",
    "file_mb",
    "ram_mb",
    "test_area_percent",
    "scenario_measurements",
    "scenario_minutes",
    "cpu_tick_ms",
    "ncq_depth",
)

Option = tuple[str, str | float]


@dataclass(frozen=True)
class Query:
    """One number of one metric."""

    metric: str
    system: str
    operation: str
    scheduler: str
    threads: int
    options: tuple[Option, ...] = ()

    def describe(self) -> str:
        """For messages: metric, system, operation, scheduler, threads and options on one line."""
        options = "".join(
            f", {name}={value:g}" if isinstance(value, float) else f", {name}={value}" for name, value in self.options
        )
        return f"{self.metric} of {self.system}, {self.operation}, {self.scheduler}, {self.threads} threads{options}"


@dataclass(frozen=True)
class Defaults:
    """What "all" and a left-out argument stand for."""

    schedulers: tuple[str, ...]
    threads: tuple[int, ...]


class ResultSource(Protocol):
    def defaults(self, system: str) -> Defaults:
        """Raises NotModelled for a system or drive that does not exist."""

    def measure(self, queries: Sequence[Query]) -> list[float]:
        """A number for each query, in their order."""

    def scatter(self, query: Query) -> float:
        """Standard error that the clock of the study's host leaves in one run's number; 0 where none is known."""

    def model(self, name: str, quantity: str, options: tuple[Option, ...]) -> float:
        """A property of a drive or of a system as set up."""
