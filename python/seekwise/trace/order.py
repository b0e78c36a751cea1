"""Requests in the order in which they were sent, in bounded memory.

A recording has its requests in the order of their ends. Within a window of WINDOW requests they are put in order; one
that comes later than that is sent when the one before it was, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

WINDOW = 1 << 18


@dataclass
class Late:
    """Requests that were further out of order than the window."""

    count: int = 0


def ordered(chunks: Iterable[np.ndarray], late: Late | None = None, window: int = WINDOW) -> Iterator[np.ndarray]:
    """The same rows, by arrival; rows with the same arrival keep their order."""
    late = late or Late()
    held: np.ndarray | None = None
    latest = -(1 << 62)
    for chunk in chunks:
        if not len(chunk):
            continue
        if held is not None and len(held):
            chunk = np.concatenate([held, chunk])
        arrival = chunk["arrival_ns"]
        if (arrival[1:] < arrival[:-1]).any():
            chunk = chunk[np.argsort(arrival, kind="stable")]
        if len(chunk) <= window:
            held = chunk
            continue
        out, held = chunk[:-window], chunk[-window:].copy()
        latest = _clip(out, latest, late)
        yield out
    if held is not None and len(held):
        _clip(held, latest, late)
        yield held


def _clip(rows: np.ndarray, latest: int, late: Late) -> int:
    """No row before what was given already; the newest arrival."""
    behind = rows["arrival_ns"] < latest
    if behind.any():
        late.count += int(behind.sum())
        rows["arrival_ns"][behind] = latest
    return max(latest, int(rows["arrival_ns"][-1]))
