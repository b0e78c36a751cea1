"""cp: reads files that are not in memory and writes copies of them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from seekwise.workload import data, write_behind
from seekwise.workload.program import Place
from seekwise.workload.programs.large import LargeFiles

KEPT = 4
"""Copies that are there at a time; the oldest is removed for the next."""
BUFFER_BYTES = 256 << 10
"""Of cp where the kernel does not copy by itself (GNU coreutils 9, src/ioblksize.h)."""
NOT_BY_KERNEL = (errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


class Copy(LargeFiles):
    """One process makes the calls of `cp`, file after file, as a `cp` of one file larger than all of them would: to a
    scheduler that favours programs which have just begun, a new process for each file would be another load.

    A file is copied when `cp` would end, as its user sees it. What it left is written meanwhile, and at most one copy
    is unwritten when the next one is done: from one period to the next little is left to pay.
    """

    name = "copy"
    title = "copies large files as cp does, the sources not in memory"
    unit = "file"
    kind = "stream"
    writes = True

    def work(self, place: Place) -> int:
        """Bytes copied; waits at the end until the copy before this one is on the device."""
        source = data.next_large(place)
        target, last = place.own / str(place.turn % KEPT), place.own / str((place.turn - 1) % KEPT)
        target.unlink(missing_ok=True)
        with write_behind.behind(target):
            moved = _copied(source, target)
        write_behind.settle(last)
        place.turn += 1
        return moved


def _copied(source: Path, target: Path) -> int:
    """With cp's calls: the whole file in one call of copy_file_range, or buffers where the kernel has none for this
    file system."""
    reads = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    writes = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size, done = os.fstat(reads).st_size, 0
        os.posix_fadvise(reads, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        try:
            while done < size and (moved := os.copy_file_range(reads, writes, size - done)):
                done += moved
        except OSError as error:
            if error.errno not in NOT_BY_KERNEL or done:
                raise
            while piece := os.read(reads, BUFFER_BYTES):
                done += os.write(writes, piece)
        return done
    finally:
        os.close(reads)
        os.close(writes)
