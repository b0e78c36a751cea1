"""The published table of an SSD RAID 10 (`tests/seeds/ssd_raid10_chunk.csv`), row by row against a source of results.

The system of a row is its `array`, the chunk size what the row says (it must be the system's own when the system has
one), rates are those printed. A row passes within 20 %. Rows that are not modelled are missed.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from seekwise.simulate.setups.setup import NotModelled
from seekwise.store.operations import PURE_OPERATIONS
from seekwise_papers.queries import Option, Query
from seekwise_papers.simulated import SimulatedResults
from seekwise_papers.systems import setup_of
from seekwise_papers.value import ClaimError

HEADER = "pattern,array,chunk_kib,bs_kib,mb_per_s,tool"
ROW_TOLERANCE = 0.20
# Required of the table as a whole.
MEDIAN_MAX = 0.10
ERROR_MAX = 0.35
SCHEDULER = "deadline"
TOOLS = {"fio": "fio", "gdisk": "gnome-disks"}


UNANSWERED = (ClaimError, NotModelled)


def source(tell: Any = None) -> SimulatedResults:
    """Who answers."""
    return SimulatedResults(tell)


def reason(error: Exception) -> str:
    """Why a row has no answer."""
    return f"not modelled: {error}" if isinstance(error, NotModelled) else str(error)


def rows(text: str) -> list[tuple[str, Mapping[str, str]]]:
    """The rows, each with its name. Raises ValueError where the text is no table."""
    try:
        read = list(csv.DictReader(io.StringIO(text), restkey="more", restval=""))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return [(", ".join(str(row[name]) for name in HEADER.split(",") if name != "mb_per_s"), row) for row in read]


def answer(row: Mapping[str, str], source: SimulatedResults) -> tuple[float, float]:
    """MB/s printed and simulated."""
    return _number(row, "mb_per_s"), source.measure([_query(row)])[0]


def _number(row: Mapping[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ClaimError(f"`{column}` is no positive number")
    return value


def _query(row: Mapping[str, str]) -> Query:
    operation, array, tool = row["pattern"], row["array"], row["tool"]
    if operation not in PURE_OPERATIONS:
        raise ClaimError(f"there is no pattern `{operation}`")
    if tool not in TOOLS:
        raise ClaimError(f"there is no tool `{tool}`")
    options: list[Option] = [("bs", _number(row, "bs_kib"))]
    own = setup_of(array).chunk_kib
    if row["chunk_kib"]:
        chunk = _number(row, "chunk_kib")
        if own is None:
            raise ClaimError(f"{array} has no chunks and the row gives {chunk:g} KiB")
        options.append(("chunk", chunk))
    elif own is not None:
        raise ClaimError(f"the row of {array} gives no chunk size")
    if tool != "fio":
        options.append(("tool", TOOLS[tool]))
    return Query("rate", array, operation, SCHEDULER, 1, tuple(options))
