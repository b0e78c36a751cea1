"""Recording: the kernel's pages are kept as they are while it runs, and become requests afterwards.

Turning events into requests costs more than taking them; while the load runs only pages are moved, from the kernel's
buffers to a spool of bounded size in memory (or in a folder). The processor time of that, events that were dropped and
a spool that was full are in the trace's notes.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seekwise import temporary
from seekwise.control import interrupt, tracefs
from seekwise.errors import SeekwiseError
from seekwise.trace import file
from seekwise.trace.assemble import LETTERS, NO_SECTOR, WITH_PROCESS, Assembler
from seekwise.trace.columns import CHUNK_ROWS, Notes
from seekwise.trace.record import ring

POLL_S = 0.1
SPOOL_BYTES_MAX = 2 << 30
MEMORY = Path("/dev/shm")
MIB = 1 << 20


@dataclass(frozen=True)
class RecordingResult:
    """What came of a recording."""

    path: Path
    requests: int
    seconds: float
    dropped: int
    cpu_seconds: float
    """Processor time of this process while it recorded; the kernel's own part is in the load's time."""
    notes: Notes


@dataclass(frozen=True)
class Device:
    """What is recorded: the disk, and its partitions, whose bios carry their numbers."""

    name: str
    disk: tuple[int, int]
    numbers: tuple[tuple[int, int], ...]
    has_requests: bool = True
    """Otherwise bios pass through it (md, dm), and end as bios."""
    machine: dict[str, str] = field(default_factory=dict)
    """Model, scheduler and kernel, as far as they are known."""

    @property
    def events(self) -> tuple[str, ...]:
        """Tracepoints to switch on: those of requests, or those of bios where a device has no requests."""
        return tracefs.EVENTS if self.has_requests else tracefs.BIO_EVENTS


def device_of(name: str, sys_root: Path = Path("/sys")) -> Device:
    """The disk of a device's name (`sda`, `sda1`, `nvme0n1p2`)."""
    entry = next(iter((sys_root / "class" / "block").glob(name)), None)
    if entry is None:
        raise SeekwiseError(f"there is no block device {name}")
    place = entry.resolve()
    if (place / "partition").exists():
        place = place.parent
    parts = [part.parent for part in place.glob("*/partition")]
    numbers = [_number(place), *(_number(part) for part in sorted(parts))]
    return Device(place.name, numbers[0], tuple(numbers), not _is_stacked(place), _machine(place))


def _is_stacked(place: Path) -> bool:
    """md and dm have members below and no hardware queue of their own (Linux block/genhd.c: `slaves`; dm-multipath has
    `mq`)."""
    below = place / "slaves"
    return not (place / "mq").is_dir() and below.is_dir() and any(below.iterdir())


def _machine(place: Path) -> dict[str, str]:
    facts = {"kernel": os.uname().release}
    for name, attribute in (("model", "device/model"), ("serial", "device/serial"), ("scheduler", "queue/scheduler")):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            facts[name] = (place / attribute).read_text().strip()
    return facts


def _number(place: Path) -> tuple[int, int]:
    major, _, minor = (place / "dev").read_text().strip().partition(":")
    return int(major), int(minor)


def record(
    device: Device,
    seconds: float,
    out: Path,
    *,
    anonymise: bool = False,
    spool_bytes_max: int = SPOOL_BYTES_MAX,
    tell: Callable[[str], None] = lambda sentence: None,
) -> RecordingResult:
    """Records for so long, or until interrupted (Ctrl-C, SIGTERM, a closed terminal), and writes the trace."""
    with interrupt.stoppable():
        return _record(device, seconds, out, anonymise, spool_bytes_max, tell)


def _record(
    device: Device, seconds: float, out: Path, anonymise: bool, spool_bytes_max: int, tell: Callable[[str], None]
) -> RecordingResult:
    machine = {"kernel": device.machine.get("kernel", "")} if anonymise else device.machine
    notes = Notes(source="seekwise record", machine=machine)
    with temporary.private("record", spool_folder()) as folder:
        with tracefs.instance(list(device.numbers), events=device.events) as instance:
            known = ring.layouts(instance.formats())
            before = _cpu_seconds()
            began = time.monotonic()
            full = spool(instance, Path(folder), seconds, spool_bytes_max)
            lasted, cpu = time.monotonic() - began, _cpu_seconds() - before
            notes.dropped = instance.dropped()
        if full:
            notes.sentences.append(
                f"The recording ended after {lasted:.0f} s instead of {seconds:.0f} s: its {spool_bytes_max // MIB} MiB were full"
            )
        tell(f"recorded {lasted:.0f} s, making requests of the events")
        requests = _write(Path(folder), known, device, notes, out, anonymise)
    return RecordingResult(out, requests, lasted, notes.dropped, cpu, notes)


