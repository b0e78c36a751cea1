"""Notifies the running systemd of units that were installed or are about to be removed.

Does nothing for a root other than `/`, or where systemd is not running.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from seekwise.settings.system.units import RESTORE, STATUS, TIMER

RUNNING = Path("/run/systemd/system")
STAMP = f"var/lib/systemd/timers/stamp-{TIMER}"
"""systemd remembers here when a timer with `Persistent=` last acted."""


def before_removal(root: Path) -> None:
    """Stops the timer, if there is one, while its unit is still known."""
    if _program(root) is not None:
        _call(root, "stop", TIMER)


def after_removal(root: Path) -> None:
    """Nothing of the units is left: not in systemd's memory, and not its note of when the timer last acted."""
    if _program(root) is not None:
        _call(root, "daemon-reload")
        for unit in (TIMER, STATUS, RESTORE):
            # One that failed stays listed as failed after its file has gone.
            _call(root, "reset-failed", unit)
    (root / STAMP).unlink(missing_ok=True)


def after_install(root: Path, weekly: bool) -> str | None:
    """Loads the new units and starts the timer. Returns a note if systemd refused."""
    if _program(root) is None:
        return None
    problem = _call(root, "daemon-reload")
    if problem is None and weekly:
        problem = _call(root, "start", TIMER)
    return problem and f"note: {problem}"


def _program(root: Path) -> str | None:
    return shutil.which("systemctl") if root == Path("/") and RUNNING.is_dir() else None


def _call(root: Path, *words: str) -> str | None:
    done = subprocess.run(
        [str(_program(root)), "--no-ask-password", *words], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else f"systemctl {' '.join(words)} failed: {done.stderr.strip()}"
