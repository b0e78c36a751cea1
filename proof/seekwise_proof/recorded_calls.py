"""The kernel's trace events of a program's calls, as calls on its files.

Every read of the page cache, every fault of a mapped page, every write, fsync and lock is an event of Linux 6.11 and
later (include/trace/events/filemap.h, ext4.h, filelock.h). What was recorded warm has no time in it that a drive could
change: gaps between events are computing. The time of an fsync and of waiting for a lock is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seekwise.simulate.recordings.recording import (
    BEGIN,
    DIRECT_READ,
    DIRECT_WRITE,
    DISCARD,
    END,
    EXIT,
    FAULT,
    FORGET,
    FORK,
    LOCK,
    READ,
    SYNC,
    UNLOCK,
    WRITE,
    CallRow,
    RecordedFile,
)

EVENTS = (
    "filemap/mm_filemap_get_pages",
    "filemap/mm_filemap_fault",
    "filemap/mm_filemap_map_pages",
    "ext4/ext4_da_write_begin",
    "ext4/ext4_write_begin",
    "ext4/ext4_sync_file_enter",
    "ext4/ext4_sync_file_exit",
    "ext4/ext4_allocate_blocks",
    "ext4/ext4_evict_inode",
    "ext4/ext4_truncate_enter",
    "iomap/iomap_dio_rw_begin",
    "filelock/posix_lock_inode",
    "sched/sched_process_fork",
)
PAGE = 4096
COMMIT_BLOCKS = 8
"""Of a small transaction in ext4's journal: descriptor, inode, both bitmaps, group descriptor, directory, extents.
Estimate, confidence middle (jbd2_run_stats says 6 to 10 for files created and synced one by one)."""
_DEVICE = re.compile(r"\bdev[ =](0x)?([0-9a-f]+)[:,](?:0x)?([0-9a-f]+)")
_DIRECT = re.compile(r"ino 0x([0-9a-f]+) .*offset 0x([0-9a-f]+) length 0x([0-9a-f]+)")
_LINE = re.compile(r"^.*?-(\d+)\s+\[\d+\]\s+\S+\s+([\d.]+): (\w+): (.*)$")
_RANGE = re.compile(r"ino=([0-9a-f]+) ofs=(\d+)(?:-(\d+))?")
_EXT4 = re.compile(r"ino (\d+)(?: pos (\d+) len (\d+))?")
_LOCK = re.compile(r"ino=0x([0-9a-f]+) .*fl_type=(\w+) fl_start=(\d+) fl_end=(\d+) ret=(-?\d+)")
_CHILD = re.compile(r" pid=(\d+) .*child_pid=(\d+)")


@dataclass
class _Stream:
    """One process with all that it starts, in the order of time."""

    pid: int
    runs: int
    """Who of them made the last call."""
    rows: list[list[int]] = field(default_factory=list)
    last_ns: int = 0
    idle_ns: int = 0
    """Since the last call, not computing."""
    syncing: tuple[int, bool] | None = None
    held: set[int] = field(default_factory=set)
    asked: int | None = None
    """When it asked in vain for a lock."""
    inside: bool = False
    piece: int = 0
    """Pages of the file that is written after which writing them to the device begins; 0: it is left to the flusher."""
    begun: int = 0


class Reader:
    """`known`: inodes of the program's files and their names; `sizes`: bytes of those that are there when it begins;
    `device`: its number, (major, minor). What it writes elsewhere on that device is its own as well."""

    def __init__(
        self, known: Mapping[int, str], sizes: Mapping[int, int], processes: Iterable[int], device: tuple[int, int]
    ) -> None:
        self._names = dict(known)
        self._device = device
        self._sizes = dict(sizes)
        self._numbers: dict[int, int] = {}
        self._pages: dict[int, int] = {}
        self._locks: dict[tuple[int, int], int] = {}
        self._streams = {pid: _Stream(pid, pid) for pid in processes}
        self._of = {pid: pid for pid in self._streams}

    def read(self, lines: Iterable[str]) -> None:
        """Lines of the kernel's trace buffer, in order of time; lines of other processes and files are skipped."""
        for line in lines:
            match = _LINE.match(line)
            if not match:
                continue
            pid, event, rest = int(match[1]), match[3], match[4]
            now_ns = round(float(match[2]) * 1e6) * 1000
            if event == "sched_process_fork":
                child = _CHILD.search(" " + rest)
                if child and int(child[1]) in self._of:
                    self._of[int(child[2])] = self._of[int(child[1])]
                continue
            stream = self._streams.get(self._of.get(pid, -1))
            if stream is not None and self._is_here(rest):
                self._event(stream, pid, now_ns, event, rest)

    def _is_here(self, rest: str) -> bool:
        match = _DEVICE.search(rest)
        if not match:
            return True
        base = 16 if match[1] else 10
        return (int(match[2], base), int(match[3], base)) == self._device

    def files(self) -> tuple[RecordedFile, ...]:
        """In the order of their numbers in calls."""
        inodes = sorted(self._numbers, key=lambda inode: self._numbers[inode])
        return tuple(RecordedFile(self._names[inode], self._pages.get(inode, 1)) for inode in inodes)

    def calls(self) -> list[tuple[CallRow, ...]]:
        """Of each process, whole units only."""
        return [_whole(stream.rows) for stream in self._streams.values()]

    def _event(self, stream: _Stream, pid: int, now_ns: int, event: str, rest: str) -> None:
        before = len(stream.rows)
        self._call(stream, now_ns, event, rest)
        if len(stream.rows) > before and pid != stream.runs:
            # To a scheduler another process has begun, or the first one goes on.
            stream.rows.insert(before, [EXIT if pid == stream.pid else FORK, 0, 0, 0, 0])
            stream.runs = pid

    def _call(self, stream: _Stream, now_ns: int, event: str, rest: str) -> None:
        if event == "tracing_mark_write":
            word, _, moved = rest.strip().partition(" ")
            if word in ("begin", "end"):
                stream.inside = word == "begin"
                self._add(stream, now_ns, BEGIN if word == "begin" else END, 0, int(moved or 0), 0)
            elif word == "behind":
                last = stream.rows[-1]
                if stream.piece and last[0] == WRITE:
                    self._begin_writing(stream, now_ns, last[1], last[2] + last[3])
                stream.piece, stream.begun = int(moved), 0
            elif word == "evict" and (file := self._file(int(moved))) is not None:
                self._add(stream, now_ns, FORGET, file, 0, 0)
            return
        if not stream.inside and event != "ext4_evict_inode":
            return
        if event.startswith("mm_filemap"):
            self._touched(stream, now_ns, event, rest)
        elif event == "posix_lock_inode":
            self._locked(stream, now_ns, rest)
        elif event == "iomap_dio_rw_begin":
            self._direct(stream, now_ns, rest)
        else:
            self._ext4(stream, now_ns, event, rest)

    def _touched(self, stream: _Stream, now_ns: int, event: str, rest: str) -> None:
        match = _RANGE.search(rest)
        file = self._file(int(match[1], 16)) if match else None
        if match is None or file is None:
            return
        first, last = int(match[2]) // PAGE, int(match[3] or match[2]) // PAGE
        if event == "mm_filemap_get_pages":
            before = stream.rows[-1]  # the unit has begun
            if before[:2] == [READ, file] and before[2] < first and before[2] + before[3] == last + 1:
                return  # the rest of the same call
            self._add(stream, now_ns, READ, file, first, last - first + 1)
            return
        # Which page of those mapped around it was touched is not told.
        page = (first + last) // 2
        if stream.rows[-1][:3] != [FAULT, file, page]:
            self._add(stream, now_ns, FAULT, file, page, 1)

    def _direct(self, stream: _Stream, now_ns: int, rest: str) -> None:
        match = _DIRECT.search(rest)
        file = self._file(int(match[1], 16)) if match else None
        if match is not None and file is not None:
            start, length = int(match[2], 16), max(1, int(match[3], 16))
            kind = DIRECT_WRITE if "WRITE" in rest else DIRECT_READ
            first = start // PAGE
            self._add(stream, now_ns, kind, file, first, (start + length - 1) // PAGE - first + 1)

    def _ext4(self, stream: _Stream, now_ns: int, event: str, rest: str) -> None:
        match = _EXT4.search(rest)
        inode = int(match[1]) if match else -1
        if event.endswith("write_begin") and inode not in self._names:
            self._names[inode] = f"own/{inode}"
        file = self._file(inode)
        if match is None or file is None:
            return
        if event.endswith("write_begin"):
            self._written(stream, now_ns, inode, file, int(match[2]), int(match[3]))
        elif event == "ext4_allocate_blocks":
            if stream.syncing is not None and stream.syncing[0] == file:
                stream.syncing = (file, True)
        elif event == "ext4_sync_file_enter":
            stream.syncing = (file, "datasync 0" in rest)
            self._add(stream, now_ns, SYNC, file, 0, 0)
        elif event == "ext4_sync_file_exit" and stream.syncing is not None:
            row = next(row for row in reversed(stream.rows) if row[0] == SYNC)
            row[3] = COMMIT_BLOCKS if stream.syncing[1] else 0
            stream.syncing = None
            stream.last_ns = now_ns
        elif event in ("ext4_evict_inode", "ext4_truncate_enter"):
            gone = event == "ext4_truncate_enter" or "nlink 0" in rest
            if gone and self._sizes.get(inode, 0) > 0:
                self._sizes[inode] = 0
                self._add(stream, now_ns, DISCARD, file, 0, 0)

    def _written(self, stream: _Stream, now_ns: int, inode: int, file: int, start: int, length: int) -> None:
        first, last = start // PAGE, (start + max(length, 1) - 1) // PAGE
        size = self._sizes.get(inode, 0)
        for page in dict.fromkeys((first, last)):
            whole = start <= page * PAGE and start + length >= min((page + 1) * PAGE, max(size, start + length))
            if page * PAGE < size and not whole and stream.rows[-1][1:3] != [file, page]:
                self._add(stream, now_ns, READ, file, page, 1)
        self._sizes[inode] = max(size, start + length)
        self._add(stream, now_ns, WRITE, file, first, last - first + 1)
        if stream.piece and last + 1 - stream.begun >= stream.piece:
            self._begin_writing(stream, now_ns, file, last + 1)

    def _begin_writing(self, stream: _Stream, now_ns: int, file: int, end: int) -> None:
        if end > stream.begun:
            self._add(stream, now_ns, FORGET, file, stream.begun, end - stream.begun)
            stream.begun = end

    def _locked(self, stream: _Stream, now_ns: int, rest: str) -> None:
        match = _LOCK.search(rest)
        if match is None or "FL_CLOSE" in rest:
            return
        lock = self._locks.setdefault((int(match[1], 16), int(match[3])), len(self._locks))
        if int(match[5]) != 0:
            # Asked in vain: until it gets it, it waits.
            if stream.asked is None:
                stream.asked = now_ns
            return
        if match[2] == "F_WRLCK" and lock not in stream.held:
            if stream.asked is not None:
                stream.idle_ns += now_ns - stream.asked
                stream.asked = None
            stream.held.add(lock)
            self._add(stream, now_ns, LOCK, lock, 0, 0)
        elif match[2] != "F_WRLCK" and lock in stream.held:
            stream.held.discard(lock)
            self._add(stream, now_ns, UNLOCK, lock, 0, 0)

    def _file(self, inode: int) -> int | None:
        """Number of one of the program's files."""
        if inode not in self._names:
            return None
        return self._numbers.setdefault(inode, len(self._numbers))

    def _add(self, stream: _Stream, now_ns: int, kind: int, file: int, page: int, pages: int) -> None:
        think = max(0, now_ns - stream.last_ns - stream.idle_ns) if stream.last_ns else 0
        stream.rows.append([kind, file, page, pages, think if stream.inside and kind != BEGIN or kind == END else 0])
        stream.last_ns, stream.idle_ns = now_ns, 0
        if kind in (READ, FAULT, WRITE, DIRECT_READ, DIRECT_WRITE):
            inode = next(inode for inode, number in self._numbers.items() if number == file)
            self._pages[inode] = max(self._pages.get(inode, 1), page + pages)
        elif kind in (SYNC, DISCARD, FORGET):
            inode = next(inode for inode, number in self._numbers.items() if number == file)
            self._pages.setdefault(inode, 1)


def _whole(rows: list[list[int]]) -> tuple[CallRow, ...]:
    ends = [place for place, row in enumerate(rows) if row[0] == END]
    return tuple((row[0], row[1], row[2], row[3], row[4]) for row in rows[: ends[-1] + 1]) if ends else ()
