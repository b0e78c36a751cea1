"""SQLite with several processes: transactions that read rows which are not in memory, change some, and wait for their commit."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seekwise.workload.program import Program


class SQLite(Program):
    name = "sqlite"
    title = "transactions on an SQLite database (WAL, synchronous=FULL)"
    unit = "transaction"
    writes = True

    read_rows: Annotated[int, Field(ge=0, le=10_000)] = 4
    """Rows that a transaction reads before it writes, at random."""
    write_rows: Annotated[int, Field(ge=0, le=10_000)] = 1
