"""What of a file lies in the page cache, and files dropped from it so that the next read comes from the drive.

    evict([Path("/srv/db/base/1/2619")])     # Evicted(files=1, bytes=…, kept={})

`posix_fadvise(POSIX_FADV_DONTNEED)` drops clean pages that no process has mapped (Linux v6.12 mm/fadvise.c,
generic_fadvise), so what is dirty is written first. What was dropped is proved, not assumed: cachestat(2) counts what
is left, mincore(2) where it is missing (before 6.5). Directory entries and inodes stay cached: only `drop_caches`
reaches them, and that acts on the whole machine.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SYS_CACHESTAT = 451
"""The same number on every architecture (Linux v6.12 include/uapi/asm-generic/unistd.h)."""
PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)


class _Range(ctypes.Structure):
    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Cachestat(ctypes.Structure):
    # Linux v6.12 include/uapi/linux/mman.h
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cache", "dirty", "writeback", "evicted", "recently_evicted"))


@dataclass
class Evicted:
    """What was dropped, and what the kernel kept. `kept`: bytes by file."""

    files: int = 0
    bytes: int = 0
    kept: dict[Path, int] = field(default_factory=dict)

    @property
    def kept_bytes(self) -> int:
        """Bytes still in the page cache over all files; the kernel keeps dirty and mapped pages."""
        return sum(self.kept.values())


def cached_bytes(descriptor: int) -> int:
    """Bytes of an open regular file that lie in the page cache, in whole pages."""
    asked, counts = _Range(0, 0), _Cachestat()
    if _libc.syscall(SYS_CACHESTAT, descriptor, ctypes.byref(asked), ctypes.byref(counts), 0) == 0:
        return int(counts.cache) * PAGE
    if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP):
        raise OSError(ctypes.get_errno(), "cachestat")
    return _by_mincore(descriptor) * PAGE


def _by_mincore(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return 0
    pages = -(-size // PAGE)
    seen = (ctypes.c_ubyte * pages)()
    # Mapped privately and never touched: mapping by itself brings no page in. Python gives addresses of such a mapping
    # only through a buffer that may be written, hence ACCESS_COPY.
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY) as view:
        start = ctypes.c_char.from_buffer(view)
        try:
            if _libc.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), seen) != 0:
                raise OSError(ctypes.get_errno(), "mincore")
        finally:
            del start
    return sum(byte & 1 for byte in seen)


def evict(paths: Iterable[Path]) -> Evicted:
    """Drops these regular files from the page cache; files that vanish meanwhile, links and devices are passed over."""
    evicted = Evicted()
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and (before := cached_bytes(descriptor)):
                left = _evict_open(descriptor)
                evicted.files += 1
                evicted.bytes += max(0, before - left)
                if left:
                    evicted.kept[path] = left
        finally:
            os.close(descriptor)
    return evicted


def _evict_open(descriptor: int) -> int:
    """Bytes that stay."""
    os.fdatasync(descriptor)
    left = 0
    # Pages that wait in a CPU's own list are passed over the first time (Linux v6.12 mm/truncate.c
    # mapping_try_invalidate).
    for _ in range(2):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if not (left := cached_bytes(descriptor)):
            break
    return left


def write_back(path: Path) -> None:
    """What the file system of this path, or this block device, has still to write is written when this returns:
    syncfs(2), fsync(2)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if stat.S_ISBLK(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)
        elif _libc.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs")
    finally:
        os.close(descriptor)


def files_below(folder: Path, most: int) -> Iterator[Path]:
    """Regular files of a tree on one file system, at most so many; links are not followed."""
    device = os.stat(folder).st_dev
    waiting = [folder]
    while waiting and most > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                        waiting.append(Path(entry.path))
                    elif stat.S_ISREG(status.st_mode) and most > 0:
                        most -= 1
                        yield Path(entry.path)
        except OSError:
            continue  # gone, or closed to us


def unwritten_bytes(root: Path = Path("/")) -> int | None:
    """Bytes of the whole machine that are dirty or under write-back (proc(5), /proc/meminfo); None where the kernel
    does not say."""
    try:
        text = (root / "proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    rows = [line.split() for line in text.splitlines() if line.startswith(("Dirty:", "Writeback:"))]
    return sum(int(words[1]) * 1024 for words in rows) if len(rows) == 2 else None
