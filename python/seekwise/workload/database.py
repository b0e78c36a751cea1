"""An SQLite database of rows that do not fit into a cache, as an application has one."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from seekwise.workload.program import DataBudget

NAME = "data.db"
NOTE_BYTES = 430
"""Nine rows of it fill a page of SQLite (4096 bytes) to within 100: of space left over a file system's compression would
make nothing."""
BATCH = 20_000
LEAST_ROWS = 60_000
PAGE_BYTES = 4096
LOCKED_MOST_S = 60.0


def connected(path: Path | str) -> sqlite3.Connection:
    """As its documentation advises for durable transactions of several processes: WAL, synchronous=FULL."""
    link = sqlite3.connect(path, timeout=LOCKED_MOST_S, isolation_level=None)
    until = time.monotonic() + LOCKED_MOST_S
    while not _writes_ahead(link):
        if time.monotonic() > until:
            raise sqlite3.OperationalError(f"{path}: other programs keep it locked")
        time.sleep(SWITCH_RETRY_S)
    link.execute("PRAGMA synchronous=FULL")
    return link


SWITCH_RETRY_S = 0.01


def _writes_ahead(link: sqlite3.Connection) -> bool:
    """Switched to WAL. Of several that switch at once SQLite tells all but one BUSY without the wait that they asked
    for: all hold a lock."""
    try:
        link.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def build(folder: Path, share: DataBudget) -> int:
    """Rows in the order of their key, with an index on a value that is not in this order; its bytes."""
    path = folder / NAME
    link = sqlite3.connect(path, isolation_level=None)
    try:
        link.execute(f"PRAGMA page_size={PAGE_BYTES}")
        link.execute("PRAGMA journal_mode=OFF")
        link.execute("PRAGMA synchronous=OFF")
        link.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, owner INTEGER, balance INTEGER, note BLOB)")
        rows = 0
        while rows < LEAST_ROWS or (os.path.getsize(path) < share.room_bytes and not share.is_over):
            # Each byte once: noise that comes again within some ten KiB is what compression finds.
            noise = memoryview(os.urandom(NOTE_BYTES * BATCH))
            link.execute("BEGIN")
            link.executemany(
                "INSERT INTO account VALUES (?, ?, 0, ?)",
                (
                    (rows + number, (rows + number) * 7919 % 1_000_003, noise[number * NOTE_BYTES :][:NOTE_BYTES])
                    for number in range(BATCH)
                ),
            )
            link.execute("COMMIT")
            rows += BATCH
    finally:
        link.close()
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    return os.path.getsize(path)
