"""The host's processor that a guest runs on: one for all of qemu's threads, the one that serves devices first.

Found here by comparing reruns: on two processors about one run in ten drifted by some nanoseconds and then by whole
requests; on one it did not happen again (24 of 24). The likely cause, read from the source and fitting the drift, but
not traced: while the guest's processor goes to sleep, qemu counts what it last executed a moment after it says that it
sleeps, and its main thread, which skips the idle time, may look in between from another processor and skip from a clock
that is behind. On one processor it can look only when the guest's thread has been taken off it, and as the main thread
goes first, that would be where it was woken: always the same place. (QEMU 7.2, `-icount sleep=off`;
accel/tcg/icount-common.c and target/i386/tcg/misc_helper.c.)
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import time
from collections.abc import Collection
from pathlib import Path

LOOK_S = 0.1
"""How long to look at which processor is idle; a boot takes 80 times as long."""


def idlest(taken: Collection[int] = ()) -> int:
    """The processor that we may use which did least in the last moment; one of `taken` only when there is no other."""
    allowed = os.sched_getaffinity(0)
    free = allowed - set(taken) or allowed
    if len(free) == 1:
        return min(free)
    before = _idle_ticks()
    time.sleep(LOOK_S)
    after = _idle_ticks()
    return max(sorted(free), key=lambda number: after.get(number, 0) - before.get(number, 0))


def only_on(processor: int) -> list[str]:
    """The words before a command that keep it on one processor, its first thread ahead of those that it starts."""
    return [*_first_thread_ahead(), "taskset", "-c", str(processor)]


@functools.cache
def _first_thread_ahead() -> tuple[str, ...]:
    # The class is not inherited (-R): only the main thread, which works for microseconds, is ahead of everything.
    words = ("chrt", "-R", "-f", "1")
    chrt, true = shutil.which("chrt"), shutil.which("true")
    if chrt is None or true is None or subprocess.run([*words, true], capture_output=True, check=False).returncode:
        # Not allowed, as for most who are not root. A thread that slept goes first with ordinary priorities too, nearly
        # always.
        return ()
    return words


def _idle_ticks() -> dict[int, int]:
    """Linux Documentation/filesystems/proc.rst, /proc/stat: the fourth and fifth numbers are idle and waiting for
    I/O."""
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return {int(row[0][3:]): int(row[4]) + int(row[5]) for row in rows if row[0].startswith("cpu") and row[0] != "cpu"}
