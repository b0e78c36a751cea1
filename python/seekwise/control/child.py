"""A load that cannot outlive its starter.

    with started(["fio", …], stdout=file) as load:
        load.wait()

On leaving, in whatever way, nothing that the load started runs any more. SIGKILL of Seekwise included: `supervise` says
how.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypedDict

from seekwise.control import interrupt, process
from seekwise.control.journal import Entry, Journal
from seekwise.errors import MissingError, SeekwiseError

MARK = "SEEKWISE_CHILD"
"""Environment variable that marks everything a load starts."""

_PF_KTHREAD = 0x00200000
"""Linux v6.12 include/linux/sched.h."""

_SUPERVISOR = Path(__file__).with_name("supervise.py")


@dataclass(frozen=True)
class Completed:
    """How a program ended: exit status, or minus the signal's number, and what it wrote if that was asked for."""

    returncode: int
    stdout: str
    stderr: str


class ChildProgram:
    """A running program. `pid` is the program's own, as seen from here."""

    def __init__(
        self, name: str, mark: str, entry: Entry | None, supervisor: subprocess.Popen[bytes], lifeline: int, report: int
    ) -> None:
        self.name = name
        self.mark = mark
        self._entry = entry
        self.pid: int | None = None
        self.returncode: int | None = None
        self.stdout = supervisor.stdout
        self.stderr = supervisor.stderr
        self._supervisor = supervisor
        self._lifeline: int | None = lifeline
        self._report = report
        self._text = b""

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit status (minus the number of a signal), or None if it still runs after `timeout_s`."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self.returncode is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._report], [], [], left)[0]:
                return None
            self._read_report()
        return self.returncode

    def poll(self) -> int | None:
        """Exit status (minus the number of a signal), or None while it runs; does not block."""
        return self.wait(0)

    def wait_until_started(self) -> None:
        """Returns when the program runs: what its supervisor needs before is none of its time."""
        while self.pid is None and self.returncode is None:
            self._read_report()

    def terminate(self, *, patient: bool = False) -> None:
        """Asks the program to end, and kills it if it does not within a grace period; `patient`: a minute, to write its
        logs."""
        if self.returncode is None and self._lifeline is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._lifeline, b"P" if patient else b"T")

    def kill(self) -> int:
        """Ends everything at once; returns when nothing is left."""
        if self._lifeline is not None:
            # A word before it closes: without one it would look as if we had died.
            with contextlib.suppress(BrokenPipeError):
                os.write(self._lifeline, b"K")
            os.close(self._lifeline)
            self._lifeline = None
        status = self.wait()
        assert status is not None
        return status

    def _read_report(self) -> None:
        data = os.read(self._report, 4096)
        self._text += data
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            word, number = line.split()
            if word == b"pid":
                self.pid = int(number)
            elif word == b"exit":
                self._ended(int(number))
            elif word == b"signal":
                self._ended(-int(number))
            elif word == b"failed":
                self._ended(127)
                error = os.strerror(int(number))
                raise MissingError(
                    f"`{self.name}` cannot be started ({error})", f"install {Path(self.name).name}, or check its path"
                )
        if not data and self.returncode is None:
            # The supervisor itself was killed; the kernel took the program with it. Make sure of the workers.
            kill_marked(self.mark)
            self._ended(-signal.SIGKILL)

    def _ended(self, returncode: int) -> None:
        self.returncode = returncode
        self._supervisor.wait()

    def _finish(self) -> None:
        with interrupt.held():
            try:
                if self.returncode is None:
                    with contextlib.suppress(MissingError):
                        self.kill()
            finally:
                if self._lifeline is not None:
                    os.close(self._lifeline)
                os.close(self._report)
                for stream in (self.stdout, self.stderr):
                    if stream is not None:
                        stream.close()
                if self._entry is not None and self.returncode is not None:
                    Journal().close(self._entry)


_Path = str | os.PathLike[str]


class _Streams(TypedDict):
    stdin: int | IO[Any]
    stdout: int | IO[Any]
    stderr: int | IO[Any]


@contextlib.contextmanager
def started(
    argv: Sequence[_Path],
    *,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
    cwd: _Path | None = None,
    env: Mapping[str, str] | None = None,
    cgroup_files: Sequence[Path] = (),
) -> Iterator[ChildProgram]:
    """Starts a program; everything it started is dead when the block is left.

    `cgroup_files`: `cgroup.procs` files that the program joins before it runs.
    """
    with interrupt.stoppable():
        load: ChildProgram | None = None
        try:
            with interrupt.held():
                load = _start(
                    [os.fspath(word) for word in argv],
                    _Streams(stdin=stdin, stdout=stdout, stderr=stderr),
                    cwd,
                    env,
                    cgroup_files,
                )
            yield load
        finally:
            if load is not None:
                load._finish()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """While inside, what this process has changed is restored at once if it is killed, also between two loads: the
    supervisor of a program that does nothing sees to it."""
    with started(("sleep", "infinity")):
        yield


