"""A revert ends every guard: whatever it was about to set is not set, and what it has set is restored.

A guard may be at any moment of its life. The mark is written first, its process is looked for then; the worker notes
its process first and looks for the mark then, before it sets anything. So either it sees the mark, or we see its
process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

from seekwise.control.process import ProcessIdentity
from seekwise.settings import guard_log
from seekwise.settings.guard import job

UNIT_PREFIX, UNIT_SUFFIX = "seekwise-guard-", ".service"
GENTLE_S = 10.0
"""How long a guard may take to restore what it has set, before it is killed and that is done for it."""
GONE_S = 30.0


@dataclass(frozen=True)
class Ended:
    """What became of a guard."""

    id: str
    devices: tuple[str, ...]
    sentence: str


def end_all(*, dry_run: bool = False) -> list[Ended]:
    """Ends every guard that has not decided."""
    ended = []
    for document in guard_log.undecided():
        identity = str(document["id"])
        devices = tuple(map(str, document.get("devices") or ()))
        was = str(document.get("outcome"))
        if dry_run:
            ended.append(Ended(identity, devices, f"guard of {', '.join(devices)} ({was}): ended"))
            continue
        how = end(identity, "ended by `seekwise revert`")
        ended.append(Ended(identity, devices, f"guard of {', '.join(devices)} ended ({was}): {how}"))
    return ended


def end(identity: str, why: str) -> str:
    """Ends this one; returns how it ended."""
    guard_log.mark_ended(identity, why)
    _end_process(identity)
    job.settle(identity, why)
    return str(job.job(identity).get("outcome"))


def unit_name(identity: str) -> str:
    """Name of the guard's systemd unit."""
    return f"{UNIT_PREFIX}{identity}{UNIT_SUFFIX}"


def _end_process(identity: str) -> None:
    """Returns when no process of this guard runs any more."""
    if os.path.isdir("/run/systemd/system") and os.geteuid() == 0 and (tool := shutil.which("systemctl")):
        subprocess.run([tool, "stop", unit_name(identity)], capture_output=True, check=False, timeout=GONE_S + GENTLE_S)
    process = guard_log.process_of(identity)
    if process is None or not process.alive:
        return
    for number, patience_s in ((signal.SIGTERM, GENTLE_S), (signal.SIGKILL, GONE_S)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
            # A stopped process does not receive the first signal.
            os.kill(process.pid, signal.SIGCONT)
        if _is_gone(process, patience_s):
            return


def _is_gone(process: ProcessIdentity, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while process.alive:
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
