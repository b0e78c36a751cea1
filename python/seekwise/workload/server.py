"""A private database server in the scratch folder: nobody else's databases are ever reached.

The server has a folder, a socket and a namespace of its own and no network. Root runs it, and its clients, as a user that
no other process has and that is in no list of users: whoever shares a user with a server may trace it, take its open
files and reach its folder through /proc. Root opens, changes and removes nothing by path in that folder. The scratch
folder is closed to that user: within a mount namespace of the crew the server's folder is bound to a path that this user
can walk to. Shared memory lies in an IPC namespace, and in a /dev/shm of the same mount namespace, so that all of it ends
with its processes, however they end.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import pwd
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from seekwise.control import child, process
from seekwise.errors import FULL, SeekwiseError, reason
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
FREE_USERS = ((0x70000000, 0x7FFDFFFF), (60706, 61183))
"""Numbers that nobody gives to users, containers or services (systemd's docs/UIDS-GIDS.md, "Summary"): the large range,
and the small one for a user namespace that maps 65,536."""
OUTPUT_MOST_BYTES = 16 << 20
LOG_MOST_BYTES = 1 << 20
_taken: set[str] = set()
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
            f"{name} cannot be set up in the scratch folder: {said.removeprefix('RuntimeError: ')[:200]}",
            hint=f"leave the use `{use}` out",
        )
    return sum(
        os.stat(each, dir_fd=at, follow_symlinks=False).st_size
        for _, _, names, at in os.fwalk(folder)
        for each in names
    )


def own_folder(folder: Path) -> Path:
    """In the supervised process: gives an empty folder to a user of its own; the folder as that user sees it."""
    if os.geteuid() == 0:
        user = _free_user()
        os.chown(folder, user, user)
    place = path_for_user(folder)
    if os.geteuid() == 0:
        _make_known(os.stat(place).st_uid)
    return place


def _free_user() -> int:
    """A user that no list has, no process is, and that this user namespace maps. Raises RuntimeError."""
    mapped = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    in_use = {user for pid in process.pids() for user in _users_of(pid)}
    for first, last in FREE_USERS:
        for inside, _, count in mapped:
            low, high = max(first, inside), min(last, inside + count - 1)
            for _ in range(100 if low <= high else 0):
                user = random.SystemRandom().randint(low, high)
                if user not in in_use and not _is_listed(user):
                    return user
    raise RuntimeError("this user namespace has no free user for the server")


def _users_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith(("Uid:", "Gid:")):
                return [int(word) for word in line.split()[1:]]
    return []


def _is_listed(user: int) -> bool:
    try:
        return bool(pwd.getpwuid(user))
    except KeyError:
        return False


def _make_known(user: int) -> None:
    """In this mount namespace the user has a name, without which `initdb` does not start."""
    listed = Path(SHARED_MEMORY) / "passwd"
    listed.write_text(f"{Path('/etc/passwd').read_text().rstrip()}\nseekwise-server:x:{user}:{user}::/:/bin/false\n")
    os.chmod(listed, 0o644)
    _checked(_LIBC.mount(os.fsencode(listed), b"/etc/passwd", None, MS_BIND, None), "/etc/passwd")
    listed.unlink()


def path_for_user(folder: Path) -> Path:
    """The path under which the server's user sees a folder. As root in a namespace that this process enters; else the
    folder itself."""
    if os.geteuid() != 0:
        return folder
    place = next((each for each in SEEN_AT if os.path.isdir(each) and each not in _taken), None)
    if place is None:
        raise RuntimeError(f"none of {', '.join(SEEN_AT)} is there")
    _taken.add(place)
    real = os.path.realpath(folder)
    _checked(_LIBC.unshare(CLONE_NEWNS | CLONE_NEWIPC), "unshare")
    # What is unmounted outside goes here, too: a private copy would keep the user's other devices busy as long as the
    # server runs.
    _checked(_LIBC.mount(None, b"/", None, MS_REC | MS_SLAVE, None), "mount namespace")
    _checked(_LIBC.mount(real.encode(), place.encode(), None, MS_BIND, None), "bind mount")
    # Descriptors lead to mounts of the namespace that was left, and cannot be bound here; the owner of the target may
    # have put another folder under the name.
    if not os.path.samestat(os.stat(place), os.stat(folder)):
        raise RuntimeError(f"somebody put another folder in the place of {real}")
    # Ours is read and written through descriptors (`HeldFolder`), which lead to the one outside.
    _checked(
        _LIBC.mount(b"tmpfs", os.fsencode(SHARED_MEMORY), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=1777"), "/dev/shm"
    )
    return Path(place)


def _checked(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


@contextlib.contextmanager
def _memory(most_bytes: int) -> Iterator[int]:
    """Where a program of another user may write what it likes: memory that cannot grow. No file has a name, and no pipe
    has to be emptied."""
    memory = os.memfd_create("seekwise-server", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(memory, most_bytes)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        yield memory
    finally:
        os.close(memory)


def _text(memory: int) -> str:
    written = min(os.lseek(memory, 0, os.SEEK_CUR), OUTPUT_MOST_BYTES)
    return os.pread(memory, written, 0).decode(errors="replace").strip()


@contextlib.contextmanager
def served(
    command: Sequence[str], place: Path, name: str, is_ready: Callable[[], bool], stop: signal.Signals
) -> Iterator[None]:
    """A server that runs and answers. `place`: its folder, as `path_for_user` gave it; `stop`: what ends it in
    order."""
    with (
        _memory(LOG_MOST_BYTES) as said,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", env=environment(), **identity(place)
        ) as server,
    ):
        try:
            _wait(server, said, name, is_ready)
            yield
        finally:
            server.send_signal(stop)
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(server: subprocess.Popen[bytes], said: int, name: str, is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + START_S
    while not is_ready():
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{name} does not start: {_why(_text(said)) or 'no reason given'}")
        time.sleep(0.05)


def identity(place: Path) -> dict[str, Any]:
    """Arguments of `Popen` that make a process of root's one of the user who owns the server's folder; without root,
    those that keep the server's shared memory apart, where the kernel lets us."""
    if os.geteuid() == 0:
        user = os.stat(place).st_uid
        if user == 0:
            raise RuntimeError(f"{place} has no user of its own")
        return {"user": user, "group": user, "extra_groups": []}
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


def run(argv: Sequence[str], place: Path) -> str:
    """Runs a program as the server's user to its end; what it wrote. Raises RuntimeError with what it said."""
    status, text, said = _ran(argv, place)
    if status:
        raise RuntimeError(f"{Path(argv[0]).name} ended with status {status}: {_why(said or text)}")
    return text


def _why(said: str) -> str:
    """What a program gives as its reason: a full disk in our words, else its first error, without the statement and the
    consequences that follow it."""
    if (short := reason(RuntimeError(said))) == FULL:
        return short
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    return next((line for line in lines if re.search("error|fatal", line, re.IGNORECASE)), (lines or [""])[-1])[:300]


def succeeds(argv: Sequence[str], place: Path) -> bool:
    """Whether a program of the server's user ends without an error."""
    return _ran(argv, place)[0] == 0


def _ran(argv: Sequence[str], place: Path) -> tuple[int, str, str]:
    with _memory(OUTPUT_MOST_BYTES) as out, _memory(LOG_MOST_BYTES) as errors:
        done = subprocess.run(
            argv, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=environment(), cwd="/",
            **identity(place),
        )  # fmt: skip
        return done.returncode, _text(out), _text(errors)
