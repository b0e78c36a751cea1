"""One interval per second of what the disks did: `/proc/diskstats`, pressure stall information for I/O, and latencies of single
requests where the kernel offers block trace events.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.periods import histogram
from seekwise.linux.facts import DiskCounters, disk_counters
from seekwise.linux.tree import open_tree
from seekwise.measure.live.latencies import Sampler

INTERVAL_S = 1.0


@dataclass(frozen=True)
class Interval:
    """Sums over all watched devices. `*_ms`: time that completed requests spent between queueing and completion."""

    seconds: float
    reads: int
    read_bytes: int
    read_ms: int
    writes: int
    write_bytes: int
    write_ms: int
    pressure_some: float | None = None
    """Share of the interval in which at least one task waited for I/O (whole machine)."""
    bins: dict[int, int] | None = None
    """Latencies of the requests that were looked at (`analysis.decision.periods.histogram`); None: not watched."""


@dataclass
class Watch:
    """Intervals of one period, in order."""

    devices: tuple[str, ...]
    root: Path = Path("/")
    intervals: list[Interval] = field(default_factory=list)
    sampler: Sampler | None = None
    """Latencies of single requests."""

    def requests_per_s(self) -> float:
        seconds = sum(each.seconds for each in self.intervals)
        return sum(each.reads + each.writes for each in self.intervals) / seconds if seconds > 0 else 0.0

    def run(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Watches for `seconds`, or until `stop()` after an interval."""
        tree = open_tree(self.root)
        before, pressure, then = self._counters(tree), self._pressure(tree), time.monotonic()
        end = then + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(INTERVAL_S, left))
            now = time.monotonic()
            after, pressure_now = self._counters(tree), self._pressure(tree)
            seen = _interval(now - then, before, after, pressure, pressure_now)
            self.intervals.append(replace(seen, bins=self._latencies()))
            before, pressure, then = after, pressure_now, now
            if stop():
                return

    def _counters(self, tree) -> dict[str, DiskCounters]:
        found = disk_counters(tree)
        missing = [name for name in self.devices if name not in found]
        if missing:
            raise SeekwiseError(f"{', '.join(missing)} has no counters in /proc/diskstats", "is the drive still there?")
        return {name: found[name] for name in self.devices}

    def _latencies(self) -> dict[int, int] | None:
        return None if self.sampler is None else histogram(self.sampler.taken()[1])

    def _pressure(self, tree) -> float | None:
        """Seconds since the start in which some task waited for I/O (Documentation/accounting/psi.rst, since 4.20)."""
        for line in (tree.text("/proc/pressure/io") or "").splitlines():
            if line.startswith("some"):
                return int(line.rpartition("total=")[2]) / 1e6
        return None


def _interval(
    seconds: float,
    before: dict[str, DiskCounters],
    after: dict[str, DiskCounters],
    pressure: float | None,
    pressure_now: float | None,
) -> Interval:
    def moved(name: str) -> int:
        # Counters of 32-bit kernels wrap; an interval in which one does counts as nothing.
        return sum(max(0, getattr(after[each], name) - getattr(before[each], name)) for each in after)

    stalled = (
        None if pressure is None or pressure_now is None else min(1.0, max(0.0, (pressure_now - pressure) / seconds))
    )
    return Interval(
        seconds,
        moved("reads_completed"),
        moved("bytes_read"),
        moved("read_ms"),
        moved("writes_completed"),
        moved("bytes_written"),
        moved("write_ms"),
        stalled,
    )
