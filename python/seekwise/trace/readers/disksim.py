"""DiskSim's ASCII traces, and its validation traces with measured times.

- ASCII: `arrival_ms device block count flags`; bit 0 of the flags set for a read. Source: DiskSim 4.0 reference manual, section 9.
- Validation: see `seekwise.trace.disksim.requests`; the load is closed, so the arrival times follow from service times and gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite

import numpy as np

from seekwise.trace.columns import Kind, Notes, Rows, TraceError
from seekwise.trace.readers.source import Lines, begins, checked

_VALIDATION = re.compile(r"[RW]\s+\w+\s+\d+\s+\d+\s+[\d.]+\s+[\d.]+$")
_ASCII = re.compile(r"\d+\.?\d*\s+\d+\s+\d+\s+\d+\s+(0x)?[\da-fA-F]+$")


known_ascii = begins(_ASCII)


def read_ascii(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    start: list[float] = []

    def parse(line: str, rows: Rows) -> bool:
        time, device, block, count, flags = line.split()
        ms = float(time)
        if not isfinite(ms):
            raise TraceError("the time is not a number")
        if not start:
            start.append(ms)
        arrival = round((ms - start[0]) * 1e6)
        checked(arrival, int(block), int(count))
        kind = Kind.READ if int(flags, 0 if flags.startswith("0x") else 10) & 1 else Kind.WRITE
        return rows.add(arrival, int(block), int(count), kind, device=notes.device(str(int(device))))

    notes.sentences.append("The source has no response times")
    yield from lines.rows(parse, "arrival_ms device block count flags", lambda line: line.startswith("#"))


known_validation = begins(_VALIDATION)


def read_validation(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    now = [0]
    device = notes.device(lines.path.name.split(".")[0])

    def parse(line: str, rows: Rows) -> bool:
        direction, _, block, count, service_us, gap_us = line.split()
        service, gap = float(service_us), float(gap_us)
        if direction not in ("R", "W"):
            raise TraceError(f"`{direction[:20]}` is neither R nor W")
        if not (isfinite(service) and isfinite(gap)) or service < 0 or gap < 0:
            raise TraceError(f"a service time of {service:g} us and a gap of {gap:g} us cannot be")
        arrival, done = now[0], now[0] + round(service * 1000)
        checked(done, int(block), int(count))
        now[0] = done + round(gap * 1000)
        kind = Kind.READ if direction == "R" else Kind.WRITE
        return rows.add(arrival, int(block), int(count), kind, issue=arrival, complete=done, device=device)

    yield from lines.rows(parse, "R|W ACTION BLOCK COUNT SERVICE_US GAP_US", lambda line: False)
