"""A private PostgreSQL cluster in the scratch folder: nobody else's databases are ever reached.

The server has a folder, a socket and a namespace of its own, no network, and runs as the user `nobody`, so that the kernel keeps it out of the
data of any other cluster. The scratch folder is closed to that user: within a mount namespace of the crew the cluster's folder is
bound to a path that `nobody` can walk to. Shared memory lies in an IPC namespace, and in the cluster's folder. So all of it ends with its processes,
however they end.

`fsync`, `full_page_writes` and `synchronous_commit` are as shipped. Checkpoints happen when the server starts and ends, not in a period by chance.
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
from collections.abc import Iterator
from pathlib import Path

from seekwise.control import child
from seekwise.errors import SeekwiseError

CLONE_NEWNS, CLONE_NEWIPC = 0x00020000, 0x08000000
"""Linux v6.12 include/uapi/linux/sched.h."""
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
"""Linux v6.12 include/uapi/linux/mount.h."""
SCALE = 16
"""15 MB each: more branches than clients, so that they seldom wait for each other's rows (pgbench's documentation)."""
START_S = 60.0
STOP_S = 12.0
BUILD_S = 180.0
SEEN_AT = ("/mnt", "/media", "/srv", "/opt")
"""Where the cluster's folder is seen within the namespace; nothing outside it changes."""
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
unix_socket_permissions = 0700
dynamic_shared_memory_type = mmap
checkpoint_timeout = 1h
max_wal_size = 1GB
autovacuum = off
logging_collector = off
"""
BUILDER = (
    "import sys; sys.path[:] = sys.argv.pop(1).split(':'); from seekwise.workload import postgres; postgres.main()"
)


def binaries() -> Path | None:
    """Folder of the newest PostgreSQL server with its tools; None where there is none."""
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin"), Path("/usr/bin")]
    found = [each for each in folders if all((each / name).exists() for name in ("initdb", "postgres", "pgbench"))]
    return max(found, key=_version, default=None)


def _version(folder: Path) -> int:
    digits = "".join(letter for letter in folder.parent.name if letter.isdigit())
    return int(digits or 0)


def build(folder: Path) -> int:
    """Makes a cluster with pgbench's tables in a folder, by a process that is supervised; its bytes."""
    command = [sys.executable, "-I", "-c", BUILDER, ":".join(sys.path), str(folder)]
    done = child.run(command, timeout_s=BUILD_S)
    if done.returncode:
        said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        raise SeekwiseError(
            f"PostgreSQL cannot be set up in the scratch folder: {said[:200]}", hint="leave the use `postgresql` out"
        )
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def main() -> None:
    """In the supervised process: `initdb`, then pgbench's tables."""
    folder, user = Path(sys.argv[1]), _user()
    (folder / "cluster").mkdir(mode=0o700)
    if user:
        os.chown(folder / "cluster", *user)
        os.chown(folder, *user)
    place = seen(folder)
    _run(
        [
            "initdb",
            "-D",
            str(place / "cluster"),
            "-U",
            "seekwise",
            "--auth=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]
    )
    with (place / "cluster/postgresql.conf").open("a") as file:
        file.write(SETTINGS.format(folder=place))
    with served(place):
        _run(["pgbench", "-h", str(place), "-U", "seekwise", "-i", "-q", "-s", str(SCALE), "postgres"])
    os.sync()


def seen(folder: Path) -> Path:
    """The path under which the server's user sees a folder. As root in a namespace that this process enters; else the folder itself."""
    if os.geteuid() != 0:
        return folder
    libc = ctypes.CDLL(None, use_errno=True)
    place = next((each for each in SEEN_AT if os.path.isdir(each)), None)
    if place is None:
        raise OSError(0, f"none of {', '.join(SEEN_AT)} is there")

    def checked(result: int, what: str) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

    real = os.path.realpath(folder)
    checked(libc.unshare(CLONE_NEWNS | CLONE_NEWIPC), "unshare")
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount namespace")
    checked(libc.mount(real.encode(), place.encode(), None, MS_BIND, None), "bind mount")
    return Path(place)


@contextlib.contextmanager
def served(place: Path) -> Iterator[None]:
    """A running server on the cluster below `place`, as `seen` gave it."""
    (place / "cluster/postmaster.pid").unlink(missing_ok=True)  # of a server that was killed with its namespace
    log = (place / "cluster/server.log").open("ab")
    command = [str(_tool("postgres")), "-D", str(place / "cluster")]
    with log, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_identity()) as server:
        try:
            _wait(place, server)
            yield
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(place: Path, server: subprocess.Popen) -> None:
    end = time.monotonic() + START_S
    while _run(["pg_isready", "-q", "-h", str(place), "-U", "seekwise"], check=False) != 0:
        if server.poll() is not None or time.monotonic() > end:
            said = (place / "cluster/server.log").read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"PostgreSQL does not start: {said[-1] if said else 'no reason given'}")
        time.sleep(0.05)


def _tool(name: str) -> Path:
    folder = binaries()
    return (folder or Path("/usr/bin")) / name


def _user() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def _identity() -> dict:
    user = _user()
    return {"user": user[0], "group": user[1], "extra_groups": []} if user else {}


def environment() -> dict[str, str]:
    """None of the user's: no PGHOST, no PGSERVICE leads anywhere else."""
    return {"PATH": os.defpath, "LC_ALL": "C", "PGPASSFILE": "/dev/null", "PGSERVICEFILE": "/dev/null"}


def _run(argv: list[str], *, check: bool = True) -> int:
    done = subprocess.run(
        [str(_tool(argv[0])), *argv[1:]], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=environment(), cwd="/", **(_identity() if argv[0] == "initdb" else {}),
    )  # fmt: skip
    if check and done.returncode:
        raise SystemExit(f"{argv[0]} ended with status {done.returncode}: {' '.join(done.stderr.split())[-300:]}")
    return done.returncode


def transactions(place: Path, logs: Path, clients: int, each: int) -> list[tuple[float, float]]:
    """(end in seconds since 1970, duration in seconds) of the transactions of one pgbench. `logs`: a folder in memory."""
    for old in logs.glob("pgbench*"):
        old.unlink()
    _run(
        ["pgbench", "-h", str(place), "-U", "seekwise", "-n", "-c", str(clients), "-t", str(each), "-l",
         f"--log-prefix={logs}/pgbench", "postgres"]
    )  # fmt: skip
    found = []
    for log in logs.glob("pgbench*"):
        for line in log.read_text().splitlines():
            # client, transaction, time in µs, script, end: seconds and µs (pgbench's documentation, "Per-Transaction Logging")
            words = line.split()
            found.append((int(words[4]) + int(words[5]) / 1e6, int(words[2]) / 1e6))
    return sorted(found)
