"""blkparse's text: `8,0  3  1  0.000000000  697  Q  WS 223490 + 8 [kjournald]`.

Source: blkparse(1), "DEFAULT FORMAT" and "TRACE ACTIONS". Only the default format (`-f` unused) is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seekwise.trace.assemble import NO_SECTOR, WITH_PROCESS, Assembler
from seekwise.trace.columns import Notes, TraceError
from seekwise.trace.readers.source import Lines, checked, first_lines, nanoseconds, rest

_LINE = re.compile(
    r"\s*(?P<device>\d+,\d+)\s+(?P<cpu>\d+)\s+(?P<sequence>\d+)\s+(?P<time>\d+\.\d+)\s+(?P<pid>\d+)\s+(?P<action>[A-Z]{1,2}|m)\s+(?P<rest>.*)$"
)
_SPAN = re.compile(r"(?P<letters>[A-Z]+)\s+(?P<sector>\d+)\s*(?:\+\s*(?P<sectors>\d+)|/\s*(?P<at>\d+))?(?P<who>.*)$")
# A flush has no place, and blkparse prints none.
_FLUSH = re.compile(r"(?P<letters>F[A-Z]*)(?P<sector>)(?P<sectors>)(?P<at>)\s*(?P<who>\[.*)$")
_WHO = re.compile(r"[^\[]*\[(?P<name>.*)\]\s*$")
# What blkparse prints after the events.
_SUMMARY = re.compile(
    r"\s*(CPU\d+|Total|Throughput|Events|Skips|Reads?|Writes?|IO unplugs|Timer unplugs|PC |Input file|\S+ \()"
)


PREFACE_LINES = 200
"""Prompts, warnings and prose before the events."""


def recognises(head: bytes) -> bool:
    """Whether one of the first lines is an event as blkparse prints it."""
    return any(_LINE.match(line) for line in first_lines(head, PREFACE_LINES))


def read(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    requests = Assembler(notes)
    recordings, ended, last_ns = 1, False, 0
    begun: set[tuple[str, str]] = set()
    """Processors of which the first event was seen."""
    for line in lines:
        match = _LINE.match(line)
        if not match:
            # Behind a summary is prose, or another recording.
            if _SUMMARY.match(line) and last_ns:
                lines.prose = ended = True
            if lines.is_prose(line):
                continue
            if lines.wrong(line, "MAJ,MIN CPU SEQUENCE TIME PID ACTION RWBS SECTOR + COUNT [NAME]"):
                break
            continue
        try:
            now_ns, first = nanoseconds(match["time"]), (match["device"], match["cpu"])
            # Each processor counts its events from 1.
            again = match["sequence"] == "1" and first in begun
            if ended or again or (lines.prose and now_ns < last_ns):
                recordings, ended = recordings + 1, False
                begun.clear()
                requests.begin_again(now_ns)
            if match["sequence"] == "1":
                begun.add(first)
            lines.prose, last_ns = False, max(now_ns, 1)
            full = _event(requests, notes, match)
        except TraceError as error:
            raise lines.problem(error.message) from None
        if full:
            yield requests.rows.take()
    if recordings > 1:
        notes.sentences.append(f"The file holds {recordings} recordings, shown one behind the other")
    yield rest(requests, lines, "has events, but no requests")


def _event(requests: Assembler, notes: Notes, match: re.Match[str]) -> bool:
    action = match["action"]
    span = _SPAN.match(match["rest"]) or _FLUSH.match(match["rest"]) if action in "QMFGIDCRX" else None
    if span is None:
        return False
    time = requests.time(nanoseconds(match["time"]))
    sector, sectors = int(span["sector"] or 0), int(span["sectors"] or 0)
    sector = 0 if NO_SECTOR <= sector < 2 * NO_SECTOR else sector
    checked(time, sector, sectors)
    device = notes.device(match["device"])
    who = _WHO.match(span["who"])
    process = 0
    if action in WITH_PROCESS and who and int(match["pid"]):
        process = notes.process(f"{who['name'][:64]}/{match['pid']}")
    letters = span["letters"]
    if action == "X":
        action, sectors = "X" if span["at"] else "", int(span["at"] or 0)
    requests.take(action, time, device, sector, sectors, letters, process)
    return len(requests.rows) >= 65_536
