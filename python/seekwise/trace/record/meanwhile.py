"""Recording beside something else: pages are spooled by a thread of its own, the requests are had afterwards."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seekwise import temporary
from seekwise.control import tracefs
from seekwise.trace.assemble import Assembler
from seekwise.trace.columns import CHUNK_ROWS, REQUEST, Notes
from seekwise.trace.record import recorder, ring

SECONDS_MAX = 120.0
SPOOL_BYTES_MAX = 256 << 20


@dataclass
class LoadRecording:
    """Requests of the devices; empty until the recording has ended."""

    rows: np.ndarray = field(default_factory=lambda: np.empty(0, REQUEST))
    """Of `seekwise.trace.columns.REQUEST`; `device` is the place in the list that was asked for."""
    start_ns: int = 0
    """CLOCK_MONOTONIC at the first event: the zero of all times in `rows`."""
    dropped: int = 0
    """Events for which the kernel had no room."""


@contextlib.contextmanager
def recording(device: recorder.Device) -> Iterator[LoadRecording]:
    """Records a disk while the body runs. Raises MissingError where the kernel offers no block trace events, before the
    body runs.

    The instance is our own and is gone afterwards, whatever ends the body.
    """
    load = LoadRecording()
    ended = threading.Event()
    with temporary.private("record", recorder.spool_folder()) as folder:
        with tracefs.instance(list(device.numbers), events=device.events) as instance:
            known = ring.layouts(instance.formats())

            def spooled() -> None:
                # A spool that ends early has fewer requests, and the body goes on.
                with contextlib.suppress(OSError):
                    recorder.spool(instance, Path(folder), SECONDS_MAX, SPOOL_BYTES_MAX, ended)

            spooling = threading.Thread(target=spooled, daemon=True)
            spooling.start()
            try:
                yield load
            finally:
                ended.set()
                spooling.join()
            load.dropped = instance.dropped()
        notes = Notes()
        requests = Assembler(notes)
        chunks = []
        for event in recorder.events(Path(folder), known):
            recorder.take(requests, notes, event, 0, anonymise=False)
            if len(requests.rows) >= CHUNK_ROWS:
                chunks.append(requests.rows.take())
        requests.finish()
        chunks.append(requests.rows.take())
        load.rows, load.start_ns = np.concatenate(chunks), requests.start or 0
