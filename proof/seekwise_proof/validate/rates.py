"""Simulated rates against recorded rates (validation levels 4 and 5).

The format is known by the header. `kernel,target,array,…`: recorded machines.
`pattern,array,chunk_kib,bs_kib,mb_per_s,tool`: the published table of an SSD RAID 10; a row passes within 20 %, the
median error must stay within 10 % and no row may be off by more than 35 %. `source,cores,devices,processes,…`:
schedulers on fast drives with many cores (`_core_table.py`).

Machine tables: a row passes within 15 %. `pairs` counts pairs of schedulers under equal conditions whose recorded rates
differ by more than 10 %: the same one has to be ahead. Rows and pairs are required separately: 90 % of rows, every
pair.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seekwise import extensions
from seekwise.files import read_text
from seekwise_proof import _proof
from seekwise_proof.validate import _core_table as core_table
from seekwise_proof.validate import _published_table as published_table
from seekwise_proof.validate._basis import Count, marking
from seekwise_proof.validate._rate_table import RateTable, unreadable_table
from seekwise_proof.validate.frame import FileReport, ValidationReport, files_below, unreadable

SUMMARY = "simulated rates against recorded rates of real machines"
SHARE_ROWS = 0.90
SEED = 1
MACHINE_BEGINS = "kernel,target,array,"
TABLES = "seekwise.rate_tables"
"""Entry points of tables that other distributions know: NAME = "module" (`_published_table.py`)."""


@dataclass(kw_only=True)
class MachineTable(RateTable):
    """Recorded machines."""

    BAR: ClassVar = "90 % of the rows, every pair"

    pairs: Count
    """Pairs of schedulers whose order is met."""
    median_error: float | None


@dataclass(kw_only=True)
class Rates(ValidationReport):
    """`verify rates --json`."""

    SCHEMA: ClassVar = "seekwise.validate.rates/1"

    files: Sequence[RateTable | FileReport]
    pairs: Count
    """Pairs of schedulers whose order is met."""


def verify(paths: Sequence[Path], options: dict[str, Any]) -> Rates:
    """Tables as files, or folders that are searched for CSV files."""
    files = [_table(path, options) for path in files_below(paths, [".csv"])]
    tables = [file for file in files if isinstance(file, RateTable)]
    pairs = sum((file.pairs for file in tables if isinstance(file, MachineTable)), Count())
    met = (
        bool(files) and len(tables) == len(files) and all(table.met for table in tables) and pairs.passed == pairs.total
    )
    bars = dict.fromkeys(table.BAR for table in tables)
    return Rates(files=files, required="; ".join(bars) or MachineTable.BAR, met=met, pairs=pairs)


def _table(path: Path, options: dict[str, Any]) -> FileReport:
    try:
        text = read_text(path, 1 << 30)
    except (OSError, UnicodeDecodeError) as error:
        return unreadable(path, f"cannot be read: {error}")
    others = {module.HEADER: module for module in (entry.load() for entry in extensions.entries(TABLES).values())}
    if other := others.get(text.partition("\n")[0].strip()):
        return published_table.report(other, path, text, options)
    if text.startswith(core_table.BEGINS):
        return core_table.report(path, text, SEED)
    if text.startswith(MACHINE_BEGINS):
        return _machine_table(path, text)
    begins = " or ".join(f"`{word}…`" for word in (MACHINE_BEGINS, *others, core_table.BEGINS))
    return unreadable_table(path, text, f"line 1 is no header that is known: {begins}")


def _machine_table(path: Path, text: str) -> FileReport:
    try:
        outcome = json.loads(_proof.verify_machine_rates(text, SEED))
    except ValueError as error:
        return unreadable_table(path, text, str(error))
    passed, total = outcome["passed"], outcome["total"]
    return MachineTable(
        file=str(path),
        passed=passed,
        total=total,
        misses=outcome["misses"],
        shares=marking(path).shares((row["name"], row["passed"]) for row in outcome["rows"]),
        met=passed >= SHARE_ROWS * total,
        pairs=Count(outcome["pairs_passed"], outcome["pairs_total"]),
        median_error=outcome["median_error"],
    )
