"""Runs a program from a warm cache and records the calls of its units:
`python -m seekwise_proof.recorder PROGRAM FOLDER`.

    fork a process per worker ─ open, two units to warm up ─ trace on ─ units, marked ─ trace off ─▶ recorded_calls.py ─▶ shipped/PROGRAM.json.zst

Warm, so that gaps between calls are computing: what a drive takes is the simulator's to say. The folder lies on ext4,
and the kernel is Linux 6.11 or later. What a program evicts is noted and stays.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random

from seekwise import zstd
from seekwise.control import tracefs
from seekwise.errors import SeekwiseError, UsageError
from seekwise.simulate.recordings import recording
from seekwise.simulate.recordings.recording import END, LOCK, ON_FILES, SCHEMA, CallRow, RecordedFile, Recording
from seekwise.workload import cold, data, programs, write_behind
from seekwise.workload.program import DataBudget, Place, Program
from seekwise_proof import recorded_calls

LEVEL = 19
BUFFER_KIB = 65_536
ROOM_BYTES = 256 * 2**20
LAYOUT_S = 10.0
WARM_UNITS = 2
WARM_S = 4.0
"""A database has been through a checkpoint by then."""
SETTLE_S = 2.0
UNITS_S = 3.0
UNITS = (5, 200)
"""Least and most of a worker."""
ROWS = 16_000
"""Calls of a worker that are kept, in whole units."""
FEW = 20
"""Of so few units the quickest is kept: what others have beyond it is the machine's."""
WORKERS = {"sqlite": 4, "cat": 4, "pages": 4, "fetch": 3, "store": 2}
"""Each begins elsewhere in the data."""
TOGETHER = ("sqlite",)
"""Processes that meet at locks are recorded at the same time, others one after the other."""
TIMEOUT_S = 600


def dumps(recording: Recording) -> bytes:
    """A recording as its compressed file."""
    table = {
        "schema": SCHEMA,
        "program": recording.program,
        "parameters": dict(recording.parameters),
        "provenance": dict(recording.provenance),
        "files": [[file.name, file.pages] for file in recording.files],
        "processes": [_packed(calls) for calls in recording.processes],
    }
    return zstd.compress(json.dumps(table, separators=(",", ":")).encode(), LEVEL)


def _packed(calls: tuple[CallRow, ...]) -> list[list[int]]:
    """Columns: kinds, then files and pages as differences, pages, times."""
    columns: list[list[int]] = [[], [], [], [], []]
    last_file = last_page = 0
    for kind, file, page, pages, think in calls:
        row = (kind, file - last_file, page - last_page, pages, think)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        last_file, last_page = file, page
    return columns


def main(argv: list[str]) -> None:
    """Records one program from the command line; needs root, for trace recorded_calls."""
    parser = argparse.ArgumentParser(prog="python -m seekwise_proof.recorder", description=__doc__)
    parser.add_argument("program", choices=sorted(programs.PROGRAMS))
    parser.add_argument("folder", type=Path, help="on ext4; what is laid out there is removed again")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the program")
    parser.add_argument("--out", type=Path, default=Path(recording.__file__).parent / "shipped")
    given = parser.parse_args(argv)
    parameters = {
        name: int(value) if value.isdigit() else value for name, _, value in (w.partition("=") for w in given.set)
    }
    made = record(given.program, parameters, given.folder)
    words = [given.program, *(f"{name}-{value}" for name, value in sorted(parameters.items()))]
    path = given.out / f"{'.'.join(words)}.json.zst"
    path.write_bytes(dumps(made))
    calls = sum(len(process) for process in made.processes)
    print(f"{path}: {path.stat().st_size} bytes, {made.units} units, {calls} calls on {len(made.files)} files")


def record(name: str, parameters: dict[str, object], folder: Path) -> Recording:
    """Raises SeekwiseError when the program or the kernel's trace events cannot be had."""
    program = programs.program_named(name, parameters)
    scratch = folder / f"recorded-{os.getpid()}"
    scratch.mkdir(mode=0o700)
    try:
        return _recorded(program, parameters, scratch)
    finally:
        shutil.rmtree(scratch)


def _watch(instance: Path, pids: list[int]) -> None:
    """Switches on the calls of these processes and all that they start."""
    (instance / "options" / "event-fork").write_text("1")
    (instance / "set_event_pid").write_text(" ".join(map(str, pids)))
    for event in recorded_calls.EVENTS:
        (instance / "events" / event / "enable").write_text("1")


