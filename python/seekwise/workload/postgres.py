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

from seekwise.workload import server

SCALE = 16
"""15 MB each: more branches than clients, so that they seldom wait for each other's rows (pgbench's documentation)."""
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
    place = server.data_folder(Path(sys.argv[1]), "cluster")
    words = ["-D", str(place / "cluster"), "-U", "seekwise", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    server.run([_tool("initdb"), *words], as_server=True)
    with (place / "cluster/postgresql.conf").open("a") as file:
        file.write(SETTINGS.format(folder=place))
    with served(place):
        server.run([_tool("pgbench"), "-h", str(place), "-U", "seekwise", "-i", "-q", "-s", str(SCALE), "postgres"])
    os.sync()


@contextlib.contextmanager
def served(place: Path) -> Iterator[None]:
    """A running server on the cluster below `place`, as `server.path_for_user` gave it."""
    (place / "cluster/postmaster.pid").unlink(missing_ok=True)  # of a server that was killed with its namespace
    command = [_tool("postgres"), "-D", str(place / "cluster")]
    ask = [_tool("pg_isready"), "-q", "-h", str(place), "-U", "seekwise"]
    with server.served(
        command, place / "cluster/server.log", "PostgreSQL", lambda: server.run(ask, check=False) == 0, signal.SIGINT
    ):
        yield


def _tool(name: str) -> str:
    return str((binaries() or Path("/usr/bin")) / name)


def transactions(place: Path, logs: Path, clients: int, each: int) -> list[tuple[float, float]]:
    """(end in seconds since 1970, duration in seconds) of the transactions of one pgbench. `logs`: a folder in
    memory."""
    for old in logs.glob("pgbench*"):
        old.unlink()
    server.run(
        [_tool("pgbench"), "-h", str(place), "-U", "seekwise", "-n", "-c", str(clients), "-t", str(each), "-l",
         f"--log-prefix={logs}/pgbench", "postgres"]
    )  # fmt: skip
    times = []
    for log in logs.glob("pgbench*"):
        for line in log.read_text().splitlines():
            # client, transaction, time in µs, script, end: seconds and µs (pgbench's documentation, "Per-Transaction
            # Logging")
            words = line.split()
            times.append((int(words[4]) + int(words[5]) / 1e6, int(words[2]) / 1e6))
    return sorted(times)
