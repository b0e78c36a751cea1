"""Pages of the kernel's trace ring buffer, as `trace_pipe_raw` gives them.

    page: u64 time, u64 committed length and flags, then events
    event: 5 bits of type or length, 27 bits of time since the one before, then its data

Source: kernel/trace/ring_buffer.c of Linux 6.1 ("enum ring_buffer_type" and the comments on it), the files
`header_page` and `header_event` of tracefs, and each event's `format`. Little endian only, like every machine with this
kernel that we know.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from seekwise.errors import SeekwiseError

PAGE = 4096
_PAGE_HEAD = struct.Struct("<QQ")
_WORD = struct.Struct("<I")
LENGTH_MASK = (1 << 30) - 1
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31


@dataclass(frozen=True)
class Layout:
    """Where the fields of an event lie; -1 for one that it has not."""

    event: str
    number: int
    dev: int
    sector: int
    length: int
    """Number of sectors; the new sector for a split."""
    rwbs: int
    rwbs_size: int
    comm: int


def is_last(page: bytes) -> bool:
    """Whether the kernel had no more than this: a page that is not half full is the one that it writes to now."""
    _, commit = _PAGE_HEAD.unpack_from(page)
    return int(commit & LENGTH_MASK) < PAGE // 2


def layouts(formats: dict[str, str]) -> dict[int, Layout]:
    """Layouts by the number of the event, from the texts of the `format` files."""
    known = {}
    for event, text in formats.items():
        number = re.search(r"^ID: (\d+)", text, re.MULTILINE)
        fields = {
            match[1]: (int(match[2]), int(match[3]))
            for match in re.finditer(r"field:[^;]*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);", text)
        }
        if not number or not {"dev", "sector", "rwbs"} <= fields.keys():
            raise SeekwiseError(f"this kernel describes its event {event} in a way that is not known")
        length = fields.get("new_sector" if event == "block_split" else "nr_sector", (-1, 0))[0]
        rwbs = fields["rwbs"]
        comm = fields.get("comm", (-1, 0))[0]
        known[int(number[1])] = Layout(
            event, int(number[1]), fields["dev"][0], fields["sector"][0], length, rwbs[0], rwbs[1], comm
        )
    return known


@dataclass(slots=True)
class Event:
    time: int
    event: str
    pid: int
    dev: int
    sector: int
    length: int
    letters: str
    comm: bytes


def events(page: bytes, known: dict[int, Layout]) -> Iterator[Event]:
    """The block events of a page, in order."""
    time, commit = _PAGE_HEAD.unpack_from(page)
    end = min(_PAGE_HEAD.size + (commit & LENGTH_MASK), len(page))
    at = _PAGE_HEAD.size
    while at + 4 <= end:
        (word,) = _WORD.unpack_from(page, at)
        kind, delta = word & 31, word >> 5
        if kind == PADDING:
            if delta == 0:
                return
            (length,) = _WORD.unpack_from(page, at + 4)
            time += delta
            at += 4 + length
            continue
        if kind in (TIME_EXTEND, TIME_STAMP):
            (high,) = _WORD.unpack_from(page, at + 4)
            span = high << 27 | delta
            # An absolute stamp lacks the five highest bits of the clock.
            time = time + span if kind == TIME_EXTEND else (time >> 59 << 59) | span
            at += 8
            continue
        time += delta
        if kind == 0:
            (length,) = _WORD.unpack_from(page, at + 4)
            data, size = at + 8, length - 4
        else:
            data, size = at + 4, 4 * kind
        at = data + size
        if size < 8 or at > end:
            return
        layout = known.get(page[data] | page[data + 1] << 8)
        if layout is not None:
            yield _event(page, data, time, layout)


def _event(page: bytes, at: int, time: int, layout: Layout) -> Event:
    letters = page[at + layout.rwbs : at + layout.rwbs + layout.rwbs_size].split(b"\0", 1)[0].decode("ascii", "replace")
    comm = page[at + layout.comm : at + layout.comm + 16].split(b"\0", 1)[0] if layout.comm >= 0 else b""
    wide = "<Q" if layout.event == "block_split" else "<I"
    return Event(
        time,
        layout.event,
        struct.unpack_from("<i", page, at + 4)[0],
        struct.unpack_from("<I", page, at + layout.dev)[0],
        struct.unpack_from("<Q", page, at + layout.sector)[0],
        struct.unpack_from(wide, page, at + layout.length)[0] if layout.length >= 0 else 0,
        letters,
        comm,
    )
