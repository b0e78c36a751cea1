"""The data that programs work on, laid out once per run in a folder each: as large as room and time allow, never
changed by a worker.

Whatever is read cold is evicted before each unit, so that its size says how much a unit reads, not how much fits into
memory.
"""

from __future__ import annotations

import os
import sqlite3
import sysconfig
import tarfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from seekwise.errors import SeekwiseError, reason
from seekwise.workload import database, mariadb, postgres, python_tree
from seekwise.workload.program import DataBudget, Place, durable, synced

MIB = 2**20
PIECE_BYTES = 4 * MIB
PART_BYTES = 4 * MIB
PARTS_LEAST = 8
LARGE_EVERY = 80
"""Of the files of a file server: small ones have 29 KiB on average, large ones 4 MiB."""
ARCHIVE = "source.tar"
TEXT = "lines.txt"
LARGE_FILES = 4
LARGE_FILE_S = 0.4
LARGE_LEAST_BYTES = 16 * MIB
LARGE_MOST_BYTES = 256 * MIB
PROBE_BYTES = 64 * MIB
"""Written to learn how fast the device is: much less is over before it has its pace."""
SMALL_SIZES = ((4, 30), (8, 25), (16, 20), (32, 15), (128, 10))
"""(KiB, per cent): small files of a web site or a source tree."""
SMALL_PER_FOLDER = 50


@dataclass(frozen=True)
class DataSet:
    """`build` fills an empty folder and returns the bytes it took; everything is on the device when it ends."""

    name: str
    least_bytes: int
    most_bytes: int
    build: Callable[[Path, DataBudget], int]


