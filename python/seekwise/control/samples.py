"""Looks into the middle of a device: where file systems keep copies of their superblocks, and at samples spread over
all of it.

The two ends alone prove little: a wiped superblock leaves a whole file system behind. What is looked at is counted and
said, never more: a device that proves empty holds zeros *there*. Up to `WHOLE_BYTES` everything is read. Of a loop
device everything is read that its backing file holds (SEEK_DATA), up to the same amount; a hole is known to be zero.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import signatures

SAMPLES = 512
SAMPLE_BYTES = 4096
WHOLE_BYTES = 256 << 20
LONGEST_S = 10.0
"""Then fewer samples must do: a rotating drive answers some hundred of them in this time."""
GROUPS_MAX = 1 << 20


@dataclass(frozen=True)
class Looked:
    """`data_at`: offset of the first byte that is not zero; `sentence` says what was looked at."""

    data_at: int | None
    sentence: str


def look(descriptor: int, size_bytes: int, backing: Path | None = None) -> Looked:
    """Reads beyond the two windows of `signatures`. `backing`: the file below a loop device, read in its stead."""
    first, last = signatures.WINDOW_BYTES, size_bytes - signatures.WINDOW_BYTES
    if backing is not None:
        extents = _extents(backing, first, last)
        amount = sum(end - start for start, end in extents)
        if amount <= WHOLE_BYTES:
            place = _first_data(descriptor, ((start, end - start) for start, end in extents), None)[0]
            return Looked(place, f"the backing file holds {amount >> 10} KiB between the first and last MiB, all zero")
    if last - first <= WHOLE_BYTES:
        place, _ = _first_data(descriptor, [(first, last - first)], None)
        return Looked(place, "all of it zero")
    copies = [offset for offset in _superblock_copies(size_bytes) if first <= offset < last]
    stride = (last - first) // SAMPLES
    spread = [
        min(last - SAMPLE_BYTES, first + number * stride + secrets.randbelow(stride)) // SAMPLE_BYTES * SAMPLE_BYTES
        for number in range(SAMPLES)
    ]
    # In an order that covers the device evenly however early the time is up.
    secrets.SystemRandom().shuffle(spread)
    place, at_copies = _first_data(descriptor, [(offset, SAMPLE_BYTES) for offset in copies], LONGEST_S)
    if place is not None:
        return Looked(place, "")
    place, at_samples = _first_data(descriptor, [(offset, SAMPLE_BYTES) for offset in spread], LONGEST_S)
    return Looked(
        place,
        f"zero in {at_copies} places of copied superblocks and in {at_samples} samples of 4 KiB spread over "
        f"{size_bytes / 2**30:.4g} GiB",
    )


def _first_data(descriptor: int, places: Iterable[tuple[int, int]], longest_s: float | None) -> tuple[int | None, int]:
    """(offset of the first non-zero byte or None, places looked at)."""
    end, looked = time.monotonic() + (longest_s or 0), 0
    for offset, length in places:
        if longest_s is not None and looked and time.monotonic() > end:
            break
        stop = offset + length
        while offset < stop:
            part = os.pread(descriptor, min(1 << 20, stop - offset), offset)
            if not part:
                break
            if any(part):
                return offset + next(index for index, byte in enumerate(part) if byte), looked
            offset += len(part)
        looked += 1
    return None, looked


def _superblock_copies(size_bytes: int) -> Iterator[int]:
    """Offsets where ext2 to ext4 (ext4 disk layout: groups 1 and powers of 3, 5, 7), btrfs and XFS-like groups keep
    copies."""
    yield from (64 << 20, 256 << 30)  # btrfs-progs: mirrors at 64 MiB and 256 GiB
    yield (
        size_bytes // 2 // SAMPLE_BYTES * SAMPLE_BYTES
    )  # NTFS 3.x and XFS: about the middle; four groups, as mkfs.xfs makes them
    yield from (size_bytes // 4 * quarter // SAMPLE_BYTES * SAMPLE_BYTES for quarter in (1, 3))
    for block in (1024, 2048, 4096):
        group = 8 * block * block
        numbers = {1} | {base**power for base in (3, 5, 7) for power in range(1, 20)}
        yield from (
            (number * group) // SAMPLE_BYTES * SAMPLE_BYTES
            for number in sorted(numbers)
            if number < GROUPS_MAX and number * group < size_bytes
        )


def _extents(backing: Path, first: int, last: int) -> list[tuple[int, int]]:
    """Where a sparse file holds data, between two offsets. A filesystem without SEEK_DATA says: everywhere."""
    descriptor = os.open(backing, os.O_RDONLY | os.O_CLOEXEC)
    try:
        extents, position = [], first
        while position < last:
            try:
                start = os.lseek(descriptor, position, os.SEEK_DATA)
            except OSError:
                break  # ENXIO: only a hole until the end
            if start >= last:
                break
            end = min(last, os.lseek(descriptor, start, os.SEEK_HOLE))
            extents.append((start, end))
            position = end
        return extents
    finally:
        os.close(descriptor)
