"""Simulated rates against recorded rates (validation levels 4 and 5).

The format is known by the header. `kernel,target,array,…`: recorded machines. `pattern,array,chunk_kib,bs_kib,mb_per_s,tool`: the published
table of an SSD RAID 10; a row passes within 20 %, the median error must stay within 10 % and no row may be off by more than 35 %.
`source,cores,devices,processes,…`: schedulers on fast drives with many cores (`_core_table.py`).

Machine tables: a row passes within 15 %. `pairs` counts pairs of schedulers under equal conditions whose recorded rates differ by more than
10 %: the same one has to be ahead. Rows and pairs are required separately: 90 % of rows, every pair.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seekwise import _core
from seekwise.files import read_text
from seekwise.lab.validate import _core_table as core_table
from seekwise.lab.validate import _ssd_table as ssd_table
from seekwise.lab.validate._basis import marking
from seekwise.lab.validate.frame import FileReport, ValidationReport, files_below, unreadable
from seekwise.papers.simulated import SimulatedResults
from seekwise.simulate.setups.queries import ResultSource

SUMMARY = "simulated rates against recorded rates of real machines"
SHARE_ROWS = 0.90
BAR = "90 % of the rows, every pair"
SEED = 1
MACHINE_BEGINS = "kernel,target,array,"


def verify(paths: Sequence[Path], options: dict[str, Any], source: ResultSource | None = None) -> ValidationReport:
    """Tables as files, or folders that are searched for CSV files."""
    source = source or SimulatedResults(options.get("tell"))
    files, pairs = [], {"passed": 0, "total": 0}
    met = True
    for path in files_below(paths, [".csv"]):
        report = _table(path, source)
        files.append(report)
        for key in pairs:
            pairs[key] += report.extra.get("pairs", {}).get(key, 0)
        met = met and report.extra.get("met", report.passed >= SHARE_ROWS * report.total)
    met = met and bool(files) and pairs["passed"] == pairs["total"]
    bars = dict.fromkeys(_bar(file) for file in files)
    return ValidationReport("rates", files, {"pairs": pairs}, met, "; ".join(bars) or BAR)


def _bar(file: FileReport) -> str:
    if "largest_error" in file.extra:
        return ssd_table.BAR
    return core_table.BAR if "orders" in file.extra else BAR


def _table(path: Path, source: ResultSource) -> FileReport:
    try:
        # Spreadsheets put a byte order mark first.
        text = read_text(path, 1 << 30).removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        return unreadable(path, f"cannot be read: {error}")
    if text.partition("\n")[0].strip() == ssd_table.HEADER:
        return ssd_table.report(path, text, source)
    if text.startswith(core_table.BEGINS):
        return core_table.report(path, text, SEED)
    if text.startswith(MACHINE_BEGINS):
        return _machine_table(path, text)
    begins = " or ".join(f"`{each}…`" for each in (MACHINE_BEGINS, ssd_table.HEADER, core_table.BEGINS))
    return unreadable(path, f"line 1 is no header that is known: {begins}", total=max(len(text.splitlines()) - 1, 1))


def _machine_table(path: Path, text: str) -> FileReport:
    try:
        outcome = json.loads(_core.verify_machine_rates(text, SEED))
    except ValueError as error:
        return unreadable(path, str(error), total=max(len(text.splitlines()) - 1, 1))
    extra = {
        "pairs": {"passed": outcome["pairs_passed"], "total": outcome["pairs_total"]},
        "median_error": outcome["median_error"],
    }
    shares = marking(path).shares((row["name"], row["passed"]) for row in outcome["rows"])
    return FileReport(str(path), outcome["passed"], outcome["total"], outcome["misses"], extra, shares)
