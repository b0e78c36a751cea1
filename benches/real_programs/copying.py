"""`cp` of a large file again and again, cold at its start: what runs beside the programs.

Three targets in turn, so that a copy has reached the drive before it is overwritten: a file that is truncated while it is dirty is never
written. Bytes are counted where the pages are dirtied (`write_bytes` in /proc/PID/io, Linux Documentation/filesystems/proc.rst); the kernel
adds what ended children wrote to their parent.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from real_programs.shell import ENVIRONMENT
from seekwise.control import child, supervise

FILE_BYTES = 4 << 30
TARGETS = 3
ROOM_BYTES = (TARGETS + 1) * FILE_BYTES
LOOP = """while :; do for n in 1 2 3; do
  dd if=large of=/dev/null iflag=nocache count=0 status=none
  cp large copy.$n || exit 1
done; done"""


@contextlib.contextmanager
def copying(folder: Path) -> Iterator[Copy]:
    """Runs until the block is left."""
    if not (folder / "large").exists():
        _write_large(folder / "large")
    with child.started(("sh", "-c", LOOP), cwd=folder, env=ENVIRONMENT) as load:
        load.wait_until_started()
        yield Copy(load)


class Copy:
    def __init__(self, load: child.Load) -> None:
        self.load = load

    def written(self) -> int:
        """Bytes so far."""
        if self.load.poll() is not None or self.load.pid is None:
            raise SystemExit(f"cp ended with {self.load.returncode}: is there room?")
        return sum(_written(pid) for pid in (self.load.pid, *supervise.children_of(self.load.pid)))


def _written(pid: int) -> int:
    try:
        found = re.search(r"^write_bytes: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.MULTILINE)
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
