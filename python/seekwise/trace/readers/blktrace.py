"""blktrace's binary records: one file per CPU (`sda.blktrace.0` …, all of them are read), or merged by `blkparse -d`.

A record: magic and version, sequence, time in ns, sector, bytes, action, process, device, CPU, error, length of what
follows; 48 bytes, in the byte order of the machine that wrote it. Source: include/uapi/linux/blktrace_api.h of Linux
6.1.
"""

from __future__ import annotations

import heapq
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from seekwise.trace.assemble import NO_SECTOR, WITH_PROCESS, Assembler
from seekwise.trace.columns import Notes, TraceError
from seekwise.trace.readers.source import BROKEN_ERRORS, CUT_ERRORS, checked, opened

MAGIC = 0x65617400
VERSION = 7
RECORD = "IIQQIIIIIHH"
SIZE = 48
PDU_MAX = 4096
FILES_MAX = 4096
ACTIONS = {1: "Q", 2: "M", 3: "F", 6: "R", 7: "D", 8: "C", 12: "I", 13: "X"}
READ, WRITE, FLUSH, SYNC, NOTIFY, AHEAD, META, DISCARD, FUA = (1 << bit for bit in (16, 17, 18, 19, 26, 27, 28, 29, 31))
PROCESS_NAME = 0


def recognises(head: bytes) -> bool:
    """Whether a file that begins with these bytes is blktrace's binary events."""
    return len(head) >= 4 and (head[1:4] == b"tae" or head[0:3] == b"eat")


def read(path: Path, notes: Notes) -> Iterator[np.ndarray]:
    """Requests in chunks of rows (`columns.py`); what the format leaves out goes to `notes`."""
    paths = _together(path)
    files = [opened(part) for part in paths]
    try:
        streams = [_records(part, file, notes) for part, file in zip(paths, files, strict=True)]
        yield from _requests(path, heapq.merge(*streams, key=lambda record: record[0]), notes)
    finally:
        for file in files:
            file.close()


def _together(path: Path) -> list[Path]:
    """All files of a recording with one file per CPU."""
    match = re.fullmatch(r"(.*\.blktrace\.)\d+", path.name)
    if not match:
        return [path]
    files = [
        p for p in path.parent.iterdir() if re.fullmatch(re.escape(match[1]) + r"\d+", p.name) and p.stat().st_size
    ]
    if len(files) > FILES_MAX:
        raise TraceError(f"{path}: more than {FILES_MAX} files belong to this recording")
    return sorted(files) or [path]


Record = tuple[int, int, int, int, int, int, bytes]


def _records(path: Path, file: BinaryIO, notes: Notes) -> Iterator[Record]:
    """Time, sector, bytes, action, process, device, what follows."""
    order, at = "", 0
    while True:
        try:
            head = file.read(SIZE)
            if not head:
                return
            if len(head) < SIZE:
                raise EOFError
            if not order:
                order = "<" if head[1:4] == b"tae" else ">"
                layout = struct.Struct(order + RECORD)
            magic, _, time, sector, size, action, pid, device, _, _, length = layout.unpack(head)
            if magic & 0xFFFFFF00 != MAGIC or magic & 0xFF != VERSION:
                raise TraceError(f"{path}, byte {at:,}: no blktrace record of version {VERSION} begins here")
            if length > PDU_MAX:
                raise TraceError(f"{path}, byte {at:,}: a record of {length:,} more bytes cannot be")
            pdu = file.read(length) if length else b""
            if len(pdu) < length:
                raise EOFError
        except CUT_ERRORS:
            notes.truncated = f"cut off at byte {at:,}" + (f" of {path.name}" if path.name else "")
            return
        except BROKEN_ERRORS as error:
            raise TraceError(
                f"{path}, byte {at:,}: cannot be unpacked: {getattr(error, 'strerror', None) or error}"
            ) from None
        at += SIZE + length
        yield time, sector, size, action, pid, device, pdu if order == "<" else pdu[::-1] if length == 8 else pdu


def _letters(action: int) -> str:
    front = "F" if action & FLUSH else ""
    kind = "D" if action & DISCARD else "W" if action & WRITE else "R" if action & READ else ("F" if front else "N")
    tail = "".join(letter for bit, letter in ((FUA, "F"), (AHEAD, "A"), (SYNC, "S"), (META, "M")) if action & bit)
    return front + kind + tail


def _requests(path: Path, records: Iterator[Record], notes: Notes) -> Iterator[np.ndarray]:
    requests = Assembler(notes)
    names: dict[int, str] = {}
    for time, sector, size, action, pid, number, pdu in records:
        what = action & 0xFFFF
        if action & NOTIFY:
            if what == PROCESS_NAME and len(names) < 1_000_000:
                names[pid] = pdu.rstrip(b"\0").decode("utf-8", "replace")[:64]
            continue
        letter = ACTIONS.get(what, "")
        if not letter or (letter == "X" and len(pdu) < 8):
            continue
        since, sectors = requests.time(time), size // 512
        sector = 0 if sector >= NO_SECTOR else sector
        checked(since, sector, sectors)
        device = notes.device(f"{number >> 20},{number & 0xFFFFF}")
        process = notes.process(f"{names.get(pid, '?')}/{pid}") if pid and letter in WITH_PROCESS else 0
        if letter == "X":
            sectors = int.from_bytes(pdu[:8], "big")
        requests.take(letter, since, device, sector, sectors, _letters(action), process)
        if len(requests.rows) >= 65_536:
            yield requests.rows.take()
    requests.finish()
    if not requests.rows.count:
        raise TraceError(f"{path}: has no requests")
    yield requests.rows.take()
