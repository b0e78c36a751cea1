"""Programs run to their end under Seekwise's supervisor; one that fails ends the measurement with its last words."""

from __future__ import annotations

import os
from pathlib import Path

from seekwise.control import child

TIMEOUT_S = 240.0
ENVIRONMENT = {
    **os.environ,
    "LC_ALL": "C",
    "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
    "HOME": "/nonexistent",
}
"""No configuration of the user's is read: neither git's nor that of a database's client."""


def output_of(*words: str, cwd: Path | None = None) -> str:
    """Standard output and standard error of a program that must succeed."""
    done = child.run(words, timeout_s=TIMEOUT_S, cwd=cwd, env=ENVIRONMENT)
    if done.returncode != 0:
        raise SystemExit(f"`{' '.join(words)}` ended with {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    return done.stdout + done.stderr


def must(*words: str, cwd: Path | None = None) -> str:
    return output_of(*words, cwd=cwd)
