"""A trace as a load that closes its loop: what each program sends, after what, and how long after it.

Two passes. The first puts requests in the order of their arrival and counts; a sample of it says how each program sends
(`shape`). The second writes a row of 48 bytes for each request (`crates/sim/src/task/traced/rows.rs`), each program's
together, so that the simulator reads them as it goes. Memory does not grow with the trace; the two scratch files do
(109 bytes a request).

A request that was sent when c of its program's requests were done is sent here when c are done, whichever they are, and
as long after that as it was. So there is no cycle: what it waits for was sent before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seekwise.trace.columns import REQUEST, Flag, Kind, Notes, TraceError
from seekwise.trace.order import Late, ordered
from seekwise.trace.shape import Shape, shapes

ROW = np.dtype(
    [
        ("sector", "<u8"),
        ("at_ns", "<u8"),
        ("gap_ns", "<u8"),
        ("sectors", "<u4"),
        ("own", "<u4"),
        ("other", "<u4"),
        ("other_count", "<u4"),
        ("kind", "u1"),
        ("flags", "u1"),
        ("unused", "u1", (6,)),
    ]
)
NOBODY = 2**32 - 1
OPEN = 128
FOREGROUND = "foreground"
"""Role of programs that somebody waits for; name of all of them together in the records of a what-if."""
RECORDED = "recorded"
"""Key of those records: the foreground as it was recorded (`judge/predicted.py`)."""
SAMPLE_ROWS = 500_000
PROGRAMS_MAX = 1000
"""Programs that are told apart; requests of the others come at their times."""
GROUPS_MAX = 12
OTHERS = "others"
SECTORS_MAX = 1 << 21
MAIN_SHARE = 50
"""A group's time begins with the first request of a program that has at least one request for so many of its busiest
one's: not with the one that looked at the partition table. Likewise the time of several groups."""
PER_OCTAVE = 64
MARKED = ("seekwise", "seekwise record", "blktrace", "blkparse", "perf or trace-cmd")
"""Formats that say which writes somebody waits for."""


@dataclass
class Group:
    """Programs of one name, whose figures are shown together."""

    name: str
    role: str
    programs: int = 0
    rows_most: int = 0
    """Of its busiest program."""
    requests: int = 0
    reads: int = 0
    bytes: int = 0
    sequential: int = 0
    first_ns: int = 1 << 62
    last_ns: int = 0
    latency: np.ndarray = field(default_factory=lambda: np.zeros(48 * PER_OCTAVE, np.int64))
    hows: dict[str, int] = field(default_factory=dict)
    """Requests by how they are sent."""

    @property
    def is_foreground(self) -> bool:
        """False for the journal and for write-back: no program waits for those requests."""
        return self.role == "foreground"

    @property
    def seconds(self) -> float:
        """From the first request to the last, at least 1 ns."""
        return max(self.last_ns - self.first_ns, 1) / 1e9

    @property
    def operation(self) -> str:
        """`seq_read`, `rand_write`, `mixed` and so on; sequential means more than half of the requests."""
        if 0 < self.reads < self.requests:
            return "mixed"
        kind = "read" if self.reads else "write"
        return f"{'seq' if self.sequential * 2 > self.requests else 'rand'}_{kind}"


@dataclass(frozen=True)
class TracedProgram:
    name: str
    shape: Shape
    group: int
    first: int
    rows: int


@dataclass(frozen=True)
class TracedLoad:
    """What the simulator plays."""

    path: Path
    groups: tuple[Group, ...]
    programs: tuple[TracedProgram, ...]
    requests: int
    end_sector: int
    flushes: int
    device: str
    said: tuple[str, ...]
    """What a reader should know of how the trace was taken, in sentences."""
    assumed: tuple[str, ...]
    """What the recording does not decide, in sentences."""

    def spec(self, *, replay_open: bool = False) -> dict[str, object]:
        """As `PhaseSpec.traced` of the simulator."""
        return {
            "path": str(self.path),
            "groups": [group.name for group in self.groups],
            "programs": [
                {"group": program.group, "first": program.first, "rows": program.rows} for program in self.programs
            ],
            "open": replay_open,
            "flushes": self.flushes > 0,
        }


