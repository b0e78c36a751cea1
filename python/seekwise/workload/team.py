"""The crew as the run sees it: started, commanded between switches, ended, and its logs read."""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seekwise.control import child
from seekwise.errors import SeekwiseError
from seekwise.workload import log

READY_S = 60.0
"""For workers to open what they work on; a database server may have to recover."""
QUIT_S = 3.0
"""For the units under way to end; what does not is killed."""
STARTER = "import sys; sys.path[:] = sys.argv.pop(1).split(':'); from seekwise.workload import crew; crew.main()"


@dataclass(frozen=True)
class Task:
    """A job of a use as the crew gets it."""

    name: str
    program: str
    parameters: dict[str, Any]
    workers: int
    think_s: float
    cgroup_files: tuple[str, ...] = ()


class Team:
    """A running crew."""

    def __init__(self, running: child.ChildProgram, line: socket.socket, errors: Path) -> None:
        self.failed: str | None = None
        self._running = running
        self._line = line
        self._text = b""
        self._errors = errors
        self._going: set[str] = set()
        self._ready = False

    def wait_ready(self) -> None:
        """Raises SeekwiseError (exit status 1) where a program cannot run, or not all are ready within a minute."""
        end = time.monotonic() + READY_S
        while not self._ready and self.failed is None:
            if time.monotonic() > end:
                raise SeekwiseError(f"the programs were not ready within {READY_S:g} s", hint="is the device stuck?")
            self.wait(end - time.monotonic())
        if self.failed is not None:
            raise SeekwiseError(f"a program cannot run: {self.failed}")

    def go(self, jobs: Sequence[str], count: int | None = None) -> None:
        """Units begin; `count`: so many per worker, then the job is idle by itself."""
        for name in jobs:
            self._going.add(name)
            self._say(f"go {name}" + (f" {min(count, 9)}" if count else ""))

    def stop(self, jobs: Sequence[str]) -> None:
        """No unit begins any more."""
        for name in jobs:
            self._say(f"stop {name}")

    def wait(self, seconds: float) -> None:
        """Hears what the crew says for this time; returns early when it failed."""
        end = time.monotonic() + seconds
        while self.failed is None:
            self._receive(max(0.0, end - time.monotonic()))
            if time.monotonic() >= end or self._ready and not self._going:
                return

    def wait_idle(self, jobs: Sequence[str], seconds: float) -> bool:
        """Whether none of these jobs has a unit under way any more within this time."""
        end = time.monotonic() + seconds
        while self.failed is None and self._going & set(jobs):
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._receive(left)
        return self.failed is None

    def _say(self, line: str) -> None:
        try:
            self._line.sendall(line.encode() + b"\n")
        except OSError:
            self.failed = self.failed or self._why()

    def _receive(self, seconds: float) -> None:
        if not select.select([self._line], [], [], seconds)[0]:
            return
        data = self._line.recv(4096)
        if not data:
            self.failed = self.failed or self._why()
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "ready":
                self._ready = True
            elif word == "idle":
                self._going.discard(rest)
            elif word == "failed":
                self.failed = self.failed or rest.removeprefix("- ")

    def _why(self) -> str:
        said = self._errors.read_text(errors="replace").split("\n") if self._errors.exists() else []
        return next((line for line in reversed(said) if line.strip()), "its processes were killed")[:300]


@contextmanager
def started(
    tasks: Sequence[Task], data: Path, own: Path, work: Path, seed: int, cgroup_files: Sequence[Path] = ()
) -> Iterator[Team]:
    """Workers of these jobs, idle. `data`: the laid-out data sets; `own`: their folder on the storage; `work`: a folder
    in memory."""
    for old in work.glob("*.units"):
        old.unlink()
    spec = {
        "data": str(data),
        "own": str(own),
        "logs": str(work),
        "seed": seed,
        "jobs": [asdict(task) for task in tasks],
    }
    file, errors = work / "crew.json", work / "crew.err"
    file.write_text(json.dumps(spec))
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-I", "-c", STARTER, ":".join(sys.path), str(file)]
    with (
        ours,
        theirs,
        errors.open("wb") as said,
        child.started(
            command, stdin=theirs.fileno(), stdout=said, stderr=said, cwd=work, cgroup_files=cgroup_files
        ) as running,
    ):
        theirs.close()
        team = Team(running, ours, errors)
        yield team
        team._say("quit")
        running.wait(QUIT_S)


def units(work: Path, task: Task, now_s: float) -> list[log.Units]:
    """What the workers of a job logged, one after the other."""
    return [log.read(work / f"{task.name}.{number}.units", now_s) for number in range(task.workers)]
