"""Bounds what a program that syncs nothing leaves unwritten, in the kernel's way: written back while it goes on,
without anybody waiting.

A plain `cp` of a large file dirties pages until the kernel's flusher writes them, as asynchronous writes. Waiting for
each file (`fsync`) would make the same bytes synchronous writes, which a scheduler treats as if somebody waited. Seen
on a virtio disk: beside copies with fsync programs started up to 1.8 times sooner with bfq than with others, beside
plain `cp` 1.1 to 1.3 times.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seekwise.workload.program import durable

LOOK_S = 0.02
PIECE_BYTES = 8 << 20
"""Written back at a time; a request is a small part of it."""


@contextmanager
def behind(path: Path) -> Iterator[None]:
    """Begins to write back what is written into a file while the block runs, and the rest at its end."""
    over = threading.Event()
    thread = threading.Thread(target=_follow, args=(path, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _follow(path: Path, over: threading.Event) -> None:
    begun = 0
    while not over.wait(LOOK_S):
        begun = _begin(path, begun)
    _begin(path, begun, last=True)


def _begin(path: Path, begun: int, *, last: bool = False) -> int:
    """Begins to write what a file has beyond `begun` bytes, in whole pieces unless it is the last time; where the next
    call goes on."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return begun
    try:
        end = os.fstat(file).st_size
        end = end if last else end // PIECE_BYTES * PIECE_BYTES
        if end > begun:
            # Begins to write what is dirty and waits for nothing (Linux v6.12 mm/fadvise.c).
            os.posix_fadvise(file, begun, end - begun, os.POSIX_FADV_DONTNEED)
        return max(begun, end)
    finally:
        os.close(file)


def settle(path: Path) -> None:
    """Waits until a file whose writing was begun long ago is on the device: so much is unwritten at most, and no
    more."""
    if path.exists():
        durable(path)
