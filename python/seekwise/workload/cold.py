"""Cold data: files evicted from the page cache, and shown to be (`linux/page_cache.py`). Names and inodes stay in
memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from seekwise.linux.page_cache import PAGE, cached_bytes


def evict(paths: Iterable[Path | str]) -> float:
    """Drops these files, which are written back already; the share of their pages that is still there."""
    left = whole = 0
    for path in paths:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            left += cached_bytes(file)
            whole += -(-os.fstat(file).st_size // PAGE) * PAGE
        finally:
            os.close(file)
    return min(1.0, left / whole) if whole else 0.0
