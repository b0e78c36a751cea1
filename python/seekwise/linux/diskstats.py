"""/proc/diskstats: what each disk and partition did (Linux Documentation/admin-guide/iostats.rst). Sectors there are of
512 bytes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass

from seekwise.linux.sysfs import SECTOR_BYTES
from seekwise.linux.tree import Tree, open_tree

FIRST = slice(3, 14)
"""Of a line's words: the counters that have kept their meaning since 2.6.25."""
DISCARDS = slice(14, 18)
"""Since 4.18: discards, merged, sectors, ms. Flushes (5.5) are not read."""

DISK = re.compile(r"^\s*\d+\s+\d+\s+(?:\d+\s+)?((?:sd|vd|xvd)[a-z]+|nvme\d+n\d+|mmcblk\d+|md\d+)(?:\s|$)", re.MULTILINE)
"""A line of a whole disk, with its size in blocks before the name (partitions) or without (diskstats)."""


@dataclass(frozen=True)
class DiskCounters:
    """Since the device appeared, or between two readings, or of several devices together."""

    reads: int = 0
    read_bytes: int = 0
    read_ms: int = 0
    """Of all completed reads, from queueing to completion; requests that wait side by side add up."""
    writes: int = 0
    write_bytes: int = 0
    write_ms: int = 0
    in_flight: int = 0
    """At the moment of reading; between two readings it says nothing."""
    busy_ms: int = 0
    discards: int = 0
    discard_bytes: int = 0
    discard_ms: int = 0

    @property
    def ios(self) -> int:
        """Reads and writes completed."""
        return self.reads + self.writes

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.read_bytes + self.write_bytes

    @property
    def recorded(self) -> dict[str, int]:
        """What a record keeps of a device."""
        names = ("reads", "read_bytes", "writes", "write_bytes", "busy_ms")
        return {name: getattr(self, name) for name in names}

    def __add__(self, other: DiskCounters) -> DiskCounters:
        return self._with(operator.add, other)

    def __sub__(self, before: DiskCounters) -> DiskCounters:
        # Counters of 32-bit kernels wrap: where one did, nothing is counted.
        return self._with(lambda now, then: max(0, now - then), before)

    def _with(self, how: Callable[[int, int], int], other: DiskCounters) -> DiskCounters:
        return DiskCounters(*map(how, astuple(self), astuple(other)))


def read(tree: Tree | None = None) -> dict[str, DiskCounters]:
    """{device: counters}, by default of the running machine; `/` in names is `!`, as in sysfs."""
    text = (tree or open_tree()).text("/proc/diskstats") or ""
    counters = {}
    for line in text.splitlines():
        words = line.split()
        first = words[FIRST]
        # Partitions before 2.6.25 had four numbers only; they are left out.
        if len(first) < FIRST.stop - FIRST.start or not all(word.isdigit() for word in first):
            continue
        reads, _, read, read_ms, writes, _, written, write_ms, in_flight, busy_ms, _ = map(int, first)
        later = words[DISCARDS]
        has_discards = len(later) == 4 and all(word.isdigit() for word in later)
        discards, _, discarded, discard_ms = map(int, later) if has_discards else (0, 0, 0, 0)
        counters[words[2].replace("/", "!")] = DiskCounters(
            reads, read * SECTOR_BYTES, read_ms, writes, written * SECTOR_BYTES, write_ms, in_flight, busy_ms,
            discards, discarded * SECTOR_BYTES, discard_ms,
        )  # fmt: skip
    return counters


def disks_named(tree: Tree) -> set[str]:
    """Disks and md arrays of `/proc/diskstats` and `/proc/partitions`, also those of which a capture has no folder."""
    texts = (tree.text(f"/proc/{name}") or "" for name in ("diskstats", "partitions"))
    return {name for text in texts for name in DISK.findall(text)}


def moved(
    before: dict[str, DiskCounters], after: dict[str, DiskCounters], devices: Iterable[str]
) -> dict[str, DiskCounters]:
    """What each of these devices did between two readings; one that appeared meanwhile counts from its beginning."""
    return {name: after[name] - before.get(name, DiskCounters()) for name in devices if name in after}


def total(counters: dict[str, DiskCounters]) -> DiskCounters:
    """The sum over devices."""
    return sum(counters.values(), DiskCounters())
