"""Where Seekwise keeps what must survive a crash."""

from __future__ import annotations

import os
from pathlib import Path

from seekwise.errors import RefusedError


def state_folder() -> Path:
    """`$SEEKWISE_STATE`, else `/var/lib/seekwise` as root, else `$XDG_STATE_HOME/seekwise`.

    Root's folder is on the system disk and not in a home, so `sudo seekwise`, a root shell and a service find the
    same journal.
    """
    if chosen := os.environ.get("SEEKWISE_STATE"):
        return Path(chosen)
    if os.geteuid() == 0:
        return SYSTEM_STATE
    if home := os.environ.get("XDG_STATE_HOME"):
        return Path(home) / "seekwise"
    try:
        return Path.home() / ".local" / "state" / "seekwise"
    except RuntimeError:
        # A user without a home, as services have: a place that outlives a reboot, unlike /tmp.
        return Path("/var/tmp") / f"seekwise-{os.geteuid()}"


SYSTEM_STATE = Path("/var/lib/seekwise")
RUNTIME = Path("/run/seekwise")
JOURNAL, SUFFIX = "journal", ".entry"
"""The journal's folder below the state folder, and how the names of its entries end."""
TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
OWN_TRACEFS = RUNTIME / "tracing"
"""Where `tracefs` mounts it where nobody else has."""


def runtime_folder() -> Path:
    """Root's folder for locks, made with mode 0700; below the state folder where /run cannot be written. Raises
    OSError."""
    from seekwise import files

    for folder in (RUNTIME, SYSTEM_STATE / "run", state_folder() / "run"):
        try:
            files.make_private(folder)
            files.check_private(folder)
        except (OSError, RefusedError) as error:
            last = error
            continue
        return folder
    raise OSError(str(last))