def _recorded(program: Program, parameters: dict[str, object], scratch: Path) -> Recording:
    (scratch / "data").mkdir()
    for data_set in program.data_sets:
        data.laid_out(data_set, scratch / "data", DataBudget(ROOM_BYTES, time.monotonic() + LAYOUT_S))
    os.sync()
    workers = WORKERS.get(program.name, 1)
    team = [_Worker(program, _place(scratch, number, workers)) for number in range(workers)]
    try:
        for worker in team:
            worker.expect("warm")
        before = _inodes(scratch)
        sizes = {inode: path.stat().st_size for inode, path in before.items()}
        with tracefs.empty_instance((), BUFFER_KIB) as instance:
            _watch(instance.path, [worker.pid for worker in team])
            instance.start()
            marker = str(instance.path / "trace_marker")
            for number, worker in enumerate(team):
                worker.tell(marker)
                if program.name not in TOGETHER or number == workers - 1:
                    for one in team if program.name in TOGETHER else (worker,):
                        one.expect("done")
            instance.stop()
            if instance.dropped():
                raise SeekwiseError(f"the kernel dropped {instance.dropped()} events")
            lines = (instance.path / "trace").read_text().splitlines()
        after = _inodes(scratch)
    finally:
        for worker in team:
            worker.end()
    names = {inode: _name(path, scratch) for inode, path in (before | after).items()}
    number = scratch.stat().st_dev
    reader = recorded_calls.Reader(names, sizes, [worker.pid for worker in team], (os.major(number), os.minor(number)))
    reader.read(lines)
    retry_ns = round(1e9 * getattr(sys.modules[type(program).__module__], "RETRY_S", 0.0))
    files, calls = _used(reader.files(), [_kept(calls_of) for calls_of in reader.calls()], retry_ns)
    said = {
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
        "how": "python -m seekwise_proof.recorder: trace events of a warm run",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "processor": _processor(),
    }
    return Recording(program.name, parameters, files, calls, said)


def _used(
    files: tuple[RecordedFile, ...], calls: list[tuple[CallRow, ...]], retry_ns: int
) -> tuple[tuple[RecordedFile, ...], tuple[tuple[CallRow, ...], ...]]:
    """Without the files that no call is for. `retry_ns`: after about so long a program asks for a lock again."""
    used = sorted({row[1] for calls_of in calls for row in calls_of if row[0] in ON_FILES})
    place = {number: new for new, number in enumerate(used)}

    def kept(row: CallRow) -> CallRow:
        if row[0] in ON_FILES:
            return (row[0], place[row[1]], *row[2:])
        return (*row[:3], retry_ns, row[4]) if row[0] == LOCK else row

    return tuple(files[number] for number in used), tuple(tuple(kept(row) for row in calls_of) for calls_of in calls)


def _place(scratch: Path, number: int, workers: int) -> Place:
    own = scratch / "own" / str(number)
    own.mkdir(parents=True)
    return Place(scratch / "data", own, number, workers, Random(number))


def _name(path: Path, scratch: Path) -> str:
    parts = path.relative_to(scratch).parts
    return "/".join(parts if parts[0] == "data" else ("own", *parts[2:]))


def _inodes(scratch: Path) -> dict[int, Path]:
    paths = [Path(folder) / name for folder, _, names in os.walk(scratch) for name in names]
    return {path.stat().st_ino: path for path in paths}


class _Worker:
    """A process of its own that runs units when told, and marks them in the trace."""

    def __init__(self, program: Program, place: Place) -> None:
        self.place = place
        told, self._tell = os.pipe()
        self._replies, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                signal.alarm(TIMEOUT_S)
                _work(
                    program,
                    place,
                    lambda word: os.write(say, word.encode()),
                    lambda: os.read(told, 4096).decode(),
                )
                status = 0
            finally:
                os._exit(status)
        os.close(told)
        os.close(say)

    def tell(self, text: str) -> None:
        os.write(self._tell, text.encode())

    def expect(self, word: str) -> None:
        if os.read(self._replies, 100).decode() != word:
            raise SeekwiseError("the program could not do its units")

    def end(self) -> None:
        os.close(self._tell)
        os.close(self._replies)
        os.waitpid(self.pid, 0)


def _work(program: Program, place: Place, say: Callable[[str], object], told: Callable[[], str]) -> None:
    real, cold.evict = cold.evict, lambda paths: 0.0
    write_behind.behind = nullcontext  # type: ignore[assignment]
    program.open(place)
    units, end = 0, time.monotonic() + WARM_S
    while units < WARM_UNITS or time.monotonic() < end:
        program.before(place)
        program.work(place)
        units += 1
    os.sync()
    time.sleep(SETTLE_S)
    say("warm")
    marker = os.open(told(), os.O_WRONLY)

    def noted(paths: Iterable[Path | str]) -> float:
        """What would be evicted is noted, and stays."""
        for path in paths:
            os.write(marker, f"evict {os.stat(path).st_ino}".encode())
        return 0.0

    @contextmanager
    def behind(path: Path) -> Iterator[None]:
        """The calls of the thread that follows the program depend on how fast the drive is: noted is when they are made."""
        os.write(marker, f"behind {write_behind.PIECE_BYTES // recorded_calls.PAGE}".encode())
        yield
        os.write(marker, b"behind 0")

    cold.evict, write_behind.behind = noted, behind
    units, end = 0, time.monotonic() + UNITS_S
    while units < UNITS[0] or units < UNITS[1] and time.monotonic() < end:
        program.before(place)
        os.write(marker, b"begin")
        moved = program.work(place)
        os.write(marker, f"end {moved}".encode())
        units += 1
    say("done")
    cold.evict = real
    program.close(place)


def _kept(calls: tuple[CallRow, ...]) -> tuple[CallRow, ...]:
    """Of few units the one with the least computing, with the eviction before it."""
    ends = [place for place, row in enumerate(calls) if row[0] == END]
    if len(ends) >= FEW:
        return calls[: max(end for end in ends if end < ROWS or end == ends[0]) + 1]
    spans = [calls[begin : end + 1] for begin, end in zip([0, *(end + 1 for end in ends)], ends, strict=False)]
    return min(spans, key=lambda span: sum(row[4] for row in span))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError as error:
        raise SystemExit(f"{error.message}") from None
