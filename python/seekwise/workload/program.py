"""What a program is to Seekwise: parameters, the data that it works on, and one unit of its work.

A unit is what somebody waits for: a program started, a transaction committed, a file copied. It is made of the calls that the real
program makes; where the program itself is there, it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


@dataclass
class Place:
    """Where a worker works. Paths lead through the run's own scratch folder."""

    data: Path
    """Folder of the data sets, each in a folder of its name. Several workers read it; what changes it belongs in `own`."""
    own: Path
    """Folder of this worker alone, on the same storage."""
    number: int
    """Of this worker among those of its job."""
    workers: int
    random: Random


class Program(BaseModel):
    """One program with its parameters, which a use gives as keys of its job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    title: ClassVar[str]
    """What it does, as a phrase: `starts Python with NumPy and SciPy, none of it in memory`."""
    unit: ClassVar[str]
    """What one unit is called: `start`, `transaction`."""
    reads: ClassVar[bool] = True
    writes: ClassVar[bool] = False
    long_units: ClassVar[bool] = False
    """A unit lasts as long as a period: it begins once the switch has settled, and periods hold equal numbers of units."""

    def data_sets(self) -> tuple[str, ...]:
        """Names of the data sets that it works on (`data.py`)."""
        return ()

    def missing(self) -> str | None:
        """Why it cannot run on this machine, as a phrase; None where it can."""
        return None

    def open(self, place: Place) -> None:
        """Once per worker, before its first unit: files opened, connections made. Not timed."""

    def before(self, place: Place) -> None:
        """Before each unit, not timed: eviction of what has to be cold."""

    def work(self, place: Place) -> int:
        """One unit; bytes that it moved."""
        raise NotImplementedError

    def close(self, place: Place) -> None:
        """Once at the end, when the worker is told to leave. A worker that is killed never gets here."""
