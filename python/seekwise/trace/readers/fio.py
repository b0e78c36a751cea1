"""fio's own traces.

- iolog version 2: `FILE action [offset length]`, with `wait` in us; version 3 (fio 3.31 and later): `timestamp_us FILE action
  [offset length]`. Bytes. fio appends to a log that exists, with another header: times begin anew there.
- latency logs (`*_lat.log`, `*_clat.log`, `*_slat.log`): `time_ms, latency_ns, direction, size[, offset[, priority]]`,
  at completion.

Source: fio(1), "Trace file format" and "Log file formats" of fio 3.33; the unit of version 3 from its iolog.c
(`utime_since_now`), and recorded (`tests/trace/recorded`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seekwise.trace.columns import Kind, Notes, Request, Rows, TraceError
from seekwise.trace.readers.source import Lines, checked, first_lines

_HEADER = re.compile(r"fio version ([23]) iolog$")
_LOG = re.compile(r"\d+,\s*\d+,\s*[0-3],\s*\d+(,\s*\d+(,\s*\w+(,.*)?)?)?$")
_NO_LATENCIES = re.compile(r"_(bw|iops|clat_hist)(?:\.\d+)?\.log")
OTHER_LOGS = {"bw": "bandwidth (KiB/s)", "iops": "IOPS", "clat_hist": "histograms"}
KINDS = {
    "read": Kind.READ,
    "write": Kind.WRITE,
    "trim": Kind.DISCARD,
    "sync": Kind.FLUSH,
    "datasync": Kind.FLUSH,
    "sync_file_range": Kind.FLUSH,
}
SYNC_DIRECTION = 3
SILENT = {"add", "open", "close"}


def recognises_iolog(head: bytes) -> bool:
    """Whether a file that begins with these bytes is one of fio's iolog (version 2 or 3)."""
    return head.startswith(b"fio version ")


def read_iolog(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    now, began, version = [0], [0], [0]

    def parse(line: str, rows: Rows) -> bool:
        words = line.split()
        match = _HEADER.match(line.strip())
        if match:
            version[0], began[0] = int(match[1]), now[0]
            return False
        if not version[0]:
            raise TraceError(f"`{line.strip()[:40]}` is not `fio version 2 iolog` or 3")
        if version[0] == 3:
            now[0] = began[0] + int(words[0]) * 1000
            words = words[1:]
        name, action = words[0], words[1]
        if action in SILENT and len(words) == 2:
            return False
        if action == "wait":
            now[0] += int(words[-1]) * 1000
            checked(now[0], 0, 0)
            return False
        kind = KINDS.get(action)
        if kind is None:
            raise TraceError(f"fio has no action `{action[:20]}`")
        offset, length = (0, 0) if kind is Kind.FLUSH and len(words) == 2 else (int(words[2]), int(words[3]))
        sector, sectors = offset // 512, -(-length // 512)
        checked(now[0], sector, sectors)
        return rows.add(Request(now[0], sector, sectors, kind, device=notes.device(name)))

    notes.sentences.append("The source has no response times")
    yield from lines.rows(parse, "FILE ACTION OFFSET LENGTH", lambda line: False)


def recognises_log(head: bytes) -> bool:
    """Whether a file that begins with these bytes is one of fio's latency logs."""
    lines = first_lines(head, 1)
    return bool(lines) and bool(_LOG.match(lines[0])) and ", " in lines[0]


def read_log(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    start: list[int] = []
    places = [True]
    if other := _NO_LATENCIES.search(lines.path.name):
        raise TraceError(
            f"{lines.path}: is fio's log of {OTHER_LOGS[other[1]]}, which holds no requests",
            "read the log of latencies (write_lat_log, without log_avg_msec); `seekwise import` reads all logs of a run",
        )

    def parse(line: str, rows: Rows) -> bool:
        words = [word.strip() for word in line.split(",")]
        done, latency = int(words[0]) * 1_000_000, int(words[1])
        direction, size = int(words[2]), int(words[3])
        if not 0 <= direction <= 3:
            raise TraceError(f"fio has no direction {direction}")
        if size == 0 and direction < SYNC_DIRECTION:
            raise TraceError(
                "an average over a window (log_avg_msec), no request",
                "record without log_avg_msec; `seekwise import` reads averages",
            )
        kind = (Kind.READ, Kind.WRITE, Kind.DISCARD, Kind.FLUSH)[direction]
        places[0] = places[0] and len(words) > 4
        sector = int(words[4]) // 512 if len(words) > 4 else 0
        if not start:
            start.append(done - latency)
        arrival = done - latency - start[0]
        checked(arrival, sector, -(-size // 512))
        checked(done - start[0], sector, 0)
        complete = done - start[0]
        return rows.add(
            Request(arrival, sector, -(-size // 512), kind, complete_ns=complete, device=notes.device("fio"))
        )

    yield from lines.rows(parse, "time_ms, latency_ns, direction, size, offset", lambda line: False)
    notes.sentences.append("Completion times are whole milliseconds, as fio logs them")
    if not places[0]:
        notes.sentences.append(
            "The log has no offsets (fio's `log_offset=1` writes them): every request is shown at offset 0"
        )
