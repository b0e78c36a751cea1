"""One interval per second of what the disks did: `/proc/diskstats`, pressure stall information for I/O, and latencies
of single requests where the kernel offers block trace events.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.periods import histogram
from seekwise.linux import diskstats
from seekwise.linux.diskstats import DiskCounters
from seekwise.linux.facts import pressure_s
from seekwise.linux.tree import Tree, open_tree
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
    """Latencies of the requests that were looked at (`judge.decision.periods.histogram`); None: not watched."""


@dataclass
class Watch:
    """Intervals of one period, in order."""

    devices: tuple[str, ...]
    root: Path = Path("/")
    intervals: list[Interval] = field(default_factory=list)
    sampler: Sampler | None = None
    """Latencies of single requests."""

    def requests_per_s(self) -> float:
        """Reads and writes completed over all devices; 0 before the first interval."""
        seconds = sum(interval.seconds for interval in self.intervals)
        return sum(interval.reads + interval.writes for interval in self.intervals) / seconds if seconds > 0 else 0.0

    def run(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Watches for `seconds`, or until `stop()` after an interval."""
        tree = open_tree(self.root)
        before, pressure, then = self._counters(tree), pressure_s(tree), time.monotonic()
        end = then + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(INTERVAL_S, left))
            now = time.monotonic()
            after, pressure_now = self._counters(tree), pressure_s(tree)
            seen = _interval(now - then, before, after, pressure, pressure_now)
            self.intervals.append(replace(seen, bins=self._latencies()))
            before, pressure, then = after, pressure_now, now
            if stop():
                return

    def _counters(self, tree: Tree) -> dict[str, DiskCounters]:
        counters = diskstats.read(tree)
        missing = [name for name in self.devices if name not in counters]
        if missing:
            raise SeekwiseError(f"{', '.join(missing)} is gone: it has no counters in /proc/diskstats")
        return {name: counters[name] for name in self.devices}

    def _latencies(self) -> dict[int, int] | None:
        return None if self.sampler is None else histogram(self.sampler.taken()[1])


def _interval(
    seconds: float,
    before: dict[str, DiskCounters],
    after: dict[str, DiskCounters],
    pressure: float | None,
    pressure_now: float | None,
) -> Interval:
    done = diskstats.total(diskstats.moved(before, after, after))
    stalled = (
        None if pressure is None or pressure_now is None else min(1.0, max(0.0, (pressure_now - pressure) / seconds))
    )
    return Interval(
        seconds, done.reads, done.read_bytes, done.read_ms, done.writes, done.write_bytes, done.write_ms, stalled
    )
