"""What a program is to Seekwise: parameters, the data that it works on, and one unit of its work.

A unit is what somebody waits for: a program started, a transaction committed, a file copied. It is made of the calls
that the real program makes; where the program itself is there, it runs.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

Age = Literal["young", "grown", "old"]
"""Of the processes that do the work. Young: each unit is a new process that ends within 3 s and 61 MB, which bfq favours;
grown: a new process that outlasts that; old: one that has worked for seconds."""


@dataclass(frozen=True)
class DataBudget:
    """What a data set may take. `end_s`: monotonic; past the least size nothing is added after it."""

    room_bytes: int
    end_s: float

    @property
    def is_over(self) -> bool:
        """Whether the time to lay it out has passed."""
        return time.monotonic() >= self.end_s


@dataclass
class Place:
    """Where a worker works. Paths lead through the run's own scratch folder."""

    data: Path
    """Folder of the data sets, each in a folder of its name. Several workers read it; what changes it belongs in
    `own`."""
    own: Path
    """Folder of this worker alone, on the same storage."""
    number: int
    """Of this worker among those of its job."""
    workers: int
    random: Random
    cached_share: float = 0.0
    """Of the data of the next unit, as `before` found it after eviction."""
    turn: int = 0
    """Units so far, where a program counts them."""
    service: Path | None = None
    memory: Path | None = None
    """Folder of this worker in memory, for what it writes that is no part of its work."""
    picked: Path | None = None
    """The file of the next unit, where `before` chooses it."""


class Program(BaseModel):
    """One program with its parameters, which a use gives as keys of its job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    title: ClassVar[str]
    """What it does, as a phrase: `starts Python with its libraries, none of it in memory`."""
    unit: ClassVar[str]
    """What one unit is called: `start`, `transaction`."""
    kind: ClassVar[str] = ""
    """Of programs that a unit stands for, of `judge/decision/kinds.toml`; empty: of none."""
    age: ClassVar[Age] = "old"
    reads: ClassVar[bool] = True
    writes: ClassVar[bool] = False
    long_units: ClassVar[bool] = False
    """A unit lasts as long as a period: it begins once the switch has settled, and periods hold equal numbers of
    units."""

    is_extra: ClassVar[bool] = False
    """Not every machine with Seekwise has it."""
    expected_s: ClassVar[float] = 0.0
    """Of a long unit, before one was seen: for planning alone."""
    data_sets: ClassVar[tuple[str, ...]] = ()
    """Names of the data sets that it works on (`data.py`)."""

    def missing(self) -> str | None:
        """Why it cannot run on this machine, as a phrase; None where it can."""
        return None

    def service(self, place: Place) -> AbstractContextManager[Path | None]:
        """What serves all workers of the job while they run, as a database server does; entered in the crew, before any
        worker.

        They find what it gives in `Place.service`.
        """
        return nullcontext()

    def open(self, place: Place) -> None:
        """Once per worker, before its first unit: files opened, connections made. Not timed."""

    def before(self, place: Place) -> None:
        """Before each unit, not timed: eviction of what has to be cold."""

    @abstractmethod
    def work(self, place: Place) -> int | list[tuple[float, float]]:
        """One unit; bytes that it moved. Or several at once: (end in seconds since 1970, duration in seconds) of
        each."""

    def close(self, place: Place) -> None:
        """Once at the end, when the worker is told to leave. A worker that is killed never gets here."""


def call(
    argv: Sequence[str | os.PathLike[str]], *, env: dict[str, str] | None = None, fine: Sequence[int] = (0,)
) -> None:
    """Runs a program to its end. Raises RuntimeError with what it said when its status is none of `fine`."""
    done = subprocess.run(
        argv, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    )
    if done.returncode not in fine:
        said = " ".join(done.stderr.decode(errors="replace").split())[-200:]
        raise RuntimeError(f"{Path(argv[0]).name} ended with status {done.returncode}: {said}")


def durable(path: Path) -> None:
    """Returns when a file is on the device."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def durable_together(paths: Sequence[Path]) -> None:
    """Returns when all of these files are on the device. Writing them begins with all before any is waited for, as dpkg
    does it."""
    for path in paths:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        # Begins to write what is dirty and waits for nothing (Linux v6.12 mm/fadvise.c).
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
    for path in paths:
        durable(path)


def synced(folder: Path) -> None:
    """Returns when everything on the file system of a folder is on the device: many files at once, in the order that
    suits it."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(file) != 0:
            os.sync()
    finally:
        os.close(file)
