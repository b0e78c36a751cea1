"""What was recorded of a program: its files, and for each of its processes the calls on them, with the time computed
before each.

The file is JSON, compressed with zstd: calls are rows of five numbers (`crates/sim/src/spec/programs.rs`), where files
and pages count from the row before, so that what repeats compresses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from seekwise import zstd
from seekwise.errors import SeekwiseError

SCHEMA = "seekwise.program-recording/1"
READ, FAULT, WRITE, SYNC, FORGET, DISCARD, DIRECT_READ, DIRECT_WRITE, LOCK, UNLOCK, SLEEP, BEGIN, END, FORK, EXIT = (
    range(15)
)
"""Kinds of calls, by their numbers in a row."""
ON_FILES = frozenset((READ, FAULT, WRITE, SYNC, FORGET, DISCARD, DIRECT_READ, DIRECT_WRITE))
CallRow = tuple[int, int, int, int, int]
"""(kind, file, first page, pages, ns of computing before it)."""
SIZE_MAX = 64 * 2**20
WINDOW_MAX = 128 * 2**20
"""Of a recording, uncompressed."""


@dataclass(frozen=True)
class RecordedFile:
    """`name` begins with `data/` (shared by all processes) or `own/` (each has its own)."""

    name: str
    pages: int


@dataclass(frozen=True)
class Recording:
    """One program with its parameters."""

    program: str
    parameters: Mapping[str, object]
    files: tuple[RecordedFile, ...]
    processes: tuple[tuple[CallRow, ...], ...]
    provenance: Mapping[str, object]

    @cached_property
    def units(self) -> int:
        """Units of work that the program finished, over all processes."""
        return sum(row[0] == END for calls in self.processes for row in calls)


def loads(data: bytes, source: str) -> Recording:
    """The recording in a compressed file; at most `SIZE_MAX` bytes of it are read. SeekwiseError names `source` where
    it is none."""
    try:
        table = json.loads(zstd.unpacked(data, SIZE_MAX, WINDOW_MAX))
        if table["schema"] != SCHEMA:
            raise ValueError(f"its schema is {table['schema']}")
        return Recording(
            table["program"],
            table["parameters"],
            tuple(RecordedFile(name, pages) for name, pages in table["files"]),
            tuple(_unpacked(calls) for calls in table["processes"]),
            table["provenance"],
        )
    except (zstd.ZstdError, ValueError, KeyError, TypeError) as error:
        raise SeekwiseError(f"{source} is no recording of a program: {error}") from error


def _unpacked(columns: list[list[int]]) -> tuple[CallRow, ...]:
    calls = []
    file = page = 0
    for kind, file_step, page_step, pages, think in zip(*columns, strict=True):
        file += file_step
        page += page_step
        calls.append((kind, file, page, pages, think))
    return tuple(calls)


def find(program: str, parameters: Mapping[str, object]) -> Recording | None:
    """The recording that ships of a program with these parameters; None when there is none."""
    wanted = dict(parameters)
    return next(
        (recording for recording in shipped() if recording.program == program and dict(recording.parameters) == wanted),
        None,
    )


@cache
def shipped() -> tuple[Recording, ...]:
    """The recordings that come with this release, by file name."""
    folder = files("seekwise.simulate.recordings") / "shipped"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".zst")), key=lambda entry: entry.name)
    return tuple(loads(entry.read_bytes(), entry.name) for entry in entries)
