"""cat and dd: a large file read from one end to the other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from seekwise.workload import data
from seekwise.workload.program import Place, call
from seekwise.workload.programs.large import LargeFiles

CAT_BYTES = 128 << 10
"""cat's buffer (GNU coreutils 9, src/ioblksize.h)."""


class Cat(LargeFiles):
    """Through the page cache, with the kernel's read-ahead. One process makes cat's calls, file after file, as a `cat`
    of one file larger than all of them would: see `copy.py`."""

    name = "cat"
    title = "reads large files as cat does, none of them in memory"
    unit = "file"
    kind = "stream"
    long_units = True
    expected_s = 0.5

    def work(self, place: Place) -> int:
        """Bytes read, the whole file, in pieces as large as cat's."""
        source = data.next_large(place)
        place.turn += 1
        return _read(source)


def _read(source: Path) -> int:
    buffer, done = bytearray(CAT_BYTES), 0
    file = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        while moved := os.readv(file, [buffer]):
            done += moved
        return done
    finally:
        os.close(file)


class DD(LargeFiles):
    """Past the page cache: one request at a time, and nothing is read ahead."""

    name = "dd"
    title = "reads large files with dd past the page cache"
    unit = "file"
    kind = "stream"
    long_units = True
    expected_s = 0.5

    block_kib: Annotated[int, Field(ge=4, le=65536)] = 64
    """Size of a request."""
    cache: Literal["direct", "page cache"] = "direct"

    def work(self, place: Place) -> int:
        """Bytes of the file; dd runs as a program of its own. Raises RuntimeError if it fails."""
        source = data.next_large(place)
        direct = ["iflag=direct"] if self.cache == "direct" else []
        call(["dd", f"if={source}", "of=/dev/null", f"bs={self.block_kib}K", *direct])
        place.turn += 1
        return source.stat().st_size
