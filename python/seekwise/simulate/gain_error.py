"""How far apart two settings must be in the simulator to be told from each other.

`gain_errors.json` has, by what differs between two settings, the error within which two of three published measurements
of others lie (`tools/gain_errors.py` makes it with each version of the model). A smaller difference is no advice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("gain_errors.json")
KINDS = {
    "chunk_kib": "chunk",
    "raid_level": "level",
    "drives": "level",
    "layout": "layout",
    "stripe_cache_size": "stripe cache",
    "bitmap": "bitmap",
    "bitmap_chunk_kib": "bitmap",
    "iodepth": "depth",
    "threads": "depth",
    "depth": "NCQ",
    "queue_depth": "NCQ",
    "ncq": "NCQ",
    "sync_speed_max": "resync limit",
    "scheduler": "scheduler",
    "read_ahead_kb": "read-ahead",
    "read_ahead_kib": "read-ahead",
}
"""{setting: kind}"""
OTHER = "level"
"""Of settings without a kind of their own."""


@cache
def _errors() -> dict[str, float]:
    kinds = json.loads(PATH.read_text(encoding="utf-8"))["kinds"]
    return {kind: float(measured["error"]) for kind, measured in kinds.items()}


def gain_error(settings: Iterable[str]) -> float:
    """As a share of the rate, the largest of what differs; of arrays where nothing is named."""
    return max((_errors()[KINDS.get(name, OTHER)] for name in settings), default=_errors()[OTHER])
