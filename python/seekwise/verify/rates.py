"""Recorded rates against simulated ones (rungs 4 and 5 of the ladder); the format is known by the header.

A row passes within 15 %. `pairs` counts pairs of schedulers under equal conditions whose recorded gap exceeds 10 %: the same
one has to be ahead. Rows and pairs are required apart: 90 % of rows, every pair.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seekwise import _core
from seekwise.verify.frame import FileReport, Report, files_below, unreadable

SUMMARY = "recorded rates of real machines against simulated ones"
SHARE_ROWS = 0.90
SEED = 1


def verify(paths: Sequence[Path], options: dict[str, Any]) -> Report:
    """Tables as files, or folders that are searched for CSV files."""
    files, pairs = [], {"passed": 0, "total": 0}
    met = True
    for path in files_below(paths, [".csv"]):
        report = _machine_table(path)
        files.append(report)
        for key in pairs:
            pairs[key] += report.extra.get("pairs", {}).get(key, 0)
        met = met and report.passed >= SHARE_ROWS * report.total
    met = met and bool(files) and pairs["passed"] == pairs["total"]
    return Report("rates", files, {"pairs": pairs}, met)


def _machine_table(path: Path) -> FileReport:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return unreadable(path, f"cannot be read: {error}")
    try:
        outcome = json.loads(_core.verify_machine_rates(text, SEED))
    except ValueError as error:
        return unreadable(path, str(error), total=max(len(text.splitlines()) - 1, 1))
    extra = {
        "pairs": {"passed": outcome["pairs_passed"], "total": outcome["pairs_total"]},
        "median_error": outcome["median_error"],
    }
    return FileReport(str(path), outcome["passed"], outcome["total"], outcome["misses"], extra)
