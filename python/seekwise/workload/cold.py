"""Cold data: files evicted from the page cache, and shown to be.

`posix_fadvise(POSIX_FADV_DONTNEED)` drops clean pages that nobody has mapped; how many are left is counted page by page, with
cachestat(2) (Linux 6.5) or mincore(2) on a mapping of our own. Names and inodes stay in memory whatever is done to pages.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

CACHESTAT = 451
"""Number of the system call on every architecture (Linux v6.5 include/uapi/asm-generic/unistd.h)."""
_libc = ctypes.CDLL(None, use_errno=True)


class _Range(ctypes.Structure):
    _fields_ = [("off", ctypes.c_uint64), ("len", ctypes.c_uint64)]


class _Stat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("cache", "dirty", "writeback", "evicted", "recently_evicted")]


def evict(paths: Iterable[Path | str]) -> float:
    """Drops these files from the page cache; the share of their pages that is still there."""
    left = pages = 0
    for path in paths:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            mine = (os.fstat(file).st_size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
            left += cached_pages(file, mine)
            pages += mine
        finally:
            os.close(file)
    return left / pages if pages else 0.0


def cached_pages(file: int, pages: int) -> int:
    """Pages of an open file that are in memory."""
    if pages == 0:
        return 0
    found = _Stat()
    if _libc.syscall(CACHESTAT, file, ctypes.byref(_Range(0, 0)), ctypes.byref(found), 0) == 0:
        return min(pages, found.cache)
    if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP):
        raise OSError(ctypes.get_errno(), "cachestat")
    return _in_core(file, pages)


def _in_core(file: int, pages: int) -> int:
    """The same from mincore(2), for older kernels. Mapping a file reads none of it."""
    length = pages * mmap.PAGESIZE
    with mmap.mmap(file, os.fstat(file).st_size, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
        seen = (ctypes.c_ubyte * pages)()
        view = memoryview(mapped)
        try:
            # Only the buffer protocol tells the address of a read-only mapping.
            address = int(np.frombuffer(view, np.uint8, 1).ctypes.data)
            if _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), seen) != 0:
                raise OSError(ctypes.get_errno(), "mincore")
        finally:
            view.release()
    return sum(each & 1 for each in seen)
