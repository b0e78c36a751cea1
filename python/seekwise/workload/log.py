"""The log of units: what each worker writes as its units end, in a file that lies in memory.

The first eight bytes say when the unit under way began (seconds since 1970; 0: none is), so that one that never ended
is not lost. Then a row of five numbers for each unit: end, duration, bytes, share of its time spent waiting, share of
its data that was still cached.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROW = struct.Struct("=5d")
BEGUN = struct.Struct("=d")


class LogWriter:
    """Of one worker. Appends only; memory is the only thing that it touches."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.pwrite(self._file, BEGUN.pack(0.0), 0)
        self._place = BEGUN.size

    def begun(self, clock_s: float) -> None:
        """Seconds since 1970; kept in the first eight bytes until the unit ends."""
        os.pwrite(self._file, BEGUN.pack(clock_s), 0)

    def ended(self, clock_s: float, took_s: float, moved: int, waited_share: float, cached_share: float) -> None:
        """`clock_s`: seconds since 1970 at the end; `took_s`: seconds; `moved`: bytes; shares from 0 to 1. The duration
        is stored in ns."""
        row = ROW.pack(clock_s, took_s * 1e9, float(moved), waited_share, cached_share)
        os.pwrite(self._file, row, self._place)
        self._place += len(row)
        os.pwrite(self._file, BEGUN.pack(0.0), 0)


@dataclass(frozen=True)
class Units:
    """Units of one worker in the order of their ends. Arrays of equal length."""

    end_s: Array
    duration_ns: Array
    bytes: Array
    waited_share: Array
    cached_share: Array


def read(path: Path, now_s: float) -> Units:
    """Units of a worker; one that was under way counts as one that ends now and moved nothing. No file is no units."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        text = b""
    begun = BEGUN.unpack_from(text)[0] if len(text) >= BEGUN.size else 0.0
    whole = (len(text) - BEGUN.size) // ROW.size if text else 0
    table = np.frombuffer(text, float, 5 * max(0, whole), BEGUN.size).reshape(-1, 5) if whole > 0 else np.zeros((0, 5))
    if begun > 0:
        table = np.concatenate([table, [[now_s, max(0.0, now_s - begun) * 1e9, 0.0, 0.0, 0.0]]])
    return Units(*(table[:, column].copy() for column in range(5)))
