"""`cp` of a large file again and again, or four `cat` of one each, cold at their start: what runs beside the programs.

Three targets in turn, so that a copy has reached the drive before it is overwritten: a file that is truncated while it is dirty is never
written. Bytes are counted where the pages are dirtied (`write_bytes` in /proc/PID/io, Linux Documentation/filesystems/proc.rst); the kernel
adds what ended children wrote to their parent. Bytes of `cat` are those that came from the drive (`read_bytes`): whole files are evicted, as
`dd iflag=nocache count=0` leaves large folios in memory (Linux 6.18), and readers of those read nothing from the drive.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from real_programs.shell import ENVIRONMENT
from seekwise.control import child, supervise

FILE_BYTES = 4 << 30
TARGETS = 3
ROOM_BYTES = (TARGETS + 1 + 4) * FILE_BYTES
LOOP = """while :; do for n in 1 2 3; do
  dd if=large of=/dev/null iflag=nocache count=0 status=none
  cp large copy.$n || exit 1
done; done"""


EVICT = "import os, sys; file = os.open(sys.argv[1], os.O_RDONLY); os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)"
READERS = 4
READ_LOOP = f"""for n in 1 2 3 4; do (while :; do
  {sys.executable} -I -S -c "{EVICT}" large.$n
  cat large.$n > /dev/null || exit 1
done) & done; wait"""


@contextlib.contextmanager
def copying(folder: Path) -> Iterator[Background]:
    """`cp`, until the block is left."""
    if not (folder / "large").exists():
        _write_large(folder / "large")
    with _looping(LOOP, folder) as load:
        yield Background(load, "write_bytes")


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[Background]:
    """Four `cat`, until the block is left."""
    for number in range(1, READERS + 1):
        if not (folder / f"large.{number}").exists():
            _write_large(folder / f"large.{number}")
    with _looping(READ_LOOP, folder) as load:
        yield Background(load, "read_bytes")


@contextlib.contextmanager
def _looping(script: str, folder: Path) -> Iterator[child.ChildProgram]:
    with child.started(("sh", "-c", script), cwd=folder, env=ENVIRONMENT) as load:
        load.wait_until_started()
        yield load


@dataclass
class Background:
    """`counter`: of /proc/PID/io."""

    load: child.ChildProgram
    counter: str

    def moved(self) -> int:
        """Bytes so far."""
        if self.load.poll() is not None or self.load.pid is None:
            raise SystemExit(f"the background ended with {self.load.returncode}: is there room?")
        return sum(self._of(pid) for pid in _with_descendants(self.load.pid))

    def _of(self, pid: int) -> int:
        return _counted(pid, self.counter)


def _with_descendants(pid: int) -> list[int]:
    return [pid, *(each for child_ in supervise.children_of(pid) for each in _with_descendants(child_))]


def _counted(pid: int, counter: str) -> int:
    try:
        found = re.search(rf"^{counter}: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.MULTILINE)
    except OSError:
        return 0  # ended between two looks: its parent has its count
    return int(found[1]) if found else 0


def _write_large(path: Path) -> None:
    piece = os.urandom(4 << 20)
    with path.open("wb") as file:
        for _ in range(FILE_BYTES // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
