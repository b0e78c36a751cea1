"""The block tracepoints as text, or nvme's where those are not: `perf script`, `trace-cmd report`, or tracefs itself.

    fio  1234 [000]  12.345678901: block:block_rq_issue: 8,0 WS 4096 () 1000 + 8 [fio]          perf script
    fio-1234  [000] .....  12.345678: block_rq_issue: 8,0 WS 4096 () 1000 + 8 none,0,0 [fio]    trace-cmd, tracefs
    fio-1234  [003] .....  9904.831153: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=25169, …, cmd=(nvme_cmd_write slba=498, len=7, …)

Source: include/trace/events/block.h of Linux 4.19 to 6.12, drivers/nvme/host/trace.h (TP_printk of each event).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seekwise.trace.assemble import LETTERS, NO_SECTOR, WITH_PROCESS, Assembler
from seekwise.trace.columns import Notes, TraceError
from seekwise.trace.readers.source import Lines, checked, first_lines, nanoseconds, rest

_EVENT = re.compile(
    r"\s*(?P<who>.*?)[\s\]]\s*(?:\[\d+\]\s*)?(?:[\w.#!]{1,8}\s+)?(?P<time>\d+\.\d+):\s+(?:block:|nvme:)?"
    r"(?P<event>block_\w+|blk_\w+|nvme_\w+):\s+(?P<rest>.*)$"
)
_PERF = re.compile(r"^(?P<name>.*?)\s+(?P<pid>\d+)(?:/\d+)?\s*(?:\[\d+)?$")
_FTRACE = re.compile(r"^(?P<name>.*)-(?P<pid>\d+)\s*(?:\(\s*[-\d]+\))?\s*(?:\[\d+)?$")
_SPAN = re.compile(
    r"(?P<device>\d+,\d+)\s+(?P<letters>[A-Z]+)\s+(?:\d+\s+)?(?:\([^)]*\)\s+)?(?P<sector>\d+)\s*"
    r"(?:\+\s*(?P<sectors>\d+)|/\s*(?P<at>\d+))"
)
_NVME = re.compile(
    r"nvme\d+: disk=(?P<device>\w+), qid=(?P<queue>\d+), cmdid=(?P<id>\d+)(?:.*cmd=\((?:nvme_cmd_)?(?P<what>\w+)(?: slba=(?P<sector>\d+), len=(?P<last>\d+))?)?"
)
_LETTERS = {"read": "R", "write": "W", "flush": "F"}
_COMMANDS_MOST = 65_536
"""In flight at once; a drive has that many in one queue at most."""
_LOST = re.compile(r"(?:CPU:\d+ \[LOST (?P<lost>\d+) EVENTS\]|.*\bLOST (?P<perf>\d+) events)", re.IGNORECASE)
_CALLER = re.compile(r"\s+[0-9a-f]{1,16} (?:\[unknown\]|\S.*) \(\S.*\)$")
"""A line of the call chain that `perf record -g` adds to each event."""
_PREFIXES = ("#", "cpus=", "version =", "CPU ")


PREFACE_LINES = 200


def recognises(head: bytes) -> bool:
    """Whether a file that begins with these bytes is the kernel's block trace events as text."""
    lines = [line for line in first_lines(head, PREFACE_LINES) if not line.startswith(_PREFIXES)]
    return any(_EVENT.match(line) for line in lines)


def read(lines: Lines, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    requests = Assembler(notes)
    last_ns = 0
    # Where both kinds are recorded, those of the block layer say more.
    commands: dict[tuple[str, ...], tuple[int, int, int, str]] | None = {}
    for line in lines:
        if not line.strip() or line.startswith(_PREFIXES):
            lines.prose = lines.prose or not line.strip()
            lost = _LOST.match(line)
            if lost:
                notes.dropped += int(lost["lost"] or lost["perf"])
            continue
        match = _EVENT.match(line)
        if not match:
            lost = _LOST.match(line)
            if lost:
                notes.dropped += int(lost["lost"] or lost["perf"])
                continue
            # Other events may lie between: those have a time and a name too.
            if re.search(r"(?<!\d)\d+\.\d+:\s+[\w:-]+:", line) or _CALLER.match(line) or lines.is_prose(line):
                continue
            if lines.wrong(line, "PROCESS-PID [CPU] TIME: block_EVENT: …"):
                break
            continue
        try:
            now_ns = nanoseconds(match["time"])
            if lines.prose and now_ns < last_ns:
                requests.begin_again(now_ns)
            lines.prose, last_ns = False, now_ns
            if match["event"].startswith("nvme_"):
                full = commands is not None and _command(requests, notes, match, commands)
            else:
                commands = None
                full = take(requests, notes, match)
        except TraceError as error:
            raise lines.problem(error.message) from None
        if full:
            yield requests.rows.take()
    if commands is not None and requests.start is not None:
        notes.sentences.append(
            "nvme's events count in the drive's blocks, taken for 512 bytes; time in the scheduler is not in them"
        )
    yield rest(requests, lines, "has no block events that make a request")


def take(requests: Assembler, notes: Notes, match: re.Match[str]) -> bool:
    """One event; True when a chunk is full."""
    span = _SPAN.match(match["rest"])
    if span is None:
        return False
    time = requests.time(nanoseconds(match["time"]))
    sector, sectors = int(span["sector"]), int(span["sectors"] or 0)
    sector = 0 if NO_SECTOR <= sector < 2 * NO_SECTOR else sector
    checked(time, sector, sectors)
    device, letters = notes.device(span["device"]), span["letters"]
    what = LETTERS.get(match["event"], "")
    if what == "X":
        what, sectors = "X" if span["at"] else "", int(span["at"] or 0)
    process = _process(notes, match["who"]) if what and what in WITH_PROCESS else 0
    requests.take(what, time, device, sector, sectors, letters, process)
    return len(requests.rows) >= 65_536


def _command(
    requests: Assembler, notes: Notes, match: re.Match[str], commands: dict[tuple[str, ...], tuple[int, int, int, str]]
) -> bool:
    """A command of nvme, and later its end; True when a chunk is full."""
    found = _NVME.match(match["rest"])
    if found is None:
        return False
    key, time = (found["device"], found["queue"], found["id"]), nanoseconds(match["time"])
    if found["what"] in _LETTERS and match["event"] == "nvme_setup_cmd" and len(commands) < _COMMANDS_MOST:
        span = (notes.device(found["device"]), int(found["sector"] or 0), int(found["last"] or -1) + 1)
        commands[key] = (*span, _LETTERS[found["what"]])
        checked(0, *span[1:])
        requests.take("D", requests.time(time), *commands[key], _process(notes, match["who"]))
    elif match["event"] == "nvme_complete_rq" and (command := commands.pop(key, None)):
        requests.take("C", requests.time(time), *command)
    return len(requests.rows) >= 65_536


def _process(notes: Notes, who: str) -> int:
    match = _FTRACE.match(who.strip()) or _PERF.match(who.strip())
    if not match or match["pid"] == "0":
        return 0
    return notes.process(f"{match['name'].strip()[:64]}/{match['pid']}")
