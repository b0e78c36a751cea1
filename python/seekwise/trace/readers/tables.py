"""Requests as tables with a heading, a line each, as BPF tools print them at completion.

    TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)      biosnoop of BCC and of libbpf-tools
    STARTs      ENDs      COMM         PID    TYPE DEV      BLOCK        BYTES     LATms  iosnoop -ts of perf-tools

Source: BCC tools/biosnoop.py and libbpf-tools/biosnoop.c, perf-tools iosnoop. Without `-s` or `-t` iosnoop prints no
times, and bpftrace's biosnoop.bt neither sector nor size: such tables are named and not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seekwise.trace.assemble import flags_of
from seekwise.trace.columns import UNKNOWN, Notes, Request, Rows, TraceError
from seekwise.trace.readers.source import Lines, checked, first_lines, nanoseconds

NAMES = {
    "TIME(s)": "done", "TIMESTAMP": "done", "ENDs": "done", "STARTs": "start", "COMM": "name", "PID": "pid", "DISK": "device", "DEV": "device", "T": "letters",
    "TYPE": "letters", "SECTOR": "sector", "BLOCK": "sector", "BYTES": "bytes", "QUE(ms)": "queued", "LAT(ms)": "latency", "LATms": "latency",
}  # fmt: skip
NEEDED = {"letters": "R or W", "sector": "the sector", "bytes": "the size", "latency": "the latency"}
HEADING = re.compile(r"\s*(?:\S+\s+){0,6}(?:COMM|DISK)\s.*\bLAT(?:\(ms\)|ms)\s*$")
PREFACE_LINES = 40
NO_SECTOR = ("-1", str(2**64 - 1))
"""Linux block/blk-mq.c, blk_mq_rq_ctx_init: a flush, or a command that is passed through, has none."""


def recognises(head: bytes) -> bool:
    """Whether one of the first lines is the heading of such a table."""
    return any(HEADING.match(line) for line in first_lines(head, PREFACE_LINES))


def read(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    columns: list[str] = []
    begun: list[int] = []
    passed_through: list[list[str]] = []

    def is_prose(line: str) -> bool:
        if not columns and HEADING.match(line):
            columns.extend(NAMES.get(word, word) for word in line.split())
            lacks = [what for name, what in NEEDED.items() if name not in columns]
            lacks += ["times (`iosnoop -ts`)"] if not {"done", "start"} & set(columns) else []
            if lacks:
                raise TraceError(
                    f"{lines.path}: is a table of requests without {', '.join(lacks)}",
                    "`sudo seekwise record DEVICE` records all of it",
                )
            return True
        return not columns or HEADING.match(line) is not None or len(line.split()) < len(columns)

    def parse(line: str, rows: Rows) -> bool:
        words = line.split()
        # A program's name may have blanks, which nothing else has.
        more, at = len(words) - len(columns), columns.index("name") if "name" in columns else 0
        whole = [*words[:at], " ".join(words[at : at + more + 1]), *words[at + more + 1 :]]
        row = dict(zip(columns, whole, strict=True))
        if row["sector"] in NO_SECTOR and "F" not in row["letters"]:
            passed_through.append(words)
            return False
        latency, queued = (round(float(row.get(name, 0)) * 1e6) for name in ("latency", "queued"))
        start = nanoseconds(row["start"]) if "start" in row else nanoseconds(row["done"]) - latency - queued
        begun[:] = begun or [start]
        arrival, sector, sectors = (
            start - begun[0],
            int(row["sector"]) if row["sector"] not in NO_SECTOR else 0,
            -(-int(row["bytes"]) // 512),
        )
        checked(arrival, sector, sectors)
        kind, flags = flags_of(row["letters"])
        return rows.add(
            Request(
                arrival, sector, sectors, kind, issue_ns=arrival + queued if "queued" in row else UNKNOWN,
                complete_ns=arrival + queued + latency, flags=flags, device=notes.device(row.get("device", "?")),
                process=notes.process(f"{row.get('name', '?')[:64]}/{row.get('pid', '0')}"),
            )
        )  # fmt: skip

    yield from lines.rows(parse, "a row with as many columns as the heading", is_prose)
    if passed_through:
        notes.sentences.append(f"{len(passed_through)} commands that name no sector are left out")
    notes.sentences.append("The source has one time for each request: it may have waited for its turn before that")
