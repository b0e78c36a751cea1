"""What a live-switched run works on: data for programs and test files for fio, of a size that fits time and room, and a
memory control group.

programs  the data sets of programs (`workload/data.py`), a folder each
own       what workers write
data      read by all readers, and written by random writers
store.N   one for each sequential writer
part.N    small files that buffered readers open one after the other: a change of read-ahead reaches a file when it is
          opened (Linux v6.12 mm/readahead.c, file_ra_state_init)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from seekwise.control.emptiness import EmptyProof
from seekwise.control.scratch import room_bytes
from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.measure.kernel import fio_job
from seekwise.workload import data
from seekwise.workload.program import DataBudget
from seekwise.workload.study.uses import Use, needs_fio

MIB = 2**20
DATA_BYTES_MAX = 1024 * MIB
DATA_BYTES_MIN = 32 * MIB
STORE_BYTES_MAX = 512 * MIB
STORE_BYTES_MIN = 32 * MIB
PART_BYTES = 32 * MIB
PIECE_BYTES = 4 * MIB
MEMORY_BYTES_MIN = 192 * MIB
MEMORY_BYTES_MAX = 512 * MIB
MEMORY_SECONDS = 0.25
"""Dirty pages that the device writes in a quarter of a second: what one period leaves is gone early in the next."""
ROOM_SHARE = 0.8
LAYOUT_SHARE_MAX = 0.12
"""Of the budget, for laying out the test files."""


@dataclass(frozen=True)
class PreparedTarget:
    """The prepared target."""

    folder: Path | None
    """Folder of the test files, or None when they are regions of a block device."""
    data_bytes: int
    store_bytes: int
    stores: int
    parts: int
    memory_limit_bytes: int
    device: Path | None = None
    offset_bytes: int = 0
    programs: Path | None = None
    """Folder of the programs' data sets."""
    own: Path | None = None
    """Folder of what programs write."""
    data_set_bytes: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """{data set that could not be laid out: why}."""

    def why_not(self, use: Use) -> str | None:
        """Why a use cannot be measured here; None where it can."""
        return next(
            (self.missing[data_set.name] for data_set in data_sets([use]) if data_set.name in self.missing), None
        )

    def region(self, name: str) -> list[str]:
        """fio's lines for one of the test files: a file in the folder, or its region of the device."""
        if self.device is None:
            return [f"filename={name}"]
        kind, _, number = name.partition(".")
        start = {
            "data": 0,
            "store": self.data_bytes + int(number or 0) * self.store_bytes,
            "part": self.data_bytes + self.stores * self.store_bytes + int(number or 0) * PART_BYTES,
        }[kind]
        return [f"filename={fio_job.escaped(str(self.device))}", f"offset={self.offset_bytes + start}"]

    @property
    def total_bytes(self) -> int:
        """Of fio's test files and regions; the programs' data sets count separately."""
        return self.data_bytes + self.stores * self.store_bytes + self.parts * PART_BYTES


def stores_needed(uses: Sequence[Use]) -> int:
    """Files that grow while a use runs: the most that one of the uses writes at once."""
    return max(
        (
            sum(job.jobs for job in use.job if job.pattern in ("sequential write", "sequential read/write"))
            for use in uses
        ),
        default=0,
    )


def reads_through_cache(uses: Sequence[Use]) -> bool:
    """Of fio's jobs."""
    return any(job.uses_read_ahead and job.program is None for use in uses for job in use.job)


def data_sets(uses: Sequence[Use]) -> list[data.DataSet]:
    """Those that the programs of these uses work on."""
    programs = [program for use in uses for job in use.job if (program := job.runs) is not None]
    names = dict.fromkeys(name for program in programs for name in program.data_sets)
    return [data.DATA_SETS[name] for name in names]


def least_bytes(uses: Sequence[Use]) -> int:
    """Room without which nothing can be measured. What programs write takes as much again as what they read."""
    parts = 2 * MEMORY_BYTES_MIN if reads_through_cache(uses) else 0
    files = DATA_BYTES_MIN + stores_needed(uses) * STORE_BYTES_MIN + parts if needs_fio(uses) else 0
    return files + 2 * sum(data_set.least_bytes for data_set in data_sets(uses))


def check_room(target: Path, uses: Sequence[Use]) -> None:
    """RefusedError where the file system cannot hold the least test files of these uses."""
    room, least = room_bytes(target), least_bytes(uses)
    if room < least:
        raise RefusedError(
            f"{target} has room for {room // MIB} MiB of test files, and these uses need {least // MIB} MiB",
            hint="free some space, choose another folder on the same storage, or fewer uses with --for",
        )


def laid_out(
    folder: Path, uses: Sequence[Use], budget_s: float, tell: Callable[[float], None] = lambda _: None
) -> PreparedTarget:
    """Writes what the uses work on, as large as a share of the budget and the room allow; `tell` gets the share
    done."""
    started = time.monotonic()
    bound_s = max(2.0, LAYOUT_SHARE_MAX * budget_s)
    sets = data_sets(uses)
    prepared = PreparedTarget(folder, 0, 0, 0, 0, MEMORY_BYTES_MIN)
    done = 0.0
    if needs_fio(uses):
        done = 0.5 if sets else 1.0
        prepared = _test_files(folder, uses, started + bound_s * done, lambda share: tell(share * done))
    if sets:
        places = folder / "programs", folder / "own"
        for place in places:
            place.mkdir(mode=0o700)
        sizes: dict[str, int] = {}
        missing: dict[str, str] = {}
        for number, data_set in enumerate(sets):
            left = started + bound_s - time.monotonic()
            room = int(room_bytes(folder) * ROOM_SHARE) // (2 * (len(sets) - number))
            room = max(data_set.least_bytes, min(data_set.most_bytes, room))
            share = DataBudget(room, time.monotonic() + left / (len(sets) - number))
            try:
                sizes[data_set.name] = data.laid_out(data_set.name, places[0], share)
            except SeekwiseError as error:
                missing[data_set.name] = f"{error.message} ({error.hint})" if error.hint else error.message
            tell(done + (1 - done) * (number + 1) / len(sets))
        prepared = replace(prepared, programs=places[0], own=places[1], data_set_bytes=sizes, missing=missing)
    tell(1.0)
    return prepared


