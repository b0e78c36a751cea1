"""What may be asked of a source of results, and in what words.

A metric is asked per (system, operation, scheduler, threads, options), a property per (name, quantity, options);
`simulated` answers.
"""

from __future__ import annotations

from dataclasses import dataclass

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
