"""A private database server in the scratch folder: nobody else's databases are ever reached.

The server has a folder, a socket and a namespace of its own, no network, and runs as the user `nobody`, so that the
kernel keeps it out of the data of any other server. The scratch folder is closed to that user: within a mount namespace
of the crew the server's folder is bound to a path that this user can walk to. Shared memory lies in an IPC namespace,
and in a /dev/shm of the same mount namespace, so that all of it ends with its processes, however they end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from seekwise.control import child
from seekwise.errors import SeekwiseError
from seekwise.temporary import SHARED_MEMORY

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
"""Linux v6.12 include/uapi/linux/sched.h."""
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
"""Linux v6.12 include/uapi/linux/mount.h."""
_LIBC = ctypes.CDLL(None, use_errno=True)
START_S = 60.0
STOP_S = 12.0
BUILD_S = 180.0
SEEN_AT = ("/mnt", "/media", "/srv", "/opt")
"""Where the server's folder is seen within the namespace; nothing outside it changes."""
BUILDER = (
    "import sys; sys.path[:] = sys.argv.pop(1).split(':'); from seekwise.workload import {module}; {module}.main()"
)


def build(module: str, folder: Path, name: str, use: str) -> int:
    """Lets `main` of a module fill a folder, in a process that is supervised; its bytes. `use`: the one to leave out
    when this fails."""
    command = [sys.executable, "-I", "-c", BUILDER.format(module=module), ":".join(sys.path), str(folder)]
    done = child.run(command, timeout_s=BUILD_S)
    if done.returncode:
        said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        raise SeekwiseError(
            f"{name} cannot be set up in the scratch folder: {said[:200]}", hint=f"leave the use `{use}` out"
        )
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def data_folder(folder: Path, name: str) -> Path:
    """In the supervised process: an empty folder that belongs to the server's user, as that user sees it."""
    (folder / name).mkdir(mode=0o700)
    user = _user()
    if user:
        os.chown(folder / name, *user)
        os.chown(folder, *user)
    return path_for_user(folder)


def path_for_user(folder: Path) -> Path:
    """The path under which the server's user sees a folder. As root in a namespace that this process enters; else the
    folder itself."""
    if os.geteuid() != 0:
        return folder
    place = next((mount_point for mount_point in SEEN_AT if os.path.isdir(mount_point)), None)
    if place is None:
        raise OSError(0, f"none of {', '.join(SEEN_AT)} is there")

    def checked(result: int, what: str) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

    real = os.path.realpath(folder)
    checked(_LIBC.unshare(CLONE_NEWNS | CLONE_NEWIPC), "unshare")
    # What is unmounted outside goes here, too: a private copy would keep the user's other devices busy as long as the
    # server runs.
    checked(_LIBC.mount(None, b"/", None, MS_REC | MS_SLAVE, None), "mount namespace")
    checked(_LIBC.mount(real.encode(), place.encode(), None, MS_BIND, None), "bind mount")
    # Ours is read and written through descriptors (`HeldFolder`), which lead to the one outside.
    checked(_LIBC.mount(b"tmpfs", os.fsencode(SHARED_MEMORY), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777"), "/dev/shm")
    return Path(place)


@contextlib.contextmanager
def served(
    command: Sequence[str], log: Path, name: str, is_ready: Callable[[], bool], stop: signal.Signals
) -> Iterator[None]:
    """A server that runs and answers. `log`: where its messages go; `stop`: what ends it in order."""
    with (
        log.open("ab") as said,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", env=environment(),
                         **identity()) as server,
    ):  # fmt: skip
        try:
            _wait(server, log, name, is_ready)
            yield
        finally:
            server.send_signal(stop)
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(server: subprocess.Popen[bytes], log: Path, name: str, is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + START_S
    while not is_ready():
        if server.poll() is not None or time.monotonic() > end:
            said = log.read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"{name} does not start: {said[-1] if said else 'no reason given'}")
        time.sleep(0.05)


def _user() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def identity() -> dict[str, Any]:
    """Arguments of `Popen` that give root's rights away; without root, those that keep the server's shared memory
    apart, where the kernel lets us."""
    user = _user()
    if user:
        return {"user": user[0], "group": user[1], "extra_groups": []}
    return {"preexec_fn": _set_apart} if _can_be_apart() else {}


def _set_apart() -> None:
    """In a child that is about to become the server of a user without root: namespaces of its own for shared memory.
    Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    if _LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    # user_namespaces(7): groups can be mapped by a user without root only once he has given up changing them.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    if _LIBC.mount(b"tmpfs", os.fsencode(SHARED_MEMORY), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777") != 0:
        raise OSError(ctypes.get_errno(), "mount")


@cache
def _can_be_apart() -> bool:
    """Tried in a process that then ends: half-way, there is no way back."""
    if (pid := os.fork()) == 0:
        try:
            _set_apart()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def environment() -> dict[str, str]:
    """None of the user's: no variable leads to another server. The program's own say whose run a process belongs to."""
    ours = {name: value for name, value in os.environ.items() if name.startswith("SEEKWISE_")}
    return {
        **ours,
        "PATH": "/usr/bin:/bin:/usr/sbin",
        "LC_ALL": "C",
        "PGPASSFILE": "/dev/null",
        "PGSERVICEFILE": "/dev/null",
    }


def run(argv: Sequence[str], *, check: bool = True, as_server: bool = False) -> int:
    """Runs a program of the server's to its end; its status. Raises SystemExit with its last words when `check`."""
    done = subprocess.run(
        argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), cwd="/",
        **(identity() if as_server else {}),
    )  # fmt: skip
    if check and done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise SystemExit(f"{Path(argv[0]).name} ended with status {done.returncode}: {said}")
    return done.returncode
