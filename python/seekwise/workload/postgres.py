"""A private PostgreSQL cluster (`server.py`), with pgbench's tables and clients.

`fsync`, `full_page_writes` and `synchronous_commit` are as shipped. Checkpoints happen when the server starts and ends,
not in a period by chance.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from seekwise.temporary import SHARED_MEMORY
from seekwise.workload import server

SCALE = 16
"""15 MB each: more branches than clients, so that they seldom wait for each other's rows (pgbench's documentation)."""
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "dynamic_shared_memory_type": "mmap",
    "checkpoint_timeout": "1h",
    "max_wal_size": "1GB",
    "autovacuum": "off",
    "logging_collector": "off",
}


def binaries() -> Path | None:
    """Folder of the newest PostgreSQL server with its tools; None where there is none."""
    folders = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin"), Path("/usr/bin")]
    complete = [
        folder for folder in folders if all((folder / name).exists() for name in ("initdb", "postgres", "pgbench"))
    ]
    return max(complete, key=_version, default=None)


def _version(folder: Path) -> int:
    digits = "".join(letter for letter in folder.parent.name if letter.isdigit())
    return int(digits or 0)


def build(folder: Path) -> int:
    """Makes a cluster with pgbench's tables in a folder; its bytes."""
    return server.build("postgres", folder, "PostgreSQL", "postgresql")


def main() -> None:
    """In the supervised process: `initdb`, then pgbench's tables."""
    place = server.own_folder(Path(sys.argv[1]))
    words = ["-D", str(place / "cluster"), "-U", "seekwise", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    server.run([_tool("initdb"), *words], place)
    with served(place):
        words = ["-h", str(place), "-U", "seekwise", "-i", "-q", "-s", str(SCALE), "postgres"]
        server.run([_tool("pgbench"), *words], place)
    os.sync()


@contextlib.contextmanager
def served(place: Path) -> Iterator[None]:
    """A running server on the cluster below `place`, as `server.path_for_user` gave it."""
    # Of a server that was killed with its namespace.
    server.run(["rm", "-f", str(place / "cluster/postmaster.pid")], place)
    settings = {**SETTINGS, "unix_socket_directories": str(place)}
    command = [
        _tool("postgres"),
        "-D",
        str(place / "cluster"),
        *(f"--{key}={value}" for key, value in settings.items()),
    ]
    ask = [_tool("pg_isready"), "-q", "-h", str(place), "-U", "seekwise"]
    with server.served(command, place, "PostgreSQL", lambda: server.succeeds(ask, place), signal.SIGINT):
        yield


def _tool(name: str) -> str:
    return str((binaries() or Path("/usr/bin")) / name)


LOGGED = 'rm -f "$0".*; "$@" --log-prefix="$0" postgres > /dev/null && cat "$0".*'
"""pgbench writes the times of its transactions to files alone."""


def transactions(place: Path, logs: Path, clients: int, each: int) -> list[tuple[float, float]]:
    """(end in seconds since 1970, duration in seconds) of the transactions of one pgbench. `logs`: a folder in
    memory."""
    # Root's is closed to the server's user, who has a /dev/shm of its own.
    prefix = (SHARED_MEMORY if os.geteuid() == 0 else logs) / f"pgbench-{os.getpid()}"
    words = ["-h", str(place), "-U", "seekwise", "-n", "-c", str(clients), "-t", str(each), "-l"]
    times = []
    for line in server.run(["sh", "-c", LOGGED, str(prefix), _tool("pgbench"), *words], place).splitlines():
        # client, transaction, time in µs, script, end: seconds and µs (pgbench's documentation, "Per-Transaction
        # Logging")
        values = line.split()
        times.append((int(values[4]) + int(values[5]) / 1e6, int(values[2]) / 1e6))
    return sorted(times)
