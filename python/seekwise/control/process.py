"""Which process, in which boot: names that are never reused, unlike a pid."""

from __future__ import annotations

import os
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
        return self.boot_id == boot_id()


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def this_process() -> ProcessIdentity:
    pid = os.getpid()
    return ProcessIdentity(pid, _state_and_start(pid)[1] or 0, boot_id())


def _state_and_start(pid: int) -> tuple[str, int | None]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", None
    # The name in parentheses may itself hold spaces and parentheses: count fields after the last one.
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])
