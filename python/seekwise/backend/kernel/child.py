"""Runs a program that must not outlive us: with its output collected, a time limit, and an end when we end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from pathlib import Path

from seekwise.errors import SeekwiseError

# Linux include/uapi/linux/prctl.h: PR_SET_PDEATHSIG.
PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(command: list[str], *, timeout_s: float, cwd: Path | None = None) -> tuple[int, str, str]:
    """(status, output, errors); a status below zero is the signal that ended it."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise SeekwiseError(f"{Path(command[0]).name} did not end within {timeout_s:.0f} s and was stopped") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return process.returncode, output.decode(errors="replace"), errors.decode(errors="replace")
