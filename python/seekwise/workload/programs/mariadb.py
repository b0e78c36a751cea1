"""MariaDB, where it is installed: a private server, transactions of several clients that wait for their commits."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar

from pydantic import PrivateAttr

from seekwise.workload import mariadb
from seekwise.workload.program import Place
from seekwise.workload.programs.database import OnServer


class MariaDB(OnServer):
    """The table is larger than the buffer pool: rows are read from the device, past the page cache, by all clients at
    once."""

    name = "mariadb"
    title = "transactions on a private MariaDB server, its table larger than its buffer pool"
    data_sets = ("mariadb",)
    """A server's folder with a filled table."""
    server: ClassVar[ModuleType] = mariadb
    needed = "MariaDB's server and client are"

    _client: mariadb.Client | None = PrivateAttr(None)

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