def _start(
    argv: Sequence[str],
    streams: _Streams,
    cwd: _Path | None,
    env: Mapping[str, str] | None,
    cgroup_files: Sequence[Path],
) -> ChildProgram:
    mark = secrets.token_hex(8)
    # Where the kernel cannot promise that workers die with the supervisor, the next start looks for them.
    entry = None if _may_have_namespace() else Journal().open("child", [{"mark": mark, "program": argv[0]}])
    lifeline_read, lifeline_write = os.pipe2(os.O_CLOEXEC)
    report_read, report_write = os.pipe2(os.O_CLOEXEC)
    joined = ":".join(os.fspath(file) for file in cgroup_files) or "-"
    command = [
        sys.executable,
        "-I",
        "-S",
        os.fspath(_SUPERVISOR),
        str(lifeline_read),
        str(report_write),
        str(os.getpid()),
        joined,
        *argv,
    ]
    try:
        supervisor = subprocess.Popen(
            command,
            **streams,
            cwd=cwd,
            env={**(os.environ if env is None else env), MARK: mark},
            pass_fds=(lifeline_read, report_write),
            start_new_session=True,  # a Ctrl-C at the terminal is ours to handle, not the load's
        )
    except OSError as error:
        os.close(lifeline_write)
        os.close(report_read)
        if entry is not None:
            Journal().close(entry)
        raise SeekwiseError(f"`{argv[0]}` cannot be started ({error.strerror})") from error
    finally:
        os.close(lifeline_read)
        os.close(report_write)
    return ChildProgram(argv[0], mark, entry, supervisor, lifeline_write, report_read)


def run(
    argv: Sequence[_Path],
    *,
    timeout_s: float | None = None,
    cwd: _Path | None = None,
    env: Mapping[str, str] | None = None,
    cgroup_files: Sequence[Path] = (),
) -> Completed:
    """Runs a program to its end and returns what it wrote; after `timeout_s` it is killed and an error raised."""
    # Files, not pipes: a program that writes much cannot block, and orphans cannot hold a pipe open. In memory: a kill
    # leaves none.
    with _in_memory("out") as out, _in_memory("err") as err:
        with started(argv, stdout=out, stderr=err, cwd=cwd, env=env, cgroup_files=cgroup_files) as load:
            status = load.wait(timeout_s)
            if status is None:
                load.terminate()
                load.wait()
                raise SeekwiseError(f"`{load.name}` did not end within {timeout_s:g} s and was stopped")
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Completed(status, *texts)


def _in_memory(name: str) -> IO[bytes]:
    return os.fdopen(os.memfd_create(f"seekwise-{name}", os.MFD_CLOEXEC), "w+b")


def kill_marked(mark: str) -> int:
    """Kills every process that carries this mark; returns how many there were."""
    wanted = f"{MARK}={mark}".encode()
    killed = 0
    for _ in range(100):
        marked = [pid for pid in process.pids() if pid != os.getpid() and wanted in _environment(pid)]
        if not marked:
            return killed
        for pid in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.01)
    raise SeekwiseError("processes of a killed run do not end: they wait for their device")


def _may_have_namespace() -> bool:
    """CAP_SYS_ADMIN, bit 21 (Linux v6.12 include/uapi/linux/capability.h)."""
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> 21 & 1)


def _environment(pid: int) -> list[bytes]:
    """Empty for a process that is gone, a kernel thread, or one that may not be read.

    Between two programs (exec) a process has no environment for a moment, first without an end, then of no length
    (Linux v6.12 fs/exec.c, fs/binfmt_elf.c). It is looked at again, so that one with a mark is not overlooked; the
    second also looks like an environment that is empty for good, so that patience with it is short.
    """
    patience = 1000
    while True:
        try:
            data = Path(f"/proc/{pid}/environ").read_bytes()
            _, fields = process.stat(pid)
        except OSError:
            return []
        state, flags, start, end = fields[0], int(fields[6]), int(fields[47]), int(fields[48])
        if data or state in "ZX" or flags & _PF_KTHREAD or patience <= 0:
            return data.split(b"\0")
        patience -= 50 if start == end != 0 else 1
        time.sleep(0.001)
