"""PostgreSQL with pgbench, where they are installed: a private cluster, transactions of several clients that wait for their commits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from seekwise.workload import postgres, server
from seekwise.workload.program import Place, Program

EACH = 200
"""Transactions of a client in one call of pgbench: some tenths of a second, in which connecting is a small part."""


class PostgreSQL(Program):
    """The database fits into memory, as that of most applications does: its transactions write and wait for their commits."""

    name = "postgresql"
    title = "transactions of pgbench on a private PostgreSQL cluster, its data in memory"
    unit = "transaction"
    writes = True
    is_extra = True
    data_sets = ("postgresql",)
    """A cluster's folder with pgbench's tables."""

    clients: Annotated[int, Field(ge=1, le=64)] = 8

    def missing(self) -> str | None:
        """It needs the server and pgbench."""
        return None if postgres.binaries() is not None else "PostgreSQL with pgbench is not installed"

    @contextlib.contextmanager
    def service(self, place: Place) -> Iterator[Path]:
        """One server for all workers, stopped at the end; gives its folder. Raises where it does not start."""
        seen = server.seen(place.data / "postgresql")
        with postgres.served(seen):
            yield seen

    def work(self, place: Place) -> list[tuple[float, float]]:
        """One call of pgbench: 200 transactions per client, (end in seconds since 1970, duration in seconds) of each."""
        assert place.service is not None and place.memory is not None
        return postgres.transactions(place.service, place.memory, self.clients, EACH)
