"""The trace file (`.swt`): columns in blocks, each checked and packed by itself.

    "seekwise.trace/1\\n"   block block … end
    block: 4 bytes of kind, length, CRC-32, then zstd: header (JSON), notes (JSON), rows (each column, differences first), end (JSON)

Parquet keeps its index at the end of the file: a recording that is cut off cannot be read at all, and the library
weighs 40 MB. Here whatever was written before the cut can be used, and the reader says that it was cut. All numbers are
little endian.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from seekwise import zstd
from seekwise.errors import reason
from seekwise.files import fresh
from seekwise.trace.columns import COLUMNS, REQUEST, Notes, TraceError

MAGIC = b"seekwise.trace/1\n"
_HEAD = struct.Struct("<4sII")
LEVEL = 6
PACKED_MAX = 64 << 20
UNPACKED_MAX = 64 << 20
ROWS_MAX = 1 << 20
# These grow along a trace, so their differences are small.
DIFFERENCES = {"arrival_ns", "insert_ns", "issue_ns", "complete_ns", "sector"}


class TraceWriter:
    """Writes a trace chunk by chunk; `close` makes it complete."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self.notes = notes
        self.path = path
        self.rows = 0
        self._names = (0, 0)
        try:
            self._out: BinaryIO = fresh(path)
        except OSError as error:
            raise TraceError(f"{path}: cannot be written: {reason(error)}") from None
        self._out.write(MAGIC)
        self._block(b"HEAD", json.dumps({"source": notes.source, "machine": notes.machine}).encode())

    def add(self, chunk: np.ndarray) -> None:
        """Appends rows."""
        self._write_names()
        if not len(chunk):
            return
        parts = [struct.pack("<I", len(chunk))]
        for name in COLUMNS:
            column = chunk[name]
            if name in DIFFERENCES:
                column = np.diff(column, prepend=np.int64(0))
            parts.append(np.ascontiguousarray(column).tobytes())
        self._block(b"ROWS", b"".join(parts))
        self.rows += len(chunk)

    def close(self) -> None:
        """Writes the last block, with the notes; a file without it counts as cut off."""
        self._write_names()
        self._block(b"END ", json.dumps({"rows": self.rows, "notes": asdict(self.notes)}).encode())
        self._out.close()

    def flush(self) -> None:
        """To the operating system, not to the drive."""
        self._out.flush()

    def _write_names(self) -> None:
        known = (len(self.notes.devices), len(self.notes.processes))
        if known != self._names:
            new = {"devices": self.notes.devices[self._names[0] :], "processes": self.notes.processes[self._names[1] :]}
            self._block(b"NAME", json.dumps(new).encode())
            self._names = known

    def _block(self, kind: bytes, data: bytes) -> None:
        packed = zstd.compress(data, LEVEL)
        self._out.write(_HEAD.pack(kind, len(packed), zlib.crc32(packed)) + packed)


def is_trace(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a trace of `seekwise record`."""
    return head.startswith(MAGIC)


def read(path: Path, notes: Notes) -> Iterator[np.ndarray]:
    """Chunks of a trace file; `notes` is filled on the way. A cut file gives what comes before the cut, and its notes
    say so."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise TraceError(f"{path}: is no trace of this program")
            yield from _blocks(path, file, notes)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None


def _blocks(path: Path, file: BinaryIO, notes: Notes) -> Iterator[np.ndarray]:
    rows = 0
    notes.devices.clear()
    notes.processes.clear()
    while True:
        data, kind = _next(path, file)
        if data is None:
            notes.truncated = f"cut off after {rows:,} requests"
            return
        if kind == b"ROWS":
            chunk = _rows(path, data)
            rows += len(chunk)
            if (
                int(chunk["process"].max(initial=0)) >= max(len(notes.processes), 1)
                or int(chunk["process"].min(initial=0)) < 0
            ):
                raise TraceError(f"{path}: a request names a process that the file does not list")
            yield chunk
            continue
        document = _document(path, data)
        if kind == b"HEAD":
            notes.source = str(document.get("source", ""))
            notes.machine = {str(k): str(v) for k, v in dict(document.get("machine", {})).items()}
        elif kind == b"NAME":
            notes.devices += [str(name) for name in document.get("devices", [])]
            notes.processes += [str(name) for name in document.get("processes", [])]
        elif kind == b"END ":
            if document.get("rows") != rows:
                raise TraceError(f"{path}: holds {rows:,} requests, but its end says {document.get('rows')}")
            last = document.get("notes", {})
            notes.dropped = int(last.get("dropped", 0))
            notes.truncated = str(last.get("truncated", ""))
            notes.anonymous = bool(last.get("anonymous", False))
            notes.sentences = [str(sentence) for sentence in last.get("sentences", [])]
            return


def _next(path: Path, file: BinaryIO) -> tuple[bytes | None, bytes]:
    """The next block; None where the file was cut."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None, b""
    kind, length, checksum = _HEAD.unpack(head)
    if kind not in (b"HEAD", b"NAME", b"ROWS", b"END ") or length > PACKED_MAX:
        raise TraceError(f"{path}: damaged at byte {file.tell() - _HEAD.size:,}")
    packed = file.read(length)
    if len(packed) < length:
        return None, b""
    if zlib.crc32(packed) != checksum:
        raise TraceError(f"{path}: damaged at byte {file.tell() - length:,}: its checksum does not fit")
    try:
        # A window and a size of ours: a small block cannot ask for gigabytes.
        data = zstd.unpacked(packed, UNPACKED_MAX + 1, UNPACKED_MAX)
    except zstd.ZstdError as error:
        raise TraceError(f"{path}: damaged at byte {file.tell() - length:,}: {error}") from None
    if len(data) > UNPACKED_MAX:
        raise TraceError(f"{path}: a block unpacks to more than {UNPACKED_MAX >> 20} MiB")
    return data, kind


def _rows(path: Path, data: bytes) -> np.ndarray:
    count = struct.unpack_from("<I", data)[0] if len(data) >= 4 else 0
    if count > ROWS_MAX or len(data) != 4 + count * REQUEST.itemsize:
        raise TraceError(f"{path}: a block has the wrong length for its {count:,} requests")
    chunk = np.empty(count, REQUEST)
    at = 4
    for name in COLUMNS:
        kind = REQUEST[name]
        column = np.frombuffer(data, kind, count, at)
        chunk[name] = np.cumsum(column, dtype=np.int64) if name in DIFFERENCES else column
        at += count * kind.itemsize
    return chunk


def _document(path: Path, data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, UnicodeDecodeError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise TraceError(f"{path}: a block that should describe the trace does not")
    return document
