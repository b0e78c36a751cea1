"""What the devices really moved, and who else used them.

Sources: /proc/diskstats (Linux Documentation/admin-guide/iostats.rst; sectors of 512 bytes), /proc/PID/io of other
programs (readable for root) to give foreign I/O a name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SECTOR_BYTES = 512


@dataclass(frozen=True)
class DiskCounters:
    reads: int
    read_bytes: int
    writes: int
    write_bytes: int
    busy_ms: int

    def __sub__(self, before: DiskCounters) -> DiskCounters:
        return DiskCounters(
            self.reads - before.reads,
            self.read_bytes - before.read_bytes,
            self.writes - before.writes,
            self.write_bytes - before.write_bytes,
            self.busy_ms - before.busy_ms,
        )

    def __add__(self, other: DiskCounters) -> DiskCounters:
        return DiskCounters(
            self.reads + other.reads,
            self.read_bytes + other.read_bytes,
            self.writes + other.writes,
            self.write_bytes + other.write_bytes,
            self.busy_ms + other.busy_ms,
        )


NOTHING = DiskCounters(0, 0, 0, 0, 0)


def read_diskstats(root: Path = Path("/")) -> dict[str, DiskCounters]:
    """{device: counters} of `/proc/diskstats`; bytes, and milliseconds of work."""
    found: dict[str, DiskCounters] = {}
    for line in (root / "proc/diskstats").read_text().splitlines():
        words = line.split()
        numbers = [int(word) for word in words[3:14]]
        found[words[2]] = DiskCounters(
            numbers[0], numbers[2] * SECTOR_BYTES, numbers[4], numbers[6] * SECTOR_BYTES, numbers[9]
        )
    return found


def moved(
    before: dict[str, DiskCounters], after: dict[str, DiskCounters], devices: tuple[str, ...]
) -> dict[str, DiskCounters]:
    """What each device moved between two readings."""
    return {name: after[name] - before.get(name, NOTHING) for name in devices if name in after}


def total(counters: dict[str, DiskCounters]) -> DiskCounters:
    """The sum over devices."""
    return sum(counters.values(), NOTHING)


def read_program_io(root: Path = Path("/")) -> dict[int, tuple[str, int]]:
    """{pid: (name, bytes it read from and sent to storage)}; kernel threads and what we may not look at are absent."""
    found: dict[int, tuple[str, int]] = {}
    for entry in os.listdir(root / "proc"):
        if not entry.isdigit():
            continue
        try:
            if not os.readlink(root / "proc" / entry / "exe"):
                continue
            lines = (root / "proc" / entry / "io").read_text(errors="replace").splitlines()
            name = (root / "proc" / entry / "comm").read_text(errors="replace").strip()
        except OSError:
            continue
        values = dict(line.split(": ") for line in lines if ": " in line)
        found[int(entry)] = (name, int(values.get("read_bytes", 0)) + int(values.get("write_bytes", 0)))
    return found


@dataclass(frozen=True)
class Program:
    """A program that did I/O."""

    name: str
    pid: int
    io_bytes: int

    @property
    def text(self) -> str:
        """`rsync (pid 812, 14.2 MB)`"""
        return f"{self.name} (pid {self.pid}, {self.io_bytes / 1e6:.1f} MB)"


def other_programs(
    before: dict[int, tuple[str, int]], after: dict[int, tuple[str, int]], ours: set[int], least: int = 65536
) -> list[Program]:
    """Programs besides ours that did I/O, most first."""
    spent = [
        (amount - before.get(pid, (name, 0))[1], pid, name) for pid, (name, amount) in after.items() if pid not in ours
    ]
    busy = sorted((each for each in spent if each[0] >= least), reverse=True)
    return [Program(name, pid, amount) for amount, pid, name in busy[:3]]
