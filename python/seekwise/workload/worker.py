"""One worker: runs units of its program one after the other for as long as it may, and logs each.

It is told by single bytes on a pipe: `g` run units until told to stop, a digit run that many, `s` stop after this unit,
`q` leave. It answers `ready`, `idle` when no unit is under way any more, `failed …` when a unit could not be done.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from seekwise.errors import reason
from seekwise.workload.log import LogWriter
from seekwise.workload.program import Place, Program


class Worker:
    """Runs in a process of its own, forked by the crew."""

    def __init__(
        self, program: Program, place: Place, think_s: float, log: Path, begin: int, say: Callable[[str], None]
    ) -> None:
        self.program = program
        self.place = place
        self.think_s = think_s
        self.log = LogWriter(log)
        self._told = begin
        self._say = say
        self._leaving = False

    def run(self) -> None:
        """Until it is told to leave, or nobody is left to tell it."""
        try:
            self.program.open(self.place)
            self._say("ready")
            while not self._leaving:
                word = os.read(self._told, 1)
                if word in (b"", b"q"):
                    break
                if word == b"s":
                    continue  # it came when the last unit was done
                self._units(int(word) if word.isdigit() else None)
                self._say("idle")
        except Exception as error:  # noqa: BLE001 - whatever a program raises ends the load, with its reason
            self._say("failed " + " ".join(why(error).split())[:300])
        finally:
            with contextlib.suppress(Exception):
                self.program.close(self.place)

    def _units(self, count: int | None) -> None:
        done = 0
        while count is None or done < count:
            self.program.before(self.place)
            if self._told_to_stop(0.0):
                return
            self._unit()
            done += 1
            # Pauses of people and clients have no rhythm.
            pause_s = self.place.random.expovariate(1 / self.think_s) if self.think_s else 0.0
            if done != count and pause_s and self._told_to_stop(pause_s):
                return

    def _unit(self) -> None:
        place = self.place
        began_clock, began = time.time(), time.monotonic()
        self.log.begun(began_clock)
        ran = _ran_s()
        moved = self.program.work(place)
        took = time.monotonic() - began
        busy = _ran_s() - ran
        waited = max(0.0, took - busy) / took if took > 0 else 0.0
        for end, lasted in moved if isinstance(moved, list) else ((began_clock + took, took),):
            size = moved if isinstance(moved, int) else 0
            self.log.ended(end, lasted, size, min(1.0, waited), place.cached_share)

    def _told_to_stop(self, wait_s: float) -> bool:
        """Whether a command to stop or to leave came within this time."""
        if not select.select([self._told], [], [], wait_s)[0]:
            return False
        word = os.read(self._told, 1)
        if word in (b"", b"q"):
            self._leaving = True
        return True


def why(error: Exception) -> str:
    """What ended a program, for a person: a type of Python's only where there is nothing else to say."""
    if isinstance(error, OSError | RuntimeError | sqlite3.Error):
        return reason(error)
    return f"{type(error).__name__}: {error}"


def _ran_s() -> float:
    """Seconds that this process and its children that ended have run, or wanted to and got no processor."""
    used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in used) + _queued_s()


def _queued_s() -> float:
    """Time on a run queue (Linux v6.12 Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat); of this process
    alone."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
