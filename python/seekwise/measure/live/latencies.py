"""Latencies of a load that is not ours, from the kernel's block events: for percentiles under `tune --live`.

Every request costs a few events, so at high rates only requests of some sectors are looked at: the kernel itself
filters by bits of the sector, which begin and end of a request share. So the sample is fair to short and long requests
alike.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seekwise.control import tracefs
from seekwise.errors import SeekwiseError
from seekwise.trace.record import ring
from seekwise.trace.record.recorder import device_of

SAMPLED_PER_S = 1000.0
"""Requests per second that are looked at: their events cost about 2 % of one processor here."""
FIRST_BIT = 7
"""Of the sector, 64 KiB: below it a sequential load would be all or nothing."""
BITS_MOST = 12
POLL_S = 0.05
FORGET_S = 120.0
"""A request whose end was not seen by then is forgotten."""
BEGINS = frozenset({"block_bio_queue", "block_rq_insert", "block_rq_issue"})
MERGES = frozenset({"block_bio_backmerge", "block_bio_frontmerge"})


@dataclass
class Sampler:
    """Collects until it is closed; `taken` empties it."""

    bits: int
    """So many bits of the sector must be zero: one in 2^bits requests is looked at."""
    _known: dict[int, ring.Layout]
    _sources: list[int]
    _instance: tracefs.Instance
    _disk: dict[int, int]
    """{number of a disk or partition: place of its disk}."""
    _pages: list[bytes] = field(default_factory=list)
    _begun: dict[tuple[int, int], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    def collect(self) -> None:
        """Moves pages out of the kernel's buffers; runs in a thread of its own."""
        while not self._ended.wait(POLL_S):
            self._drain()

    def _drain(self) -> None:
        with self._lock:
            for source in self._sources:
                with contextlib.suppress(BlockingIOError):
                    while page := os.read(source, ring.PAGE):
                        self._pages.append(page)
                        if ring.is_last(page):
                            break  # on a slow machine the next event comes while this one is read, without an end

    def taken(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(end in seconds since 1970, latency in ns) of the requests that ended since the last call, in the order of
        their ends."""
        self._drain()
        with self._lock:
            pages, self._pages = self._pages, []
        offset = time.time() - time.monotonic()
        events = sorted(
            (event for page in pages for event in ring.events(page, self._known)), key=lambda event: event.time
        )
        ends, waits = [], []
        for event in events:
            key = (self._disk.get(event.dev, -1), event.sector)
            if event.event in BEGINS:
                self._begun.setdefault(key, event.time)
            elif event.event in MERGES:
                # Its request begins elsewhere: that one is looked at, or not.
                self._begun.pop(key, None)
            elif event.event == "block_rq_complete":
                begun = self._begun.pop(key, None)
                if begun is not None:
                    ends.append(event.time / 1e9 + offset)
                    waits.append(float(event.time - begun))
        if events:
            oldest = events[-1].time - int(FORGET_S * 1e9)
            self._begun = {key: begun for key, begun in self._begun.items() if begun > oldest}
        return np.array(ends), np.array(waits)

    @property
    def dropped(self) -> int:
        """Events that the kernel's buffers had no room for; their requests are missing from the sample."""
        return self._instance.dropped()


def bits_for(requests_per_s: float) -> int:
    """Bits of the sector to filter by, so that about `SAMPLED_PER_S` requests are looked at."""
    if requests_per_s <= SAMPLED_PER_S:
        return 0
    return min(BITS_MOST, math.ceil(math.log2(requests_per_s / SAMPLED_PER_S)))


@contextlib.contextmanager
def sampled(leaves: tuple[str, ...], requests_per_s: float) -> Iterator[Sampler]:
    """Watches the requests of these drives. Raises SeekwiseError where the kernel offers no events."""
    devices = [device_of(name) for name in leaves]
    numbers = [number for device in devices for number in device.numbers]
    # As the kernel packs them (Linux v6.12 include/linux/kdev_t.h MKDEV).
    places = {major << 20 | minor: place for place, device in enumerate(devices) for major, minor in device.numbers}
    bits = bits_for(requests_per_s)
    with tracefs.instance(numbers, sector_mask=((1 << bits) - 1) << FIRST_BIT) as instance:
        sources = [os.open(cpu / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK) for cpu in instance.cpus()]
        sampler = Sampler(bits, ring.layouts(instance.formats()), sources, instance, places)
        thread = threading.Thread(target=sampler.collect, name="seekwise-events", daemon=True)
        try:
            instance.start()
            thread.start()
            yield sampler
        finally:
            sampler._ended.set()
            if thread.is_alive():
                thread.join(timeout=5)
            for source in sources:
                os.close(source)


def why_not() -> str | None:
    """Why percentiles cannot be had here, as a phrase; None where they can."""
    try:
        tracefs.root()
    except SeekwiseError as error:
        return f"{error.message}" + (f" ({error.hint})" if error.hint else "")
    return None
