"""From the block layer's events to requests.

    queue ─► (back or front merge into one that waits) ─► insert ─► issue ─► complete
                                                            ▲ requeue ┘

Flushes have no place: the block layer lets one request flush for all that wait, so an issued one takes all that were
queued before, and its completion ends them. A bio is known by its device and first sector. One that is merged ends
there: the request that took it in grows. A completion may cover part of a request; the rest completes later. Nothing is
kept of what is done, and at most OUTSTANDING_MAX requests are kept at once, so memory does not grow with the trace.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from seekwise.trace.columns import MERGED_MOST, UNKNOWN, Flag, Kind, Notes, Request, Rows

OUTSTANDING_MAX = 262_144
FLUSHES_MAX = 4096
NO_SECTOR = 1 << 63
"""Linux says so of what has no place, as -1 without a sign."""


@dataclass(slots=True)
class _Open:
    arrival: int
    sector: int
    sectors: int
    kind: int
    flags: int
    process: int
    insert: int = UNKNOWN
    issue: int = UNKNOWN
    merged: int = 0
    left: int = 0


def flags_of(letters: str) -> tuple[int, int]:
    """Kind and flags of the letters that Linux prints: `WS`, `FF`, `RAM`, `D`, `FWFS` …

    A leading F is a flush before the data, a later one forces unit access; F or FF without direction is a flush.
    """
    flags = 0
    body = letters
    if body.startswith("F"):
        body = body[1:]
        flags |= Flag.PREFLUSH
    if body.startswith("R"):
        kind = Kind.READ
    elif body.startswith("W"):
        kind = Kind.WRITE
    elif body.startswith("D"):
        kind = Kind.DISCARD
    elif flags:
        kind = Kind.FLUSH
        flags &= ~Flag.PREFLUSH
    else:
        kind = Kind.OTHER
    for letter in body[1:] if kind in (Kind.READ, Kind.WRITE, Kind.DISCARD) else body:
        flags |= {"F": Flag.FUA, "A": Flag.AHEAD, "S": Flag.SYNC, "M": Flag.META, "P": Flag.PRIO}.get(letter, 0)
    return int(kind), int(flags)


def _is_flush(kind: int, flags: int, sectors: int) -> bool:
    """A flush by itself; Linux calls what fsync sends an empty write with a flush in front."""
    return kind == Kind.FLUSH or (bool(flags & Flag.PREFLUSH) and sectors == 0)


LETTERS = {
    "block_bio_queue": "Q", "block_bio_backmerge": "M", "block_bio_frontmerge": "F", "block_split": "X", "block_rq_insert": "I",
    "block_rq_issue": "D", "block_rq_requeue": "R", "block_rq_complete": "C",
}  # fmt: skip
"""Of the kernel's block trace points."""
WITH_PROCESS = "QID"
"""Events that say who asked."""


