"""A published table of rates, row by row against the simulator.

A table comes with another distribution (entry points of the group `seekwise.rate_tables`), as an object with

    HEADER, ROW_TOLERANCE, MEDIAN_MAX, ERROR_MAX    line 1; what is required of a row, and of the whole
    rows(text)                    the rows, each with the name that misses have; raises ValueError with why it is no table
    answer(row, source)           (printed, simulated); raises what `UNANSWERED` lists
    source(tell)                  who answers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from seekwise_proof.validate._basis import marking
from seekwise_proof.validate._rate_table import RateTable, unreadable_table
from seekwise_proof.validate.frame import FileReport, unreadable


@dataclass(kw_only=True)
class PublishedTable(RateTable):
    """A published table of rates."""

    BAR: ClassVar = "median error 10 %, largest 35 %"

    modelled: int
    """Rows on which the simulator has an answer."""
    median_error: float | None
    largest_error: float | None


def report(table: Any, path: Path, text: str, options: Mapping[str, Any], source: Any = None) -> FileReport:
    """Rates against the table; a row that cannot be read counts as missed."""
    source = source or table.source(options.get("tell"))
    try:
        rows = table.rows(text)
    except ValueError as error:
        return unreadable_table(path, text, f"is no table: {error}")
    if not rows:
        return unreadable(path, "has no rows")
    outcomes: list[tuple[str, bool]] = []
    errors: list[float] = []
    misses: list[str] = []
    for name, row in rows:
        try:
            printed, simulated = table.answer(row, source)
        except table.UNANSWERED as error:
            misses.append(f"{name}: {table.reason(error)}")
            outcomes.append((name, False))
            continue
        excess = simulated / printed - 1
        errors.append(abs(excess))
        outcomes.append((name, abs(excess) <= table.ROW_TOLERANCE))
        if abs(excess) > table.ROW_TOLERANCE:
            misses.append(f"{name}: printed {printed:g} MB/s, simulated {simulated:.0f} ({excess:+.0%})")
    middle, worst = (median(errors), max(errors)) if errors else (None, None)
    complete = len(errors) == len(rows)
    within = middle is not None and middle <= table.MEDIAN_MAX and worst is not None and worst <= table.ERROR_MAX
    return PublishedTable(
        file=str(path),
        passed=len(rows) - len(misses),
        total=len(rows),
        misses=misses,
        shares=marking(path).shares(outcomes),
        met=complete and within,
        modelled=len(errors),
        median_error=middle,
        largest_error=worst,
    )
