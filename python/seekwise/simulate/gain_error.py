"""How far apart two settings must be in the simulator to be told from each other, and how far its gains are from published ones.

`gain_errors.json` has both by what differs between two settings; `tools/gain_errors.py` makes it with each version of the model
and says how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
def _measured() -> dict[str, dict[str, float]]:
    document = json.loads(PATH.read_text(encoding="utf-8"))
    return {kind: {**document["all"], **found} for kind, found in document["kinds"].items()}


def gain_error(settings: Iterable[str]) -> float:
    """As a share of the rate, the largest of what differs; of arrays where nothing is named. A kind without given rows
    has that of all kinds together."""
    return max(_measured()[kind]["error"] for kind in {KINDS.get(name, OTHER) for name in settings} or {OTHER})


def gains_covered(compared: Sequence[Mapping[str, object]]) -> dict[str, float | None]:
    """{kind by which these settings differ: the share within which 9 of 10 published gains are from the model's}; None:
    of that kind too few are published."""
    names = sorted(KINDS.keys() & {name for values in compared for name in values})
    kinds = dict.fromkeys(KINDS[name] for name in names if len({str(values.get(name)) for values in compared}) > 1)
    return {kind: _measured()[kind].get("interval") for kind in kinds}
