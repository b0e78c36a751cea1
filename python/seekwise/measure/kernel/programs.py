"""Who else used the devices: /proc/PID/io of other programs (readable for root) gives foreign I/O a name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import process


def read(root: Path = Path("/")) -> dict[int, tuple[str, int]]:
    """{pid: (name, bytes it read from and sent to storage)}; kernel threads and what we may not look at are absent."""
    programs: dict[int, tuple[str, int]] = {}
    for pid in process.pids(root):
        folder = root / f"proc/{pid}"
        try:
            if not os.readlink(folder / "exe"):
                continue
            lines = (folder / "io").read_text(errors="replace").splitlines()
            name = (folder / "comm").read_text(errors="replace").strip()
        except OSError:
            continue
        values = dict(line.split(": ") for line in lines if ": " in line)
        programs[pid] = (name, int(values.get("read_bytes", 0)) + int(values.get("write_bytes", 0)))
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
    before: dict[int, tuple[str, int]], after: dict[int, tuple[str, int]], ours: set[int], least: int = 65536
) -> list[ForeignProgram]:
    """Programs besides ours that did I/O, most first."""
    spent = [
        (amount - before.get(pid, (name, 0))[1], pid, name) for pid, (name, amount) in after.items() if pid not in ours
    ]
    busy = sorted((row for row in spent if row[0] >= least), reverse=True)
    return [ForeignProgram(name, pid, amount) for amount, pid, name in busy[:3]]