class Assembler:
    """Takes events in the order of time; finished requests go into `rows`."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.rows = Rows()
        # By device and first sector.
        self._open: OrderedDict[tuple[int, int], _Open] = OrderedDict()
        # By device and the sector after the last one, for merges at the back.
        self._ends: dict[tuple[int, int], tuple[int, int]] = {}
        self._flushes: dict[int, list[_Open]] = {}
        self.start: int | None = None
        self.latest = 0
        self.given_up = 0
        self.orphans = 0

    def time(self, ns: int) -> int:
        """Nanoseconds since the first event; the first call sets the zero."""
        if self.start is None:
            self.start = ns
        since = ns - self.start
        self.latest = max(self.latest, since)
        return since

    def take(
        self, what: str, time: int, device: int, sector: int, sectors: int, letters: str, process: int = 0
    ) -> None:
        """Books an event under its letter (TRACE ACTIONS of blkparse(1)); others change nothing. `sectors` of a split:
        the sector of its second part."""
        match what:
            case "Q":
                self.queue(time, device, sector, sectors, letters, process)
            case "M" | "F":
                self.merge(device, sector, sectors, back=what == "M")
            case "X":
                self.split(device, sector, sectors)
            case "I":
                self.insert(time, device, sector, sectors, letters, process)
            case "D":
                self.issue(time, device, sector, sectors, letters, process)
            case "R":
                self.requeue(device, sector)
            case "C":
                self.complete(time, device, sector, sectors, letters)

    def queue(self, time: int, device: int, sector: int, sectors: int, letters: str, process: int) -> None:
        """A bio enters (`block_bio_queue`).

        `time`: ns since the start; `sector`, `sectors`: of 512 bytes; `letters`: `rwbs` as the kernel prints it;
        `process`: its index in the notes.
        """
        kind, flags = flags_of(letters)
        request = _Open(time, sector, sectors, kind, flags, process)
        if not _is_flush(kind, flags, sectors):
            self._add((device, sector), request)
            return
        request.kind, request.sector = int(Kind.FLUSH), 0
        waiting = self._flushes.setdefault(device, [])
        waiting.append(request)
        if len(waiting) > FLUSHES_MAX:
            self._row(waiting.pop(0), device, UNKNOWN)
            self.given_up += 1

    def merge(self, device: int, sector: int, sectors: int, back: bool) -> None:
        """The bio joins the request that ends where it starts, or starts where it ends."""
        bio = self._take((device, sector))
        key = self._ends.get((device, sector)) if back else (device, sector + sectors)
        into = self._open.get(key) if key else None
        if into is None or key is None:
            if bio is not None:
                self.orphans += 1
            return
        self._take(key)
        into.merged += 1
        into.sectors += sectors
        if not back:
            into.sector = sector
        self._add((device, into.sector), into)

    def split(self, device: int, sector: int, at: int) -> None:
        """A bio is cut at `at`: the rest is queued by itself."""
        bio = self._take((device, sector))
        if bio is None or not sector < at < sector + bio.sectors:
            if bio is not None:
                self._add((device, sector), bio)
            return
        rest = _Open(bio.arrival, at, sector + bio.sectors - at, bio.kind, bio.flags, bio.process)
        bio.sectors = at - sector
        self._add((device, sector), bio)
        self._add((device, at), rest)

    def insert(self, time: int, device: int, sector: int, sectors: int, letters: str, process: int) -> None:
        """The request enters the scheduler (`block_rq_insert`); only the first insert counts."""
        if _is_flush(*flags_of(letters), sectors):
            return
        request = self._known(time, device, sector, sectors, letters, process)
        if request.insert == UNKNOWN:
            request.insert = time

    def issue(self, time: int, device: int, sector: int, sectors: int, letters: str, process: int) -> None:
        """The driver gets the request (`block_rq_issue`); after a requeue, the last issue counts. Flushes under way are
        issued together."""
        kind, flags = flags_of(letters)
        if _is_flush(kind, flags, sectors):
            waiting = self._flushes.setdefault(device, [])
            if not waiting:
                waiting.append(_Open(time, 0, 0, int(Kind.FLUSH), 0, process))
            for flush in waiting:
                flush.issue = time if flush.issue == UNKNOWN else flush.issue
            return
        request = self._known(time, device, sector, sectors, letters, process)
        request.issue = time
        request.left = max(sectors, 1)

    def complete(self, time: int, device: int, sector: int, sectors: int, letters: str) -> bool:
        """True when a chunk is full."""
        if _is_flush(*flags_of(letters), sectors):
            return self._flushed(time, device)
        key = (device, sector)
        request = self._open.get(key)
        if request is None:
            # A flush is reported a second time, as the empty write that asked for it.
            self.orphans += sectors > 0
            return False
        if 0 < sectors < request.sectors:
            # In part: the rest goes on from there.
            self._take(key)
            done = _Open(request.arrival, sector, sectors, request.kind, request.flags, request.process)
            done.insert, done.issue, done.merged = request.insert, request.issue, request.merged
            full = self._row(done, device, time)
            request.sector, request.sectors, request.merged = sector + sectors, request.sectors - sectors, 0
            self._add((device, request.sector), request)
            return full
        self._take(key)
        return self._row(request, device, time)

    def complete_bio(self, time: int, device: int, sector: int, sectors: int, letters: str) -> bool:
        """The end of a bio of a device without requests; True when a chunk is full.

        md cuts bios at chunks: what then ends is the last part, whose end is the bio's.
        """
        if _is_flush(*flags_of(letters), sectors):
            return self._flushed(time, device)
        key = (device, sector) if (device, sector) in self._open else self._ends.get((device, sector + sectors))
        request = self._take(key) if key else None
        if request is None:
            self.orphans += sectors > 0
            return False
        return self._row(request, device, time)

    def _flushed(self, time: int, device: int) -> bool:
        """What was issued is done; without issue events, all that waits."""
        waiting = self._flushes.pop(device, [])
        issued = [flush for flush in waiting if flush.issue != UNKNOWN]
        left = [flush for flush in waiting if flush.issue == UNKNOWN] if issued else []
        if left:
            self._flushes[device] = left
        full = False
        for flush in issued or waiting:
            full |= self._row(flush, device, time)
        return full

    def requeue(self, device: int, sector: int) -> None:
        """The driver gives the request back (`block_rq_requeue`): its time in the device has not begun."""
        request = self._open.get((device, sector))
        if request is not None:
            request.issue = UNKNOWN

    def begin_again(self, ns: int) -> None:
        """Another recording follows, whose times begin anew at `ns`: it is shown behind the first, and what was open
        there was cut off."""
        self._cut()
        self.start = ns - self.latest

    def finish(self) -> None:
        """What is still open when the trace ends was cut off."""
        self._cut()
        if self.orphans:
            self.notes.sentences.append(f"{self.orphans:,} events belong to requests that began before the trace")
        if self.given_up:
            self.notes.sentences.append(f"{self.given_up:,} requests were never seen to end")

    def _cut(self) -> None:
        for (device, _), request in list(self._open.items()):
            request.flags |= int(Flag.CUT)
            self._row(request, device, UNKNOWN)
        for device, waiting in self._flushes.items():
            for flush in waiting:
                flush.flags |= int(Flag.CUT)
                self._row(flush, device, UNKNOWN)
        self._open.clear()
        self._ends.clear()
        self._flushes.clear()

    def _known(self, time: int, device: int, sector: int, sectors: int, letters: str, process: int) -> _Open:
        """The request of an event; one whose start was not seen starts here."""
        kind, flags = flags_of(letters)
        key = (device, sector)
        request = self._open.get(key)
        if request is None:
            request = _Open(time, sector, sectors, kind, flags, process)
            self._add(key, request)
        elif sectors > request.sectors:
            # It took in bios whose merges were not seen.
            self._ends.pop((device, request.sector + request.sectors), None)
            request.sectors = sectors
            self._ends[device, request.sector + sectors] = key
        return request

    def _add(self, key: tuple[int, int], request: _Open) -> None:
        before = self._take(key)
        if before is not None:
            self._row(before, key[0], UNKNOWN)
            self.given_up += 1
        self._open[key] = request
        self._ends[key[0], request.sector + request.sectors] = key
        if len(self._open) > OUTSTANDING_MAX:
            (device, place), oldest = next(iter(self._open.items()))
            self._take((device, place))
            self._row(oldest, device, UNKNOWN)
            self.given_up += 1

    def _take(self, key: tuple[int, int]) -> _Open | None:
        request = self._open.pop(key, None)
        if request is not None:
            end = (key[0], request.sector + request.sectors)
            if self._ends.get(end) == key:
                del self._ends[end]
        return request

    def _row(self, request: _Open, device: int, complete: int) -> bool:
        return self.rows.add(
            Request(
                request.arrival,
                request.sector,
                request.sectors,
                request.kind,
                insert_ns=request.insert,
                issue_ns=request.issue,
                complete_ns=complete,
                flags=request.flags,
                device=device,
                process=request.process,
                merged=min(request.merged, MERGED_MOST),
            )
        )
