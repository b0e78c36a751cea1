"""Block traces of cloud volumes.

- Alibaba (Li et al., "An in-depth analysis of cloud block storage workloads", IISWC 2020): `device_id,opcode,offset,length,timestamp`; bytes, us.
- Tencent CBS (Zhang et al., "OSCA", ATC 2020, SNIA): `Timestamp,Offset,Size,IOType,VolumeID`; s, sectors, 0 reads and 1 writes.

Neither has response times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seekwise.trace.columns import Kind, Notes, Rows, TraceError
from seekwise.trace.readers.source import Lines, begins, checked

_ALIBABA = re.compile(r"\d+,[RWrw],\d+,\d+,\d+$")
_TENCENT = re.compile(r"\d{9,11},\d+,\d+,[01],\d+$")


def _header(line: str) -> bool:
    return line[:1].isalpha()


known_alibaba = begins(_ALIBABA, _header)


def read_alibaba(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    start: list[int] = []

    def parse(line: str, rows: Rows) -> bool:
        device, kind, offset, length, time = line.split(",")
        if not start:
            start.append(int(time))
        arrival = (int(time) - start[0]) * 1000
        sector, sectors = int(offset) // 512, -(-int(length) // 512)
        checked(arrival, sector, sectors)
        if kind not in "RWrw" or len(kind) != 1:
            raise TraceError(f"`{kind[:20]}` is neither R nor W")
        what = Kind.READ if kind in "Rr" else Kind.WRITE
        return rows.add(arrival, sector, sectors, what, device=notes.device(str(int(device))))

    notes.sentences.append("The source has no response times")
    yield from lines.rows(parse, "device_id,opcode,offset,length,timestamp", _header)


known_tencent = begins(_TENCENT, _header)


def read_tencent(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    start: list[int] = []

    def parse(line: str, rows: Rows) -> bool:
        time, offset, size, kind, volume = line.split(",")
        if not start:
            start.append(int(time))
        arrival = (int(time) - start[0]) * 1_000_000_000
        checked(arrival, int(offset), int(size))
        if kind not in ("0", "1"):
            raise TraceError(f"`{kind[:20]}` is neither 0 (read) nor 1 (write)")
        what = Kind.WRITE if kind == "1" else Kind.READ
        return rows.add(arrival, int(offset), int(size), what, device=notes.device(str(int(volume))))

    notes.sentences.append("The source has no response times, and its times are whole seconds")
    yield from lines.rows(parse, "Timestamp,Offset,Size,IOType,VolumeID", _header)
