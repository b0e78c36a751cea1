"""MariaDB, where it is installed: a private server, transactions of several clients that wait for their commits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import PrivateAttr

from seekwise.workload import mariadb, server
from seekwise.workload.program import Place, Program


class MariaDB(Program):
    """The table is larger than the buffer pool: rows are read from the device, past the page cache, by all clients at once."""

    name = "mariadb"
    title = "transactions on a private MariaDB server, its table larger than its buffer pool"
    unit = "transaction"
    writes = True
    is_extra = True
    data_sets = ("mariadb",)
    """A server's folder with a filled table."""

    _client: mariadb.Client | None = PrivateAttr(None)

    def missing(self) -> str | None:
        """It needs both the server and the command-line client."""
        return None if mariadb.binaries() is not None else "MariaDB's server and client are not installed"

    @contextlib.contextmanager
    def service(self, place: Place) -> Iterator[Path]:
        """One server for all workers, stopped at the end; gives its folder. Raises where it does not start."""
        seen = server.seen(place.data / "mariadb")
        with mariadb.served(seen):
            yield seen

    def open(self, place: Place) -> None:
        """Each worker is a client with a connection of its own."""
        assert place.service is not None
        self._client = mariadb.Client(place.service)

    def work(self, place: Place) -> int:
        """Always 0: the server's bytes are not seen here. Raises RuntimeError on an SQL error."""
        assert self._client is not None
        self._client.transaction(place.random)
        return 0

    def close(self, place: Place) -> None:
        """Ends the connection; the server is left to `service`."""
        if self._client is not None:
            self._client.close()
