"""PostgreSQL with pgbench, where they are installed: a private cluster, transactions of several clients that wait for
their commits."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, ClassVar

from pydantic import Field

from seekwise.workload import postgres
from seekwise.workload.program import Place
from seekwise.workload.programs.database import OnServer

EACH = 200
"""Transactions of a client in one call of pgbench: some tenths of a second, in which connecting is a small part."""


class PostgreSQL(OnServer):
    """The database fits into memory, as that of most applications does: its transactions write and wait for their
    commits."""

    name = "postgresql"
    title = "transactions of pgbench on a private PostgreSQL cluster, its data in memory"
    data_sets = ("postgresql",)
    """A cluster's folder with pgbench's tables."""
    server: ClassVar[ModuleType] = postgres
    needed = "PostgreSQL with pgbench is"

    clients: Annotated[int, Field(ge=1, le=64)] = 8

    def work(self, place: Place) -> list[tuple[float, float]]:
        """One call of pgbench: 200 transactions per client, (end in seconds since 1970, duration in seconds) of
        each."""
        assert place.service is not None and place.memory is not None
        return postgres.transactions(place.service, place.memory, self.clients, EACH)
