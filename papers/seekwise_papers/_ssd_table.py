"""The published table of an SSD RAID 10 (`tests/seeds/ssd_raid10_chunk.csv`), row by row against a source of results.

The system of a row is its `array`, the chunk size what the row says (it must be the system's own when the system has one), rates are
those printed. A row passes within 20 %. Rows that are not modelled are missed.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from seekwise.simulate.setups.queries import Option, Query, ResultSource
from seekwise.simulate.setups.setup import setup_of
from seekwise.simulate.setups.value import ClaimError, NotModelled
from seekwise.store.operations import PURE_OPERATIONS
from seekwise_papers.simulated import SimulatedResults
from seekwise_proof.validate._basis import marking
from seekwise_proof.validate._rate_table import RateTable, unreadable_table
from seekwise_proof.validate.frame import FileReport, unreadable

HEADER = "pattern,array,chunk_kib,bs_kib,mb_per_s,tool"
ROW_TOLERANCE = 0.20
# Required of the table as a whole.
MEDIAN_MAX = 0.10
ERROR_MAX = 0.35
SCHEDULER = "deadline"
TOOLS = {"fio": "fio", "gdisk": "gnome-disks"}


@dataclass(kw_only=True)
class SsdTable(RateTable):
    """The published table of an SSD RAID 10."""

    BAR: ClassVar = "median error 10 %, largest 35 %"

    modelled: int
    """Rows on which the simulator has an answer."""
    median_error: float | None
    largest_error: float | None


def report(path: Path, text: str, options: Mapping[str, Any], source: ResultSource | None = None) -> FileReport:
    """Throughput of the SSD array against the table; a row that cannot be read counts as missed."""
    source = source or SimulatedResults(options.get("tell"))
    try:
        rows = list(csv.DictReader(io.StringIO(text), restkey="more", restval=""))
    except csv.Error as error:
        return unreadable_table(path, text, f"is no table: {error}")
    if not rows:
        return unreadable(path, "has no rows")
    outcomes: list[tuple[str, bool]] = []
    errors: list[float] = []
    misses: list[str] = []
    for row in rows:
        name = ", ".join(str(row[column]) for column in ("pattern", "array", "chunk_kib", "bs_kib", "tool"))
        try:
            printed = _number(row, "mb_per_s")
            throughput = source.measure([_query(row)])[0]
        except ClaimError as error:
            misses.append(f"{name}: {error}")
            outcomes.append((name, False))
            continue
        except NotModelled as error:
            misses.append(f"{name}: not modelled: {error}")
            outcomes.append((name, False))
            continue
        excess = throughput / printed - 1
        errors.append(abs(excess))
        outcomes.append((name, abs(excess) <= ROW_TOLERANCE))
        if abs(excess) > ROW_TOLERANCE:
            misses.append(f"{name}: printed {printed:g} MB/s, simulated {throughput:.0f} ({excess:+.0%})")
    middle, worst = (median(errors), max(errors)) if errors else (None, None)
    complete = len(errors) == len(rows)
    return SsdTable(
        file=str(path),
        passed=len(rows) - len(misses),
        total=len(rows),
        misses=misses,
        shares=marking(path).shares(outcomes),
        met=complete and middle is not None and middle <= MEDIAN_MAX and worst is not None and worst <= ERROR_MAX,
        modelled=len(errors),
        median_error=middle,
        largest_error=worst,
    )


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
