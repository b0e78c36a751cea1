"""Schedulers on fast drives with many cores (`tests/vectors/nvme-many-cores/`), row by row against the simulator.

A row gives up to three points: throughput relative to `none` of the same case within 15 % of the measured ratio,
throughput within 25 %, p99 relative to `none` within 25 %. Rows of `none`, and rows of a case that has none, give two:
throughput and p99, both within 25 %. Besides, for every case with several schedulers, whether their order is right;
those within 5 % of each other are tied.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from seekwise_proof import _proof
from seekwise_proof.validate._basis import Count, marking
from seekwise_proof.validate._rate_table import RateTable, unreadable_table
from seekwise_proof.validate.frame import FileReport

BEGINS = "source,cores,devices,processes,"
SHARE_POINTS = 0.90
SHARE_ORDERS = 0.90


@dataclass(kw_only=True)
class CoreTable(RateTable):
    """Schedulers on fast drives with many cores."""

    BAR: ClassVar = "90 % of the points, 90 % of the orders of schedulers"

    orders: Count
    """Cases in which the schedulers are in the measured order."""
    kinds: dict[str, Count]
    """{what is compared: its points}"""


def report(path: Path, text: str, seed: int) -> FileReport:
    """Rates over many cores against the table; a row that cannot be read counts as missed."""
    try:
        outcome = json.loads(_proof.verify_core_rates(text, seed))
    except ValueError as error:
        return unreadable_table(path, text, str(error))
    orders = Count(outcome["orders_passed"], outcome["orders_total"])
    passed, total = outcome["passed"], outcome["total"]
    return CoreTable(
        file=str(path),
        passed=passed,
        total=total,
        misses=outcome["misses"],
        shares=marking(path).shares((point["name"], point["passed"]) for point in outcome["points"]),
        met=passed >= SHARE_POINTS * total and orders.passed >= SHARE_ORDERS * orders.total,
        orders=orders,
        kinds={kind: Count(*counts) for kind, counts in outcome["kinds"].items()},
    )