def make(chunks: Iterable[np.ndarray], notes: Notes, folder: Path, *, undecided_open: bool = False) -> TracedLoad:
    """The load of a trace, its files in `folder`. TraceError if the trace has no requests that could be played."""
    gathered = _gather(chunks, notes, folder / "ordered")
    counts, late = gathered.counts, gathered.late
    if not gathered.total:
        cut = f": it is {notes.truncated}" if notes.truncated else ""
        raise TraceError(f"the trace holds no reads, writes or flushes to play{cut}")
    sample = gathered.sample
    if not np.ptp(sample["arrival_ns"]) and not (sample["complete_ns"] > sample["arrival_ns"]).any():
        hint = "`seekwise record`, blktrace and fio's iolog of version 3 have times"
        raise TraceError("no request of the trace has a time, so nothing says how fast they came", hint=hint)
    device = max(counts, key=lambda number: sum(counts[number].values()))
    mine = counts[device]
    decided = shapes(gathered.sample[gathered.sample["device"] == device], notes.processes)
    programs, groups = _programs(mine, notes, decided, undecided_open)
    path = folder / "load"
    marked = notes.source in MARKED or bool((gathered.sample["flags"] & (Flag.SYNC | Flag.FUA | Flag.META)).any())
    state = _Compiler(programs, path, sum(mine.values()), marked, device)
    with state.out:
        for chunk in _chunks(folder / "ordered"):
            state.add(chunk, groups)
    (folder / "ordered").unlink()
    written = tuple(program for program in programs.values() if program.rows)
    written = tuple(dict.fromkeys(written))
    names = notes.devices
    said = _sentences(notes, counts, device, gathered, late)
    assumed = _assumed(written, groups, marked, state.flushes)
    return TracedLoad(
        path, tuple(groups), written, sum(mine.values()), state.end_sector, state.flushes,
        names[device] if device < len(names) else "", said, assumed,
    )  # fmt: skip


@dataclass
class _Gathered:
    total: int
    counts: dict[int, dict[int, int]]
    """Requests by device and program."""
    sample: np.ndarray
    late: Late
    left_out: int
    unfinished: int


def _kworkers(notes: Notes) -> list[int]:
    return [place for place, name in enumerate(notes.processes) if name.startswith("kworker")]


def _gather(chunks: Iterable[np.ndarray], notes: Notes, path: Path) -> _Gathered:
    """In the order of arrival into a file; what cannot be played is left out."""
    counts: dict[int, dict[int, int]] = {}
    parts: list[np.ndarray] = []
    sampled = left_out = unfinished = total = 0
    late = Late()
    with path.open("wb") as out:
        for chunk in ordered(chunks, late):
            flush = (chunk["kind"] == Kind.FLUSH) | (
                (chunk["sectors"] == 0) & ((chunk["flags"] & (Flag.PREFLUSH | Flag.FUA)) > 0)
            )
            data = ((chunk["kind"] == Kind.READ) | (chunk["kind"] == Kind.WRITE)) & (chunk["sectors"] > 0)
            # What the block layer asks for behind a forced write belongs to that write.
            own = flush & (chunk["issue_ns"] == chunk["arrival_ns"]) & np.isin(chunk["process"], _kworkers(notes))
            kept = chunk[(flush | data) & ~own & (chunk["sectors"] <= SECTORS_MAX) & (chunk["sector"] >= 0)]
            left_out += len(chunk) - len(kept) - int(own.sum())
            if not len(kept):
                continue
            kept["kind"][kept["sectors"] == 0] = Kind.FLUSH
            unfinished += int((kept["complete_ns"] < kept["arrival_ns"]).sum())
            for device in np.unique(kept["device"]):
                places, numbers = np.unique(kept["process"][kept["device"] == device], return_counts=True)
                of_device = counts.setdefault(int(device), {})
                for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
                    of_device[place] = of_device.get(place, 0) + number
            if sampled < SAMPLE_ROWS:
                parts.append(kept[: SAMPLE_ROWS - sampled])
                sampled += len(parts[-1])
            total += len(kept)
            kept.tofile(out)
    sample = np.concatenate(parts) if parts else np.empty(0, REQUEST)
    return _Gathered(total, counts, sample, late, left_out, unfinished)