def spool_folder() -> Path | None:
    """Where pages are kept while recording: in memory if there is room; None for the default."""
    with contextlib.suppress(OSError):
        if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > SPOOL_BYTES_MAX // 4:
            return MEMORY
    return None


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def spool(
    instance: tracefs.Instance, folder: Path, seconds: float, bytes_max: int, ended: threading.Event | None = None,
    tell: Callable[[float], None] = lambda _: None,
) -> bool:  # fmt: skip
    """Moves pages until the time is over or `ended` is set; True if there was no more room. `tell`: hears the seconds
    left while it goes on."""
    ended = ended or threading.Event()
    limit = min(bytes_max, shutil.disk_usage(folder).free // 2)
    pipes = []
    taken = 0
    try:
        for cpu in instance.cpus():
            source = os.open(cpu / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
            pipes.append((source, (folder / cpu.name).open("wb")))
        with contextlib.suppress(KeyboardInterrupt):
            # Once the kernel records, being told to end keeps what there is, also before the first page is moved.
            with interrupt.held():
                instance.start()
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0 and taken < limit and not ended.is_set():
                tell(left)
                ended.wait(min(POLL_S, left))
                taken += sum(_move(source, spool, limit - taken) for source, spool in pipes)
        instance.stop()
        taken += sum(
            _move(source, spool, max(limit - taken, 0) + tracefs.BUFFER_KIB_PER_CPU * 1024) for source, spool in pipes
        )
        return taken >= limit
    finally:
        for source, spool in pipes:
            os.close(source)
            spool.close()


def _move(source: int, spool: object, room: int) -> int:
    moved = 0
    while moved < room:
        try:
            page = os.read(source, ring.PAGE)
        except BlockingIOError:
            break
        if not page:
            break
        spool.write(page)  # type: ignore[attr-defined]
        moved += len(page)
    return moved


def _write(
    folder: Path, known: dict[int, ring.Layout], device: Device, notes: Notes, out: Path, anonymise: bool
) -> int:
    """Events in the order of time, requests in the order of their ends, into the file."""
    requests = Assembler(notes)
    place = notes.device("device-0" if anonymise else device.name)
    with contextlib.ExitStack() as stack:
        target = out
        if anonymise:
            # Beside the spool, which is ours alone: in the folder of the output its owner could put another one in its
            # place.
            target = stack.enter_context(temporary.private("record", folder.parent)) / "named"
        writer = file.TraceWriter(target, notes)
        lowest = 1 << 62
        for event in events(folder, known):
            take(requests, notes, event, place, anonymise)
            if len(requests.rows) >= CHUNK_ROWS:
                lowest = min(lowest, _add(writer, requests))
        requests.finish()
        lowest = min(lowest, _add(writer, requests))
        notes.anonymous = anonymise
        writer.close()
        if anonymise:
            _shift(target, notes, out, lowest // 2048 * 2048)
    return requests.rows.count


def _add(writer: file.TraceWriter, requests: Assembler) -> int:
    chunk = requests.rows.take()
    writer.add(chunk)
    with_data = chunk["sector"][chunk["sectors"] > 0]
    return int(with_data.min(initial=1 << 62))


def _shift(source: Path, notes: Notes, out: Path, by: int) -> None:
    """The same requests, relative to the first MiB that was used."""
    writer = file.TraceWriter(out, notes)
    for chunk in file.read(source, Notes()):
        chunk["sector"] = np.where(chunk["sectors"] > 0, chunk["sector"] - by, 0)
        writer.add(chunk)
    writer.close()


def events(folder: Path, known: dict[int, ring.Layout]) -> Iterator[ring.Event]:
    """All events that were spooled there in the order of time, those of this process left out."""
    streams = [_events(path, known) for path in sorted(folder.iterdir())]
    own = os.getpid()
    return (event for event in heapq.merge(*streams, key=lambda event: event.time) if event.pid != own)


def _events(path: Path, known: dict[int, ring.Layout]) -> Iterator[ring.Event]:
    with path.open("rb") as pages:
        while page := pages.read(ring.PAGE):
            yield from ring.events(page, known)


def take(requests: Assembler, notes: Notes, event: ring.Event, device: int, anonymise: bool) -> None:
    """Books one event of the kernel's block trace point; events of other kinds change nothing."""
    when = requests.time(event.time)
    # A partition's bio carries the disk's sector already.
    sector, sectors, letters = event.sector, event.length, event.letters
    sector = 0 if sector >= NO_SECTOR else sector
    if event.event == "block_bio_complete":
        requests.complete_bio(when, device, sector, sectors, letters)
        return
    what = LETTERS.get(event.event, "")
    process = _process(notes, event, anonymise) if what and what in WITH_PROCESS else 0
    requests.take(what, when, device, sector, sectors, letters, process)


def _process(notes: Notes, event: ring.Event, anonymise: bool) -> int:
    if not event.pid:
        return 0
    name = event.comm.decode("utf-8", "replace") or "?"
    if not anonymise:
        return notes.process(f"{name}/{event.pid}")
    # What kind of thread it is decides what depends on it; whose it is does not.
    kind = "kernel" if name.startswith(("kworker", "jbd2", "kswapd", "md")) else "process"
    place = notes.alias(event.pid)
    return notes.process(f"{kind}-{place}")
