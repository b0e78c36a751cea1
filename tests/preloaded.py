"""`seekwise` in a process of its own that starts sooner: the fork of a Python that has loaded what is not ours.

    test ──words, folder, environment, streams──▶ server          click, numpy, pydantic …, nothing of Seekwise
         ◀──pid, exit status──────────────────── └─ supervisor    waits for
                                                     └─ command   which loads Seekwise, runs and ends like `python -m seekwise.cli.main`

Two thirds of a start are the libraries, the same each time, and the tests start the command many hundred times. What an interpreter
reads when it starts (PYTHON…, locale, LD_…) cannot change in a fork: a call that changes it, or the user, gets an ordinary start.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

MODULE = "seekwise.cli.main"
LIBRARIES = ("click", "jinja2", "numpy", "pydantic", "rich.console", "rich.live", "rich.progress", "rich.table",
             "sqlite3")  # fmt: skip
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "OPENBLAS_", "OMP_")
MESSAGE_BYTES_MAX = 1 << 20


def _read_at_start(environment: Mapping[str, str]) -> tuple[int, dict[str, str]]:
    return os.geteuid(), {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


def run(
    words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of `python -m seekwise.cli.main WORDS`, both streams captured as text; kills and raises TimeoutExpired."""
    folder = folder or Path.cwd()
    if not Server.of_this_process or not Server.of_this_process.alive:
        Server.of_this_process = Server()
    if Server.of_this_process.started_with == _read_at_start(environment):
        return Server.of_this_process.run(words, folder, environment, timeout_s)
    return subprocess.run(
        [sys.executable, "-m", MODULE, *words],
        capture_output=True, text=True, cwd=folder, env=environment, timeout=timeout_s, check=False,
    )  # fmt: skip


class Server:
    """The Python that has loaded the libraries. It ends when the socket to it is closed, so at the latest with the tests."""

    of_this_process: Server | None = None

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_BYTES_MAX)
        self.started_with = _read_at_start(os.environ)
        # Pipes although they stay empty: the interpreter checks at startup what its streams can do.
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with theirs:
            # It outlives the test that starts it, so it has neither that test's folder nor its names of folders.
            environment = {
                name: value for name, value in os.environ.items() if not name.startswith(("SEEKWISE_", "XDG_"))
            }
            words = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(words, pass_fds=[theirs.fileno()], env=environment, cwd="/", **pipes)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        order = json.dumps({"words": list(words), "folder": str(folder), "environment": dict(environment)}).encode()
        with ours, os.fdopen(out, "rb", 0) as out_file, os.fdopen(err, "rb", 0) as err_file:
            with theirs, os.fdopen(to_out, "wb", 0), os.fdopen(to_err, "wb", 0), open(os.devnull, "rb") as nothing:
                socket.send_fds(self._socket, [order], [nothing.fileno(), to_out, to_err, theirs.fileno()])
            pid = int(ours.recv(32))
            streams = {out_file: bytearray(), err_file: bytearray()}
            try:
                status = _collect(ours, streams, time.monotonic() + timeout_s)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(words), timeout_s, *map(bytes, streams.values())) from None
        return subprocess.CompletedProcess(list(words), status, *(_text(each) for each in streams.values()))


def _collect(ours: socket.socket, streams: dict[io.FileIO, bytearray], until: float) -> int:
    """Exit status, once the command has ended and its output is closed."""
    status = None
    with selectors.DefaultSelector() as open_ones:
        for each in (ours, *streams):
            open_ones.register(each, selectors.EVENT_READ)
        while open_ones.get_map():
            ready = open_ones.select(until - time.monotonic())
            if not ready and time.monotonic() >= until:
                raise TimeoutError
            for key, _ in ready:
                if key.fileobj is ours:
                    status = int(ours.recv(32))
                elif part := key.fileobj.read(1 << 16):
                    streams[key.fileobj] += part
                    continue
                open_ones.unregister(key.fileobj)
    return status


def _text(data: bytearray) -> str:
    return io.TextIOWrapper(io.BytesIO(data)).read()


def serve(orders: socket.socket) -> tuple[dict, list[int]] | None:
    """What to run, in the process that shall run it; None in the server when all is over."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    # Supervisors end by themselves.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        order, fds, _, _ = socket.recv_fds(orders, MESSAGE_BYTES_MAX, 4)
        if not order:
            return None
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            orders.close()
            pid = os.fork()
            if pid == 0:
                os.close(fds.pop())
                return json.loads(order), fds
            supervise(pid, fds)
        for fd in fds:
            os.close(fd)


def supervise(pid: int, fds: list[int]) -> None:
    """Tells the test of PID and of its end; does not come back."""
    *streams, answer = fds
    for fd in streams:
        os.close(fd)
    with socket.socket(fileno=answer) as test:
        test.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            test.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(order: dict, fds: list[int]) -> None:
    """Goes on as the command, to the interpreter's own end."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[0] = order["folder"]
    sys.argv = [MODULE, *order["words"]]
    runpy.run_module(MODULE, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        mine = serve(orders)
    if mine is not None:
        become(*mine)
