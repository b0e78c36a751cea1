"""The process that runs the workers of a use. It is supervised like any load, and all that it starts dies with it.

    run ──socket (standard input)──▶ crew ──pipe──▶ worker ──▶ cp, python3, …
                                          ──pipe──▶ worker …

Commands are lines: `go JOB`, `go JOB COUNT`, `stop JOB`, `quit`. It says `ready` when every worker is, `idle JOB` when
no worker of the job has a unit under way, `failed JOB WHY` when one cannot go on.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import select
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seekwise.workload import programs
from seekwise.workload.program import Place, Program
from seekwise.workload.worker import Worker, why

PR_SET_PDEATHSIG = 1
"""Linux v6.12 include/uapi/linux/prctl.h."""
QUIT_S = 10.0
"""For the workers to end their units when they are told to leave."""


@dataclass
class Member:
    """A worker as the crew sees it."""

    job: str
    pid: int
    tell: int
    replies: int
    state: str = "starting"
    text: bytes = b""


@dataclass
class Crew:
    spec: dict[str, Any]
    members: list[Member] = field(default_factory=list)

    def run(self) -> None:
        """Starts services, then a process per worker; obeys commands on file descriptor 0 until it is closed or says to
        leave."""
        with contextlib.ExitStack() as services:
            for number, job in enumerate(self.spec["jobs"]):
                program = programs.program_named(job["program"], job["parameters"])
                service = services.enter_context(program.service(self._place(job, number, 0)))
                for worker in range(job["workers"]):
                    self._fork(job, program, number, worker, service)
            while self._one_step():
                pass
            self._leave()

    def _place(self, job: dict[str, Any], number: int, worker: int) -> Place:
        own = Path(self.spec["own"]) / f"{job['name']}.{worker}"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        seed = self.spec["seed"] * 1000 + number * 100 + worker
        return Place(Path(self.spec["data"]), own, worker, job["workers"], random.Random(seed))

    def _fork(self, job: dict[str, Any], program: Program, number: int, worker: int, service: Path | None) -> None:
        place = self._place(job, number, worker)
        place.service, place.memory = service, Path(self.spec["logs"])
        begin, tell = os.pipe2(os.O_CLOEXEC)
        replies, say = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                for inherited in (
                    tell,
                    replies,
                    0,
                    *(end for member in self.members for end in (member.tell, member.replies)),
                ):
                    os.close(inherited)
                for file in job["cgroup_files"]:
                    Path(file).write_text("0\n")  # 0 means the writer
                log = Path(self.spec["logs"]) / f"{job['name']}.{worker}.units"
                lines = Worker(program, place, job["think_s"], log, begin, lambda word: _write(say, word))
                lines.run()
            finally:
                os._exit(0)
        os.close(begin)
        os.close(say)
        self.members.append(Member(job["name"], pid, tell, replies))

    def _one_step(self) -> bool:
        ready = select.select([0, *(member.replies for member in self.members)], [], [])[0]
        for member in [member for member in self.members if member.replies in ready]:
            self._receive(member)
        return 0 not in ready or self._obey(os.read(0, 4096))

    def _receive(self, member: Member) -> None:
        data = os.read(member.replies, 4096)
        if not data:
            self._gone(member)
            return
        *lines, member.text = (member.text + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            was, member.state = member.state, word
            if word == "failed":
                _write(0, f"failed {member.job} {rest}")
            elif word == "ready" and all(other.state != "starting" for other in self.members):
                _write(0, "ready")
            elif word == "idle" and was == "going" and not self._going(member.job):
                _write(0, f"idle {member.job}")

    def _gone(self, member: Member) -> None:
        self.members.remove(member)
        os.close(member.replies)
        os.close(member.tell)
        status = os.waitpid(member.pid, 0)[1]
        if member.state != "failed":
            _write(0, f"failed {member.job} a worker was killed ({_signal(status)})")

    def _going(self, job: str) -> bool:
        return any(member.job == job and member.state == "going" for member in self.members)

    def _obey(self, data: bytes) -> bool:
        """False when it is told to leave, or nobody is left to tell it."""
        for line in data.decode().splitlines():
            command, *words = line.split()
            if command == "quit":
                return False
            mine = [own for own in self.members if own.job == words[0]]
            for member in mine:
                if command == "go":
                    member.state = "going"
                with contextlib.suppress(BrokenPipeError):
                    os.write(member.tell, b"s" if command == "stop" else (words[1] if words[1:] else "g").encode())
        return bool(data)

    def _leave(self) -> None:
        for member in self.members:
            with contextlib.suppress(BrokenPipeError):
                os.write(member.tell, b"q")
        left = {member.replies for member in self.members}
        while left:
            ready = select.select(list(left), [], [], QUIT_S)[0]
            if not ready:
                return  # the supervisor kills what is left
            left -= {waiting for waiting in ready if not os.read(waiting, 4096)}


def _signal(status: int) -> str:
    """SIGBUS: a file in memory had no room for a page, or the disk could not be read."""
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return signal.Signals(number).name if number else f"status {os.waitstatus_to_exitcode(status)}"


def _write(file: int, line: str) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        os.write(file, line.encode() + b"\n")


def main() -> None:
    """`crew.py SPEC`: a file with the jobs, their places and logs."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    try:
        Crew(spec).run()
    except Exception as error:
        _write(0, "failed - " + " ".join(why(error).split())[:300])
        raise