def _chunks(path: Path, rows: int = 1 << 16) -> Iterable[np.ndarray]:
    with path.open("rb") as file:
        while len(chunk := np.fromfile(file, REQUEST, rows)):
            yield chunk


def group_name(name: str, role: str) -> str:
    """`fio/1234` and `fio/1235` are fio; all kernel workers are one."""
    if name.startswith("kworker"):
        return f"kworker ({role})"
    return re.sub(r"[/-]\d+$", "", name) or name


def _programs(
    counts: dict[int, int], notes: Notes, decided: dict[int, Shape], undecided_open: bool
) -> tuple[dict[int, TracedProgram], list[Group]]:
    """A program for each place of the trace (several places may share the last one), and their groups."""
    alone = sorted(counts, key=lambda place: (-counts[place], place))[:PROGRAMS_MAX]
    alone = [place for place in alone if place in decided]
    shared = [place for place in counts if place not in set(alone)]
    by_group: dict[str, int] = {}
    groups: list[Group] = []
    programs: dict[int, TracedProgram] = {}
    # Foreground first, so that its names are among those that are shown.
    alone.sort(key=lambda place: (decided[place].role != "foreground", -counts[place], place))
    first = 0
    for place in alone:
        shape = decided[place]
        if undecided_open and not shape.is_sure and shape.how != "admitted":
            shape = Shape("open", 0, False, shape.role)
        name = notes.processes[place] if place < len(notes.processes) else "?"
        group = group_name(name, shape.role)
        if group not in by_group and len(groups) >= GROUPS_MAX - 1:
            group = OTHERS if shape.role == "foreground" else f"{OTHERS} ({shape.role})"
        if group not in by_group:
            by_group[group] = len(groups)
            groups.append(Group("all" if group == "?" else group, shape.role))
        groups[by_group[group]].programs += 1
        groups[by_group[group]].rows_most = max(groups[by_group[group]].rows_most, counts[place])
        programs[place] = TracedProgram(name, shape, by_group[group], first, counts[place])
        first += counts[place]
    if shared:
        rows = sum(counts[place] for place in shared)
        if OTHERS not in by_group:
            by_group[OTHERS] = len(groups)
            groups.append(Group(OTHERS, "foreground"))
        groups[by_group[OTHERS]].programs += len(shared)
        groups[by_group[OTHERS]].rows_most = max(groups[by_group[OTHERS]].rows_most, rows)
        rest = TracedProgram(OTHERS, Shape("open", 0, False, "foreground"), by_group[OTHERS], first, rows)
        programs |= dict.fromkeys(shared, rest)
    return programs, groups


@dataclass
class _State:
    """What has to be known of a program from one chunk to the next."""

    program: TracedProgram
    number: int
    written: int = 0
    sent: int = 0
    done_before: int = 0
    """Requests done that are no longer in `done`."""
    done: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    last_done: int = -1
    last_arrival: int = -1
    last_count: int = 0
    last_end: int = -1

    def done_at(self, counts: np.ndarray) -> np.ndarray:
        """When so many requests were done; -1 for none."""
        if not len(self.done):
            return np.where(counts > 0, self.last_done, -1)
        place = counts - 1 - self.done_before
        times = self.done[np.clip(place, 0, len(self.done) - 1)]
        return np.where(place < 0, np.where(counts > 0, self.last_done, -1), times)

    def completed(self, arrivals: np.ndarray) -> np.ndarray:
        return self.done_before + np.searchsorted(self.done, arrivals, side="right")

    def trim(self, until: int) -> None:
        old = int(np.searchsorted(self.done, until, side="right"))
        if old:
            self.last_done = int(self.done[old - 1])
            self.done_before += old
            self.done = self.done[old:].copy()


