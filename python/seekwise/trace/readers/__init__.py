"""Readers of foreign traces: one module per format family, one row here.

A format is known by its content. `open_trace` gives chunks of rows (`seekwise.trace.columns`) and the notes that belong
to them; it reads as it goes, so a trace of any length needs the memory of one chunk. A malformed file is one TraceError
that names the place; a file that only ends too early is read up to there, and the notes say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seekwise.trace import file
from seekwise.trace.columns import Notes, TraceError, UnknownFormat
from seekwise.trace.readers import blkparse, blktrace, events, fio, tables
from seekwise.trace.readers.source import HEAD_BYTES, Lines, head_of

Read = Callable[[Path, Notes], Iterator[np.ndarray]]


@dataclass(frozen=True)
class TraceFormat:
    """A row of the table: what a format is called, how it is known, who reads it."""

    name: str
    about: str
    recognises: Callable[[bytes], bool]
    """Whether the first bytes (uncompressed) of a file are of this format."""
    read: Read


def _lines(read: Callable[[Lines, Notes], Iterator[np.ndarray]]) -> Read:
    def opened(path: Path, notes: Notes) -> Iterator[np.ndarray]:
        with Lines(path, notes) as lines:
            yield from read(lines, notes)

    return opened


# In this order: a binary format first, then the text formats from the most to the least particular.
FORMATS: tuple[TraceFormat, ...] = (
    TraceFormat("seekwise", "recorded by `seekwise record`", file.is_trace, file.read),
    TraceFormat("blktrace", "blktrace, binary, one file per CPU or merged", blktrace.recognises, blktrace.read),
    TraceFormat("fio iolog", "fio's iolog, version 2 or 3", fio.recognises_iolog, _lines(fio.read_iolog)),
    TraceFormat("perf or trace-cmd", "events block:* or nvme:* as text", events.recognises, _lines(events.read)),
    TraceFormat("blkparse", "blkparse's text", blkparse.recognises, _lines(blkparse.read)),
    TraceFormat("biosnoop or iosnoop", "tables of BPF tools, a request a line", tables.recognises, _lines(tables.read)),
    TraceFormat("fio latency log", "fio's *_lat.log, *_clat.log", fio.recognises_log, _lines(fio.read_log)),
)


BINARIES = {
    b"PERFILE2": ("perf's recording", "perf script -i FILE > trace.txt"),
    b"\x17\x08\x44tracing": ("trace-cmd's recording", "trace-cmd report FILE > trace.txt"),
}
"""Recordings that their own program turns into text, by their first bytes."""


def open_trace(path: Path) -> tuple[Notes, Iterator[np.ndarray]]:
    """The notes and the chunks of a trace in any known format; the notes are complete after the last chunk."""
    if path.is_dir():
        raise TraceError(f"{path}: is a folder", "name one file; for blktrace any of its per-CPU files")
    head = head_of(path)
    if not head:
        raise TraceError(f"{path}: is empty", "name a trace; `seekwise record DEVICE` makes one")
    for form in FORMATS:
        if form.recognises(head):
            notes = Notes(source=form.name)
            return notes, form.read(path, notes)
    if binary := next((binary for magic, binary in BINARIES.items() if head.startswith(magic)), None):
        raise TraceError(f"{path}: is {binary[0]}, which is not read", f"make text of it: `{binary[1]}`")
    raise UnknownFormat(
        f"{path}: no known trace format begins like this", f"known are {', '.join(form.name for form in FORMATS)}"
    )


__all__ = ["FORMATS", "HEAD_BYTES", "Format", "head_of", "open_trace"]
