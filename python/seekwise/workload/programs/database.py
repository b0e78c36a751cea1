"""Programs whose work a private database server does (`server.py`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from seekwise.workload import server
from seekwise.workload.program import Place, Program


class OnServer(Program):
    """Transactions of clients on one server, which lies in the data set of the program's name."""

    unit = "transaction"
    kind = "server"
    writes = True
    is_extra = True
    server: ClassVar[ModuleType]
    """Knows `binaries`, and how it is `served`."""
    needed: ClassVar[str]

    def missing(self) -> str | None:
        """It needs the server and its client."""
        return None if self.server.binaries() is not None else f"{self.needed} not installed"

    @contextlib.contextmanager
    def service(self, place: Place) -> Iterator[Path]:
        """One server for all workers, stopped at the end; gives its folder. Raises where it does not start."""
        seen = server.path_for_user(place.data / self.name)
        with self.server.served(seen):
            yield seen