class _Compiler:
    """Writes rows as chunks come, each program's to its own part of the file."""

    def __init__(self, programs: dict[int, TracedProgram], path: Path, rows: int, marked: bool, device: int) -> None:
        numbers: dict[TracedProgram, _State] = {}
        for program in programs.values():
            numbers.setdefault(program, _State(program, len(numbers)))
        self.states = {place: numbers[program] for place, program in programs.items()}
        self.marked, self.device = marked, device
        self.out = path.open("wb")
        self.out.truncate(rows * ROW.itemsize)
        self.end_sector = self.flushes = 0

    def add(self, chunk: np.ndarray, groups: list[Group]) -> None:
        chunk = chunk[chunk["device"] == self.device]
        if not len(chunk):
            return
        parts = self._parts(chunk)
        for state, rows in parts:
            known = rows["complete_ns"][rows["complete_ns"] >= rows["arrival_ns"]]
            state.done = np.sort(np.concatenate([state.done, known]))
        for state, rows in parts:
            self._write(state, rows)
            _count(groups[state.program.group], state, rows)
        newest = int(chunk["arrival_ns"][-1])
        for state in {id(state): state for state in self.states.values()}.values():
            if len(state.done):
                state.trim(newest)
        data = chunk["sectors"] > 0
        self.end_sector = max(self.end_sector, int((chunk["sector"] + chunk["sectors"])[data].max(initial=0)))
        self.flushes += int((chunk["kind"] == Kind.FLUSH).sum())
        self.flushes += int(((chunk["flags"] & (Flag.PREFLUSH | Flag.FUA)) > 0).sum())

    def _parts(self, chunk: np.ndarray) -> list[tuple[_State, np.ndarray]]:
        numbers = np.array([self.states[place].number for place in chunk["process"].tolist()])
        order = np.argsort(numbers, kind="stable")
        chunk, numbers = chunk[order], numbers[order]
        borders = np.flatnonzero(np.diff(numbers)) + 1
        by_number = {state.number: state for state in self.states.values()}
        return [
            (by_number[int(number[0])], rows)
            for number, rows in zip(np.split(numbers, borders), np.split(chunk, borders), strict=True)
        ]

    def _write(self, state: _State, rows: np.ndarray) -> None:
        shape, count = state.program.shape, len(rows)
        arrival = rows["arrival_ns"]
        out = np.zeros(count, ROW)
        out["sector"], out["sectors"], out["at_ns"] = rows["sector"], rows["sectors"], np.maximum(arrival, 0)
        out["kind"] = rows["kind"]
        out["own"], out["other"] = NOBODY, NOBODY
        flags = (rows["flags"] & (Flag.SYNC | Flag.META | Flag.FUA)).astype(np.uint8)
        flags |= ((rows["flags"] & Flag.PREFLUSH) > 0).astype(np.uint8) * 8
        if not self.marked:
            flags |= int(Flag.SYNC)
        if shape.how == "open":
            out["flags"] = flags | OPEN
        else:
            out["flags"] = flags
            self._chain(state, shape, arrival, out)
        state.last_arrival, state.sent = int(arrival[-1]), state.sent + count
        first = state.program.first + state.written
        self.out.seek(first * ROW.itemsize)
        self.out.write(out.tobytes())
        state.written += count

    def _chain(self, state: _State, shape: Shape, arrival: np.ndarray, out: np.ndarray) -> None:
        """What each request waits for, and how long after that it came."""
        number = state.sent + np.arange(len(arrival))
        completed = np.minimum(state.completed(arrival), number)
        trigger = np.concatenate([[state.last_arrival], arrival[:-1]])
        if shape.how == "slots":
            need = np.minimum(np.maximum(number + 1 - shape.depth, 0), completed)
            out["own"] = number - need
            trigger = np.maximum(trigger, state.done_at(need))
        elif shape.how == "replies":
            waited = completed == number
            out["own"] = np.where(waited, 0, NOBODY)
            # Where nothing was under way it waited for all; elsewhere it went on after its last request.
            trigger = np.maximum(trigger, np.where(waited, state.done_at(completed), -1))
        else:
            trigger = np.maximum(trigger, state.done_at(completed))
        if shape.after:
            begins = np.diff(completed, prepend=state.last_count) > 0
            begins[0] |= state.sent == 0
            newest, other, count = trigger.copy(), out["other"].copy(), out["other_count"].copy()
            for place in shape.after:
                partner = self.states.get(place)
                if partner is None:
                    continue
                done = partner.completed(arrival)
                when = np.where(begins & (done > 0), partner.done_at(done), -1)
                later = when > newest
                other[later], count[later] = partner.number, done[later]
                newest = np.maximum(newest, when)
            out["other"], out["other_count"], trigger = other, count, newest
        state.last_count = int(completed[-1])
        out["gap_ns"] = np.where(trigger >= 0, np.maximum(arrival - trigger, 0), np.maximum(arrival, 0))


