"""Who else used the machine: /proc/PID/io and /proc/PID/stat of other programs (readable for root), against what drives and processors did."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import process
from seekwise.linux import diskstats, facts
from seekwise.linux.diskstats import DiskCounters
from seekwise.linux.tree import open_tree
from seekwise.measure.kernel import cpu


@dataclass(frozen=True)
class Program:
    """What a program has used since it started, with the children that it waited for: proc(5)."""

    name: str
    parent: int
    read_bytes: int
    write_bytes: int
    cpu_ticks: int

    @property
    def io_bytes(self) -> int:
        """Read from storage and sent to it."""
        return self.read_bytes + self.write_bytes


def read(root: Path = Path("/")) -> dict[int, Program]:
    """By pid; kernel threads and what we may not look at are absent."""
    programs: dict[int, Program] = {}
    for pid in process.pids(root):
        folder = root / f"proc/{pid}"
        try:
            if not os.readlink(folder / "exe"):
                continue
            lines = (folder / "io").read_text(errors="replace").splitlines()
            name, fields = process.stat(pid, root)
        except OSError:
            continue
        moved = dict(line.split(": ") for line in lines if ": " in line)
        ticks = sum(int(number) for number in fields[11:15])
        programs[pid] = Program(
            name, int(fields[1]), int(moved.get("read_bytes", 0)), int(moved.get("write_bytes", 0)), ticks
        )
    return programs


@dataclass(frozen=True)
class ForeignProgram:
    """A program that did I/O."""

    name: str
    pid: int
    io_bytes: int

    @property
    def text(self) -> str:
        """`rsync (pid 812, 14.2 MB)`"""
        return f"{self.name} (pid {self.pid}, {self.io_bytes / 1e6:.1f} MB)"


def others(
    before: Mapping[int, Program], after: Mapping[int, Program], ours: set[int], least: int = 65536
) -> list[ForeignProgram]:
    """Programs besides ours that did I/O, most first."""
    spent = [
        (now.io_bytes - (before[pid].io_bytes if pid in before else 0), pid, now.name)
        for pid, now in after.items()
        if pid not in ours
    ]
    busy = sorted((row for row in spent if row[0] >= least), reverse=True)
    return [ForeignProgram(name, pid, amount) for amount, pid, name in busy[:3]]


WAITS = ("cpu", "io", "memory")


@dataclass(frozen=True)
class Seen:
    """What the kernel has counted up to one instant."""

    programs: Mapping[int, Program]
    drives: DiskCounters
    ticks: Mapping[str, int]
    waited_s: Mapping[str, float]
    """By resource: some task waited for it. Empty where the kernel keeps no pressure stall information."""


def seen(drives: Collection[str]) -> Seen:
    """Counters now; `drives` are those that are measured."""
    counters, tree = diskstats.read(), open_tree()
    waited = {name: seconds for name in WAITS if (seconds := facts.pressure_s(tree, name)) is not None}
    moved = diskstats.total({name: counters[name] for name in drives if name in counters})
    return Seen(read(), moved, cpu.read_stat(), waited)


def foreign(before: Seen, after: Seen, own_pid: int | None = None) -> dict[str, object]:
    """What others took between two instants at which no load of ours ran, as a record keeps it.

    A program that ends passes its counters on to the parent that waits for it, so sums over all others keep them. Of the drives' bytes only those count that our
    programs did not ask for and that others did: theirs may have gone to another drive, and the write-back of ours may come late.
    """
    own_pid = os.getpid() if own_pid is None else own_pid
    ours, theirs = _by_owner(before, own_pid), _by_owner(after, own_pid)
    mine, not_mine = (tuple(map(_more, ours[side], theirs[side])) for side in (0, 1))
    drives = after.drives - before.drives
    foreign_bytes = min(not_mine[0], max(0, drives.read_bytes - mine[0])) + min(
        not_mine[1], max(0, drives.write_bytes - mine[1])
    )
    ticks = {kind: after.ticks[kind] - before.ticks[kind] for kind in before.ticks}
    whole = sum(ticks.values())
    seconds = whole / cpu.TICKS_PER_SECOND / max(os.cpu_count() or 1, 1)
    waits = {name: after.waited_s[name] - waited for name, waited in before.waited_s.items() if name in after.waited_s}
    return {
        "foreign_share": round(foreign_bytes / drives.bytes, 3) if drives.bytes else 0.0,
        "foreign_processors": round(min(1.0, not_mine[2] / whole), 3) if whole else 0.0,
        "waited": {name: round(min(1.0, waited / seconds), 3) for name, waited in waits.items()} if seconds else {},
    }


def _more(before: int, after: int) -> int:
    return max(0, after - before)


def _by_owner(seen: Seen, own_pid: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """((bytes read, bytes written, ticks) of ours and what we started, the same of all others)."""
    sums = {True: [0, 0, 0], False: [0, 0, 0]}
    for pid, program in seen.programs.items():
        above, passed = pid, set[int]()
        while above != own_pid and above in seen.programs and above not in passed:
            passed.add(above)
            above = seen.programs[above].parent
        mine = sums[above == own_pid]
        for place, number in enumerate((program.read_bytes, program.write_bytes, program.cpu_ticks)):
            mine[place] += number
    return (sums[True][0], sums[True][1], sums[True][2]), (sums[False][0], sums[False][1], sums[False][2])
