"""A short stretch of block requests as it is kept with a run: packed into its plan, and read again for its page."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seekwise.trace.close_up import ServedRequest
from seekwise.trace.columns import UNKNOWN, Kind

KEY = "traced"
"""In the plan of a run."""
REQUESTS_MOST = 1500
"""Kept of each setting: the last ones of its stretch, 15 kB when packed."""
COLUMNS = ("arrival_ns", "issue_ns", "complete_ns", "sector", "sectors", "kind", "process", "merged")


def packed(rows: np.ndarray, begin_ns: int, end_ns: int) -> dict[str, object]:
    """The requests that ended in the stretch, at most the last so many, and those under way at its end."""
    known = (rows["issue_ns"] != UNKNOWN) & (rows["complete_ns"] != UNKNOWN) & (rows["kind"] <= Kind.WRITE)
    mine = rows[known & (rows["complete_ns"] >= begin_ns) & (rows["arrival_ns"] < end_ns)]
    mine = mine[np.argsort(mine["complete_ns"], kind="stable")]
    done = mine[mine["complete_ns"] <= end_ns]
    later = mine[mine["complete_ns"] > end_ns][:REQUESTS_MOST]
    if len(done) > REQUESTS_MOST:
        done = done[-REQUESTS_MOST:]
        begin_ns = int(done["complete_ns"][0])
    kept = np.concatenate([done, later])
    table = np.stack([kept[name].astype(np.int64) for name in COLUMNS])
    for row in range(3):
        table[row] -= begin_ns
    # Neighbours differ little: differences pack to a third.
    text = zlib.compress(np.diff(table, axis=1, prepend=0).astype("<i8").tobytes(), 9)
    return {"span_ns": int(end_ns - begin_ns), "requests": len(kept), "packed": base64.b64encode(text).decode()}


@dataclass(frozen=True)
class Traced:
    """What was kept of a setting: its requests, times in ms since the stretch began, and how long the stretch was."""

    setting: str
    span_ms: float
    requests: tuple[ServedRequest, ...]


def stretches(extra: Mapping[str, object], use: str) -> list[Traced]:
    """The traced stretches of a use, from what a plan keeps beside (`LivePlan.extra`); empty where there are none, or
    what is stored cannot be read."""
    document = extra.get(KEY)
    uses = document.get("uses") if isinstance(document, dict) else None
    kept_of_use = uses.get(use) if isinstance(uses, dict) else None
    try:
        settings = kept_of_use["settings"].items() if kept_of_use else ()
        return [Traced(name, setting["span_ns"] / 1e6, _unpacked(setting)) for name, setting in settings]
    except (KeyError, TypeError, ValueError, AttributeError, zlib.error):
        return []


def _unpacked(column: dict[str, Any]) -> tuple[ServedRequest, ...]:
    count = int(column["requests"])
    # The size is known: no more is ever unpacked, whatever the file holds.
    data = zlib.decompressobj().decompress(base64.b64decode(column["packed"]), 8 * len(COLUMNS) * count)
    table = np.cumsum(np.frombuffer(data, "<i8").reshape(len(COLUMNS), count), axis=1)
    return tuple(
        ServedRequest(arrival / 1e6, issue / 1e6, end / 1e6, sector, sectors, kind == Kind.WRITE, process, merged)
        for arrival, issue, end, sector, sectors, kind, process, merged in table.T.tolist()
    )


def missing_text(extra: Mapping[str, object]) -> str | None:
    """Why a page has no traced requests; None where it has, or where an older release made the run."""
    document = extra.get(KEY)
    reason = document.get("why_not") if isinstance(document, dict) else None
    return str(reason) if reason else None
