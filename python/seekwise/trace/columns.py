"""A block I/O request as a row: the columns that every reader fills and every analysis reads.

Times are ns since the first event of the trace; -1 means that the source does not say. Addresses and lengths are in
sectors of 512 bytes. Rows come in chunks, so that a trace of any length needs the memory of one chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np

from seekwise.errors import UsageError

UNKNOWN = -1
CHUNK_ROWS = 65_536
MERGED_MOST = 65_535
"""What its column holds."""


class Kind(IntEnum):
    READ = 0
    WRITE = 1
    FLUSH = 2
    DISCARD = 3
    OTHER = 4


class Flag(IntFlag):
    """What the request asks for besides its direction (Linux's REQ_* of the same names)."""

    SYNC = 1
    META = 2
    FUA = 4
    PREFLUSH = 8
    AHEAD = 16
    PRIO = 32
    CUT = 64
    """The recording ended before the request did."""


REQUEST = np.dtype(
    [
        ("arrival_ns", np.int64),  # the request enters the block layer
        ("insert_ns", np.int64),  # it enters the scheduler
        ("issue_ns", np.int64),  # the driver gets it
        ("complete_ns", np.int64),  # it is done
        ("sector", np.int64),
        ("sectors", np.int64),
        ("kind", np.uint8),
        ("flags", np.uint8),
        ("device", np.uint16),  # place in the trace's list of devices
        ("process", np.int32),  # place in the trace's list of processes
        ("merged", np.uint16),  # bios that the request took in
    ]
)
COLUMNS = tuple(name for name in REQUEST.names or ())


class Request(NamedTuple):
    """One row of `REQUEST`, for readers that come by requests one at a time."""

    arrival_ns: int
    sector: int
    sectors: int
    kind: int
    insert_ns: int = UNKNOWN
    issue_ns: int = UNKNOWN
    complete_ns: int = UNKNOWN
    flags: int = 0
    device: int = 0
    process: int = 0
    merged: int = 0


class TraceError(UsageError):
    """A trace cannot be read; one sentence with file and place."""


class UnknownFormat(TraceError):
    """A file of no known format."""


@dataclass
class Notes:
    """What is known of a whole trace; complete once its last chunk has been read."""

    source: str = ""
    """Format it came from, as `seekwise trace show` names it."""
    devices: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    """`name/pid` as far as known; the first one is what is unknown."""
    dropped: int = 0
    """Events that the recorder lost."""
    truncated: str = ""
    """Where the trace was cut off, in words; empty if it was not."""
    anonymous: bool = False
    machine: dict[str, str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    """What a reader should know, in sentences without a period."""

    def process(self, name: str) -> int:
        """The index into `processes`, which grows by names not seen before."""
        return _place(self.processes, self._process_places, name)

    def device(self, name: str) -> int:
        """The index into `devices`. Raises TraceError (exit status 2) past 65,536 devices: the column has 16 bits."""
        place = _place(self.devices, self._device_places, name)
        if place > 65_535:
            raise TraceError("the trace has more than 65,536 devices")
        return place

    def alias(self, pid: int) -> int:
        """A number for a process that says nothing about it."""
        return self._aliases.setdefault(pid, len(self._aliases) + 1)

    def __post_init__(self) -> None:
        self._aliases: dict[int, int] = {}
        self._process_places = {name: place for place, name in enumerate(self.processes)}
        self._device_places = {name: place for place, name in enumerate(self.devices)}
        if not self.processes:
            self.process("?")


def _place(names: list[str], places: dict[str, int], name: str) -> int:
    place = places.get(name)
    if place is None:
        place = places[name] = len(names)
        names.append(name)
        if place > 4_000_000:
            raise TraceError("the trace names more than 4,000,000 processes")
    return place


class Rows:
    """Collects rows into chunks, ordered as they come."""

    def __init__(self) -> None:
        self._lists: list[list[int]] = [[] for _ in Request._fields]
        self.count = 0

    def add(self, request: Request) -> bool:
        """True when a chunk is full."""
        for column, value in zip(self._lists, request, strict=True):
            column.append(value)
        self.count += 1
        return len(self._lists[0]) >= CHUNK_ROWS

    def take(self) -> np.ndarray:
        """The rows so far as an array of REQUEST, shape (rows,); the collector is empty afterwards."""
        chunk = np.empty(len(self._lists[0]), REQUEST)
        for name, column in zip(Request._fields, self._lists, strict=True):
            chunk[name] = column
            column.clear()
        return chunk

    def __len__(self) -> int:
        return len(self._lists[0])
