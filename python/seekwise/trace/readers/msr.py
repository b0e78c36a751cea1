"""MSR Cambridge enterprise traces, as SNIA publishes them: a CSV line a request, no header.

`Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: time and response time in 100 ns (Windows file time), bytes.
Source: Narayanan, Donnelly and Rowstron, "Write off-loading", FAST 2008, and the README beside the traces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seekwise.trace.columns import Kind, Notes, Rows, TraceError
from seekwise.trace.readers.source import Lines, begins, checked

_LINE = re.compile(r"\d{9,20},[^,]*,\d+,(Read|Write),\d+,\d+,\d+$", re.IGNORECASE)
_EXPECTED = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"


known = begins(_LINE, lambda line: line.startswith("Timestamp,"))


def read(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    start: list[int] = []

    def parse(line: str, rows: Rows) -> bool:
        time, host, disk, kind, offset, size, response = line.split(",")
        if not start:
            start.append(int(time))
        arrival = (int(time) - start[0]) * 100
        sector, sectors = int(offset) // 512, -(-int(size) // 512)
        checked(arrival, sector, sectors)
        what = {"read": Kind.READ, "write": Kind.WRITE}.get(kind.lower())
        if what is None:
            raise TraceError(f"`{kind[:20]}` is neither Read nor Write")
        complete = arrival + int(response) * 100
        checked(complete, 0, 0)
        return rows.add(arrival, sector, sectors, what, complete=complete, device=notes.device(f"{host}.{int(disk)}"))

    yield from lines.rows(parse, _EXPECTED, lambda line: line.startswith("Timestamp,"))
