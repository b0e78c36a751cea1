"""SQLite with several processes: transactions that read rows which are not in memory, change some, and wait for their
commit."""

from __future__ import annotations

import sqlite3
import time
from typing import Annotated

from pydantic import Field, PrivateAttr

from seekwise.workload import cold, database
from seekwise.workload.program import Place, Program

EVICT_EVERY_S = 0.5
"""Until then a transaction in twenty at most finds its cold row in memory, and the upper pages of the trees stay there,
as they do in a database that is larger than memory."""
RETRY_S = 0.001
"""SQLite's own handler sleeps up to 100 ms at a time: then the tail of all transactions is that of its sleeps."""
HOT_ROWS = 2000
HOT_READS = 3


class SQLite(Program):
    """Reads come first, as queries of their own; then one writer at a time has the database, and the others wait for
    it."""

    name = "sqlite"
    title = "transactions on an SQLite database (WAL, synchronous=FULL)"
    unit = "transaction"
    kind = "server"
    writes = True

    read_rows: Annotated[int, Field(ge=0, le=1000)] = 1
    """Rows that a transaction reads and that are not in memory, besides three that are."""
    write_rows: Annotated[int, Field(ge=0, le=1000)] = 1
    """Rows that it changes; 0: a query without a commit."""

    _link: sqlite3.Connection | None = PrivateAttr(None)
    _rows: int = PrivateAttr(0)
    _evict_at: float = PrivateAttr(0.0)
    data_sets = ("sqlite",)
    """A database in WAL mode, with a table of accounts."""

    def open(self, place: Place) -> None:
        """A connection without SQLite's own wait for locks: `work` waits for its turn itself."""
        link = database.connected(place.data / "sqlite" / database.NAME)
        self._link, self._rows = link, int(link.execute("SELECT max(id) FROM account").fetchone()[0])
        link.execute("PRAGMA busy_timeout=0")

    def before(self, place: Place) -> None:
        """The first worker evicts the database for all of them, every half second."""
        if place.number == 0 and time.monotonic() >= self._evict_at:
            place.cached_share = cold.evict([place.data / "sqlite" / database.NAME])
            self._evict_at = time.monotonic() + EVICT_EVERY_S

    def work(self, place: Place) -> int:
        """Bytes of the pages that rows were read from and written to; the commit is on the device at the end."""
        assert self._link is not None
        keys = [place.random.randrange(HOT_ROWS) for _ in range(HOT_READS)]
        keys += [place.random.randrange(self._rows) for _ in range(self.read_rows)]
        for key in keys:
            self._link.execute("SELECT balance, note FROM account WHERE id = ?", (key,)).fetchone()
        if self.write_rows:
            self._begin(place)
            for number in range(self.write_rows):
                key = keys[-1 - number] if number < len(keys) else place.random.randrange(self._rows)
                self._link.execute("UPDATE account SET balance = balance + 1 WHERE id = ?", (key,))
            self._link.execute("COMMIT")
        return database.PAGE_BYTES * (self.read_rows + self.write_rows)

    def _begin(self, place: Place) -> None:
        """Becomes the one writer. While another process is, SQLite says BUSY, and the program asks again a moment
        later: that is waiting."""
        assert self._link is not None
        while True:
            try:
                self._link.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                time.sleep(place.random.uniform(0.5, 1.5) * RETRY_S)

    def close(self, place: Place) -> None:
        """SQLite makes a checkpoint when the last worker closes; that is not timed."""
        if self._link is not None:
            self._link.close()
