"""What the prober reads from: a block device of this machine. It reads and tells the time, nothing else."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from seekwise.errors import MissingError, SeekwiseError

SECTOR = 512
Times = list[tuple[int, int]]


class Probed(Protocol):
    """A drive that can be read; times in ns, of one clock."""

    capacity: int
    """Sectors of 512 bytes."""
    rate_max: float | None
    """Reads per second above which the way of asking is the limit, not the drive."""

    def reads(self, starts: Iterable[int], sectors: int) -> Times:
        """Reads one after the other; when each began and ended."""

    def reads_at_depth(self, starts: Sequence[int], sectors: int, depth: int) -> tuple[list[int], int]:
        """Latencies, and the time for all, with so many outstanding."""

    def wait(self, ns: int) -> None:
        """Lets time pass."""


class ProbedDevice:
    """A device of this machine, opened for reading only and past the page cache."""

    LARGEST = 4 << 20
    rate_max = 5000.0

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except PermissionError:
            if os.geteuid() == 0:
                raise MissingError(f"{path}: this machine lets not even root read it (a container?)") from None
            raise MissingError(f"{path}: reading it needs root", "run it with sudo") from None
        except OSError as error:
            raise SeekwiseError(f"{path}: cannot be read: {error.strerror}") from None
        self.capacity = os.lseek(self._fd, 0, os.SEEK_END) // SECTOR
        # Page-aligned, as O_DIRECT wants it.
        self._buffers = [mmap.mmap(-1, self.LARGEST)]

    def close(self) -> None:
        """No read may follow; nothing was changed on the device."""
        os.close(self._fd)

    def reads(self, starts: Iterable[int], sectors: int) -> Times:
        """By `preadv` with O_DIRECT; whole 4 KiB pieces around what is asked for. Raises SeekwiseError (exit status 1) naming a bad sector."""
        return [self._read(start, sectors, self._buffers[0]) for start in starts]

    def reads_at_depth(self, starts: Sequence[int], sectors: int, depth: int) -> tuple[list[int], int]:
        """A thread per outstanding read; latencies come thread by thread, not in the order of `starts`."""
        while len(self._buffers) < depth:
            self._buffers.append(mmap.mmap(-1, self.LARGEST))

        def worker(number: int) -> list[int]:
            times = [self._read(start, sectors, self._buffers[number]) for start in starts[number::depth]]
            return [done - began for began, done in times]

        began = time.monotonic_ns()
        with ThreadPoolExecutor(depth) as pool:
            latencies = [latency for part in pool.map(worker, range(depth)) for latency in part]
        return latencies, time.monotonic_ns() - began

    def wait(self, ns: int) -> None:
        """Sleeps, so that the drive's own time passes."""
        time.sleep(ns / 1e9)

    def _read(self, start: int, sectors: int, buffer: mmap.mmap) -> tuple[int, int]:
        # Whole physical sectors of 4 KiB: what is asked for lies inside.
        first = start * SECTOR // 4096 * 4096
        length = -(-(start * SECTOR + sectors * SECTOR - first) // 4096) * 4096
        with memoryview(buffer)[: min(length, self.LARGEST)] as view:
            began = time.monotonic_ns()
            try:
                os.preadv(self._fd, [view], first)
            except OSError as error:
                raise SeekwiseError(f"the device does not read sector {start}: {error.strerror}") from None
            return began, time.monotonic_ns()
