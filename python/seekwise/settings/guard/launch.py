"""Starts a guard that survives logout: a transient systemd unit where systemd runs, else a process in a session of its
own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from seekwise.control.state import state_folder
from seekwise.errors import SeekwiseError
from seekwise.settings.guard.ending import unit_name

GUARD = "seekwise.settings.guard.worker"
CONFIRM = "seekwise.settings.guard.confirm"


def start(identity: str, module: str = GUARD) -> tuple[str, int | None]:
    """How it runs, in words, and its process id where we know it."""
    if Path("/run/systemd/system").is_dir() and (run := shutil.which("systemd-run")) and os.geteuid() == 0:
        return _as_unit(run, identity, module), None
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, identity],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env={**os.environ, "SEEKWISE_STATE": str(state_folder().absolute())},
    )
    return f"process {process.pid}", process.pid


def _as_unit(run: str, identity: str, module: str) -> str:
    name = unit_name(identity)
    worker = f"{sys.executable} -P -m {module}"
    environment = [f"--setenv=SEEKWISE_STATE={state_folder().absolute()}"]
    if path := os.environ.get("PYTHONPATH"):
        environment.append(f"--setenv=PYTHONPATH={path}")
    command = [
        run,
        f"--unit={name}",
        "--collect",
        "--quiet",
        "--description=Seekwise keeps new I/O settings, or goes back",
        # Also after SIGKILL or an out-of-memory kill: undecided means back.
        f"--property=ExecStopPost={worker} --settle {identity}",
        *environment,
        *worker.split(),
        identity,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SeekwiseError(f"systemd did not start the guard: {done.stderr.strip()}")
    return f"unit {name}"


def is_running(identity: str, pid: int | None) -> bool:
    """Whether the guard still watches: by its process where it is our child, else by its systemd unit."""
    if pid is not None:
        try:
            done, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return Path(f"/proc/{pid}").exists()
        return done == 0
    shown = subprocess.run(["systemctl", "is-active", "--quiet", unit_name(identity)], check=False)
    return shown.returncode == 0
