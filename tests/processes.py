"""Processes that a test left behind: a killed run is restored by one that outlives it, and its device may by then be another test's."""

import contextlib
import os
import time
from pathlib import Path

ENDED_S = 30.0


def _names(process: Path, folder: Path) -> bool:
    """In its words, its environment, as its current folder or among its open files."""
    sought = os.fsencode(folder)
    if any(sought in (process / name).read_bytes() for name in ("cmdline", "environ")):
        return True
    return any(
        Path(os.readlink(link)).is_relative_to(folder) for link in (process / "cwd", *(process / "fd").iterdir())
    )


def naming(folder: Path) -> list[int]:
    """All but this one that name a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(process.name) != os.getpid() and _names(process, folder):
                found.append(int(process.name))
    return found


def wait_for_those_of(folder: Path) -> None:
    """Until all that name a folder have ended; RuntimeError after half a minute."""
    end = time.monotonic() + ENDED_S
    while left := naming(folder):
        if time.monotonic() > end:
            raise RuntimeError(f"processes {left} of a test outlive it by {ENDED_S:.0f} s")
        time.sleep(0.05)
