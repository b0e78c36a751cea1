"""Recording several devices of one stack at once: requests of the drives, bios of md and device mapper above them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seekwise import temporary
from seekwise.control import interrupt, tracefs
from seekwise.trace.assemble import Assembler
from seekwise.trace.columns import CHUNK_ROWS, Notes
from seekwise.trace.record import recorder, ring

SPOOL_BYTES_MAX = 512 << 20
MINOR_BITS = 20
"""Of a device number in the kernel (include/linux/kdev_t.h)."""


@dataclass(frozen=True)
class StackRecording:
    """Requests by device name (`seekwise.trace.columns.REQUEST`)."""

    rows: dict[str, np.ndarray]
    seconds: float
    dropped: int
    """Events for which the kernel had no room."""
    processes: Sequence[str] = ()
    """Names by the number in `process` of the rows."""


def record(
    devices: Sequence[recorder.Device], seconds: float, tell: Callable[[float], None] = lambda _: None
) -> StackRecording:
    """Watches the devices for so long, or until interrupted; `tell` hears the seconds left. Raises MissingError without root or tracepoints."""
    numbers = [number for device in devices for number in device.numbers]
    names = tuple(dict.fromkeys((*tracefs.EVENTS, *tracefs.BIO_EVENTS)))
    with interrupt.stoppable(), temporary.private("record", recorder.spool_folder()) as folder:
        with tracefs.instance(numbers, events=names) as instance:
            known = ring.layouts(instance.formats())
            began_ns = time.monotonic_ns()  # the clock of the events, so their times count from here
            recorder.spool(instance, Path(folder), seconds, SPOOL_BYTES_MAX, tell=tell)
            lasted, dropped = (time.monotonic_ns() - began_ns) / 1e9, instance.dropped()
        notes = Notes()
        rows = _assembled(devices, Path(folder), known, began_ns, notes)
        return StackRecording(rows, lasted, dropped, notes.processes)


def _assembled(
    devices: Sequence[recorder.Device], folder: Path, known: dict[int, ring.Layout], began_ns: int, notes: Notes
) -> dict[str, np.ndarray]:
    by_number = {major << MINOR_BITS | minor: device for device in devices for major, minor in device.numbers}
    made = {device.name: Assembler(Notes()) for device in devices}
    for requests in made.values():
        requests.start = began_ns
    chunks: dict[str, list[np.ndarray]] = {device.name: [] for device in devices}
    for event in recorder.events(folder, known):
        device = by_number.get(event.dev)
        # A bio ends on a drive, too; there its request says when.
        if device is None or event.event not in device.events:
            continue
        requests = made[device.name]
        recorder.take(requests, notes, event, 0, anonymise=False)
        if len(requests.rows) >= CHUNK_ROWS:
            chunks[device.name].append(requests.rows.take())
    for name, requests in made.items():
        requests.finish()
        chunks[name].append(requests.rows.take())
    return {name: np.concatenate(parts) for name, parts in chunks.items()}