def _test_files(folder: Path, uses: Sequence[Use], end_s: float, tell: Callable[[float], None]) -> PreparedTarget:
    """fio's. `end_s`: monotonic."""
    room = room_bytes(folder)
    stores = stores_needed(uses)
    started = time.monotonic()
    bound_s = end_s - started
    size = min(DATA_BYTES_MAX, int(room * 0.5) // PIECE_BYTES * PIECE_BYTES)
    size = max(DATA_BYTES_MIN, size)
    share = 0.6 if stores or reads_through_cache(uses) else 1.0
    size = _fill(folder / "data", size, DATA_BYTES_MIN, started + bound_s * share, lambda done: tell(done * share))
    rate = size / max(time.monotonic() - started, 1e-3)
    limit = int(min(MEMORY_BYTES_MAX, max(MEMORY_BYTES_MIN, rate * MEMORY_SECONDS)))
    parts = 0
    if reads_through_cache(uses):
        parts = max(2 * limit // PART_BYTES, min(4 * limit, int(room * 0.3)) // PART_BYTES)
        for number in range(parts):
            _fill(folder / f"part.{number}", PART_BYTES, PART_BYTES, started + bound_s, lambda _: None)
    store = min(STORE_BYTES_MAX, max(STORE_BYTES_MIN, int(rate * 4) // PIECE_BYTES * PIECE_BYTES))
    if stores:
        store = min(store, max(STORE_BYTES_MIN, int(room_bytes(folder) * 0.8) // stores // PIECE_BYTES * PIECE_BYTES))
        for number in range(stores):
            end = time.monotonic() + max(1.0, (started + bound_s - time.monotonic()) / (stores - number))
            store = min(store, _fill(folder / f"store.{number}", store, STORE_BYTES_MIN, end, lambda _: None))
        for number in range(stores):
            os.truncate(folder / f"store.{number}", store)
    return PreparedTarget(folder, size, store, stores, parts, limit)


def _fill(
    path: Path, wanted: int, least: int, end: float, tell: Callable[[float], None], offset_bytes: int | None = None
) -> int:
    """Writes random bytes until the size or, past the least size, the time is reached; returns how many.

    `offset_bytes`: where on an existing device; without it a new file is made.
    """
    piece = os.urandom(PIECE_BYTES)
    flags = os.O_WRONLY | os.O_CLOEXEC
    if offset_bytes is None:
        flags |= os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        os.lseek(descriptor, offset_bytes or 0, os.SEEK_SET)
        written = 0
        while written < wanted and (written < least or time.monotonic() < end):
            view = memoryview(piece)
            while view:
                view = view[os.write(descriptor, view) :]
            written += len(piece)
            if written % (64 * MIB) == 0:
                os.fdatasync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                tell(written / wanted)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    return written


def laid_out_on_device(
    proof: EmptyProof, uses: Sequence[Use], budget_s: float, tell: Callable[[float], None] = lambda _: None
) -> PreparedTarget:
    """The same on a block device that proved empty: regions one after the other, written once. For fio alone."""
    if reads_through_cache(uses):
        raise UsageError(
            "read-ahead applies to files, and a bare device has none",
            hint="name a folder on a file system, or leave read-ahead out",
        )
    stores = stores_needed(uses)
    room = proof.test_size_bytes
    least = DATA_BYTES_MIN + stores * STORE_BYTES_MIN
    if room < least:
        raise RefusedError(
            f"{proof.node} has {room // MIB} MiB to test in, and these uses need {least // MIB} MiB",
            hint="choose a larger device, or fewer uses with --for",
        )
    started = time.monotonic()
    bound_s = max(2.0, LAYOUT_SHARE_MAX * budget_s)
    wanted = max(DATA_BYTES_MIN, min(DATA_BYTES_MAX, int(room * 0.5) // PIECE_BYTES * PIECE_BYTES))
    # Before the first byte: what was begun is zeroed as well.
    proof.uses(wanted)
    data = _fill(proof.path, wanted, DATA_BYTES_MIN, started + bound_s, tell, proof.test_offset_bytes)
    rate = data / max(time.monotonic() - started, 1e-3)
    limit = int(min(MEMORY_BYTES_MAX, max(MEMORY_BYTES_MIN, rate * MEMORY_SECONDS)))
    store = STORE_BYTES_MIN
    if stores:
        # No more than a few seconds of writing each: all of it is zeroed at the end.
        store = min(STORE_BYTES_MAX, max(STORE_BYTES_MIN, int(rate * 4)), (room - data) // stores)
        store -= store % PIECE_BYTES
    prepared = PreparedTarget(None, data, store, stores, 0, limit, proof.path, proof.test_offset_bytes)
    proof.uses(prepared.total_bytes)
    return prepared