def _count(group: Group, state: _State, rows: np.ndarray) -> None:
    group.hows[state.program.shape.how] = group.hows.get(state.program.shape.how, 0) + len(rows)
    if state.program.rows * MAIN_SHARE >= group.rows_most:
        group.first_ns = min(group.first_ns, int(rows["arrival_ns"][0]))
    group.last_ns = max(group.last_ns, int(rows["arrival_ns"][-1]), int(rows["complete_ns"].max()))
    rows = rows[rows["kind"] != Kind.FLUSH]
    if not len(rows):
        return
    group.requests += len(rows)
    group.reads += int((rows["kind"] == Kind.READ).sum())
    group.bytes += int(rows["sectors"].sum()) * 512
    ends = rows["sector"] + rows["sectors"]
    group.sequential += int((rows["sector"][1:] == ends[:-1]).sum()) + int(rows["sector"][0] == state.last_end)
    state.last_end = int(ends[-1])
    latency = rows["complete_ns"] - rows["arrival_ns"]
    place = np.log2(np.maximum(latency[latency >= 0], 1)) * PER_OCTAVE
    group.latency += np.bincount(np.minimum(place.astype(int), len(group.latency) - 1), minlength=len(group.latency))


def recorded_percentile_ns(groups: Iterable[Group], percent: float) -> float | None:
    """Of the recorded latencies, within 1 %; None without any."""
    counts = sum((group.latency for group in groups), np.zeros(48 * PER_OCTAVE, np.int64))
    total = counts.sum()
    if not total:
        return None
    return float(2 ** ((int(np.searchsorted(np.cumsum(counts), percent / 100 * total)) + 0.5) / PER_OCTAVE))


def _sentences(
    notes: Notes, counts: dict[int, dict[int, int]], device: int, gathered: _Gathered, late: Late
) -> tuple[str, ...]:
    said = []
    if notes.truncated:
        said.append(f"The trace is incomplete ({notes.truncated}): what comes before the cut is played")
    if notes.dropped:
        said.append(f"The recorder dropped {notes.dropped:,} events, so some requests are missing")
    if len(counts) > 1:
        name = notes.devices[device] if device < len(notes.devices) else str(device)
        left = sum(sum(by_device.values()) for number, by_device in counts.items() if number != device)
        said.append(f"Played is {name}, the busiest of {len(counts)} devices; {left:,} requests of the others are not")
    if gathered.left_out:
        said.append(f"{gathered.left_out:,} requests are not played: discards and what no drive model takes")
    if late.count:
        said.append(f"{late.count:,} requests stood too far out of order and are sent later than they were")
    return tuple(said)


def _assumed(programs: tuple[TracedProgram, ...], groups: list[Group], marked: bool, flushes: int) -> tuple[str, ...]:
    said = []
    for wanted, words in (("replies", "wait for their requests"), ("open", "send at their times")):
        unsure = [p for p in programs if not p.shape.is_sure and p.shape.how == wanted and p.shape.role == "foreground"]
        if unsure:
            names = ", ".join(dict.fromkeys(groups[p.group].name for p in unsure[:50]))[:60]
            count = sum(p.rows for p in unsure)
            said.append(f"{names}: {count:,} requests; too little load to tell, assumed to {words}")
    back = sum(p.rows for p in programs if p.shape.role == "write-back" and p.shape.how == "open")
    if back:
        said.append(f"{back:,} requests of write-back come at their recorded times")
    if not marked:
        said.append("the trace does not say which writes are waited for: all are taken as synchronous")
    if flushes:
        said.append("the new drives have a write cache as their model says, and flushes empty it")
    return tuple(said)
