"""Which process, in which boot, on which machine: names that are never reused, unlike a pid."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    """`start_ticks`: field 22 of /proc/PID/stat (proc(5)); with pid and boot id it is unique."""

    pid: int
    start_ticks: int
    boot_id: str

    @property
    def alive(self) -> bool:
        """True while this very process runs; a zombie counts as dead, it restores nothing any more."""
        if self.boot_id != boot_id():
            return False
        state, start = _state_and_start(self.pid)
        return start == self.start_ticks and state not in ("Z", "X")

    @property
    def of_this_boot(self) -> bool:
        """False: the process ended with an earlier boot, whatever has its pid now."""
        return self.boot_id == boot_id()


def boot_id() -> str:
    """The kernel's identifier of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def machine() -> str:
    """Tells machines apart that share a home: the machine id (machine-id(5)) and the host's name."""
    return f"{_machine_id()} {platform.node()}"


def _machine_id() -> str:
    for file in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            if text := Path(file).read_text(errors="replace").strip():
                return text
        except OSError:
            continue
    return "-"


def pid_namespace() -> str:
    """Pids of another namespace mean other processes."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def proc_folder() -> str:
    """`/proc/PID` of this process as /proc counts: that may be another PID namespace than ours."""
    return f"/proc/{os.readlink('/proc/self')}"


def this_process() -> ProcessIdentity:
    """Identity of the running process."""
    pid = os.getpid()
    return ProcessIdentity(pid, _state_and_start(pid)[1] or 0, boot_id())


def pids(root: Path = Path("/")) -> list[int]:
    """Of all processes; each may end at any moment."""
    return [int(name) for name in os.listdir(root / "proc") if name.isdigit()]


def stat(pid: int, root: Path = Path("/")) -> tuple[str, list[str]]:
    """The name in /proc/PID/stat, and the fields after it: proc(5)'s third is the first. OSError once the process has
    ended."""
    # Anybody may give a process a name that is no UTF-8, and that holds spaces and parentheses.
    before, _, after = (root / f"proc/{pid}/stat").read_text(errors="replace").rpartition(")")
    return before.partition("(")[2], after.split()


def _state_and_start(pid: int) -> tuple[str, int | None]:
    try:
        _, fields = stat(pid)
    except OSError:
        return "", None
    return fields[0], int(fields[19])