def _large(folder: Path, share: DataBudget) -> int:
    """Files of random bytes, which nothing compresses or finds twice; each as large as the device writes in a
    moment."""
    least = min(LARGE_LEAST_BYTES, share.room_bytes // LARGE_FILES)
    probe = min(PROBE_BYTES, share.room_bytes // LARGE_FILES)
    began = time.monotonic()
    _write(folder / "first", probe)
    rate = probe / max(time.monotonic() - began, 1e-3)
    (folder / "first").unlink()
    left_s = max(0.0, share.end_s - time.monotonic())
    wanted = min(rate * LARGE_FILE_S, rate * left_s / LARGE_FILES, share.room_bytes / LARGE_FILES, LARGE_MOST_BYTES)
    size = max(least, int(wanted) // PIECE_BYTES * PIECE_BYTES)
    for number in range(LARGE_FILES):
        _write(folder / f"{number}", size)
    return LARGE_FILES * size


def _small(folder: Path, share: DataBudget) -> int:
    """Folders of small files in the order of their names, as an archive that was unpacked leaves them."""
    rng, written, number = Random(1), 0, 0
    sizes, weights = zip(*SMALL_SIZES, strict=True)
    noise = os.urandom(max(sizes) * 1024)
    while written < 16 * MIB or (written + 128 * 1024 <= share.room_bytes and not share.is_over):
        place = folder / f"{number // SMALL_PER_FOLDER:04}"
        place.mkdir(exist_ok=True)
        size = rng.choices(sizes, weights)[0] * 1024
        _write(place / f"{number:06}", size, noise, durable=False)
        written, number = written + size, number + 1
    synced(folder)
    return written


def _parts(folder: Path, share: DataBudget) -> int:
    """Files of a few MiB: pictures, documents."""
    number = 0
    while number < PARTS_LEAST or ((number + 1) * PART_BYTES <= share.room_bytes and not share.is_over):
        _write(folder / f"{number:03}", PART_BYTES)
        number += 1
    return number * PART_BYTES


def _source(folder: Path, share: DataBudget) -> int:
    """An archive of a source tree: modules of the Python that runs, as many as time allows."""
    library = Path(sysconfig.get_paths()["stdlib"])
    packages = ["json", "email", "http", "logging", "asyncio", "unittest", "xml", "importlib", "encodings", "ctypes"]
    names = sorted(str(path.relative_to(library)) for package in packages for path in (library / package).rglob("*.py"))
    with tarfile.open(folder / ARCHIVE, "x") as archive:
        for name in names:
            archive.add(library / name, arcname=f"source/{name}", recursive=False)
    durable(folder / ARCHIVE)
    return os.path.getsize(folder / ARCHIVE)


def _text(folder: Path, share: DataBudget) -> int:
    """Lines in no order."""
    rng, written = Random(1), 0
    with (folder / TEXT).open("x") as file:
        while written < 16 * MIB or (written < share.room_bytes and not share.is_over):
            lines = "".join(f"{rng.getrandbits(64):016x} {rng.getrandbits(256):064x}\n" for _ in range(5000))
            written += file.write(lines)
    durable(folder / TEXT)
    return written


def _write(path: Path, size: int, noise: bytes | None = None, *, durable: bool = True) -> None:
    piece = os.urandom(min(size, PIECE_BYTES)) if noise is None else noise
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        left = size
        while left > 0:
            left -= os.write(file, memoryview(piece)[: min(left, len(piece))])
        if durable:
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


DATA_SETS: dict[str, DataSet] = {
    row.name: row
    for row in (
        DataSet("large", LARGE_FILES * LARGE_LEAST_BYTES, LARGE_FILES * LARGE_MOST_BYTES, _large),
        DataSet("small", 16 * MIB, 192 * MIB, _small),
        DataSet("python", 256 * MIB, 256 * MIB, lambda folder, _: python_tree.build(folder)),
        DataSet("parts", PARTS_LEAST * PART_BYTES, 64 * PART_BYTES, _parts),
        DataSet("source", 16 * MIB, 16 * MIB, _source),
        DataSet("text", 16 * MIB, 64 * MIB, _text),
        DataSet("postgresql", 768 * MIB, 768 * MIB, lambda folder, _: postgres.build(folder)),
        DataSet("mariadb", 1024 * MIB, 1024 * MIB, lambda folder, _: mariadb.build(folder)),
        DataSet("sqlite", 32 * MIB, 512 * MIB, database.build),
    )
}


def next_large(place: Place) -> Path:
    """The large file that is a worker's turn. Workers of a job have files of their own where there are enough: none
    finds in memory what another one just read."""
    names = sorted((place.data / "large").iterdir())
    mine = names[place.number :: place.workers] or [names[place.number % len(names)]]
    return mine[place.turn % len(mine)]


def next_small(place: Place, count: int) -> list[Path]:
    """The folders of small files that are a worker's turn."""
    names = sorted((place.data / "small").iterdir())
    first = place.turn + place.number * len(names) // place.workers
    return [names[(first + number) % len(names)] for number in range(min(count, len(names)))]


def next_served(place: Place) -> Path:
    """The file that a file server's worker serves: one in so many is large, so that both kinds take about as many
    bytes."""
    if place.turn % LARGE_EVERY == LARGE_EVERY - 1:
        names = sorted((place.data / "parts").iterdir())[place.number :: place.workers]
        return names[place.turn // LARGE_EVERY % len(names)]
    names = small_files(place)
    return names[place.turn % len(names)]


def small_files(place: Place) -> list[Path]:
    """The small files of a worker, in the order of their names: none finds in memory what another one just read. Listed
    once per process."""
    return _listed(place.data / "small")[place.number :: place.workers]


@cache
def _listed(folder: Path) -> list[Path]:
    return files_in([folder])


def files_in(folders: Iterable[Path]) -> list[Path]:
    """Every file below these folders, in the order of their names."""
    paths = [Path(root) / name for folder in folders for root, _, names in os.walk(folder) for name in names]
    return sorted(paths)


def laid_out(name: str, data: Path, share: DataBudget) -> int:
    """Builds a data set below `data`; bytes that it took. Raises SeekwiseError when it cannot be made."""
    folder = data / name
    folder.mkdir(mode=0o700)
    try:
        return DATA_SETS[name].build(folder, share)
    except (OSError, sqlite3.Error) as error:
        raise SeekwiseError(f"the data for programs cannot be laid out: {reason(error)} ({name})") from error
