"""A private MariaDB server (`server.py`), with a table that its buffer pool does not hold, and clients that ask it one
after the other.

InnoDB's settings are as shipped: its data files are opened with O_DIRECT from 10.6 on (MariaDB's documentation,
innodb_flush_method), the buffer pool has 128 MiB, and every commit is flushed. The log is so long that no checkpoint
falls into a period by chance.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from seekwise.workload import server

ROWS = 1_200_000
"""250 bytes each with their pages' room: 300 MB, more than twice the buffer pool."""
READS = 5
PATH = "/usr/sbin:/usr/bin:/usr/local/bin:/usr/local/sbin"
NEEDED = ("mariadbd", "mariadb-install-db", "mariadb")
TABLE = """
CREATE DATABASE seekwise; USE seekwise;
CREATE TABLE account (id INT PRIMARY KEY, owner INT NOT NULL, balance INT NOT NULL, note CHAR(180) NOT NULL, KEY (owner)) CHARACTER SET latin1;
INSERT INTO account SELECT seq, seq * 7919 % 1000003, 0, REPEAT(CHAR(65 + seq % 26), 180) FROM seq_1_to_{rows};
"""
DONE = "unit done"
ANSWER_MOST_BYTES = 64 << 10


def binaries() -> dict[str, str] | None:
    """{program: path} of a MariaDB server with its tools; None where there is none."""
    paths = {name: path for name in NEEDED if (path := shutil.which(name, path=PATH))}
    return paths if len(paths) == len(NEEDED) else None


def build(folder: Path) -> int:
    """Makes a server's data with a table in a folder; its bytes."""
    return server.build("mariadb", folder, "MariaDB", "mariadb")


def main() -> None:
    """In the supervised process: the system's tables, then ours."""
    place = server.own_folder(Path(sys.argv[1]))
    words = ["--no-defaults", f"--datadir={place}/data", "--auth-root-authentication-method=normal", "--skip-test-db"]
    server.run([_tool("mariadb-install-db"), *words], place)
    with served(place):
        server.run([*_client(place), "-e", TABLE.format(rows=ROWS)], place)
    os.sync()


@contextlib.contextmanager
def served(place: Path) -> Iterator[None]:
    """A running server on the data below `place`, as `server.path_for_user` gave it."""
    command = [
        _tool("mariadbd"), "--no-defaults", f"--datadir={place}/data", f"--socket={_socket(place)}", "--skip-networking",
        f"--pid-file={place}/data/pid", f"--tmpdir={place}/data", "--innodb-log-file-size=256M", "--skip-log-bin",
    ]  # fmt: skip
    ask = [*_client(place), "-e", "SELECT 1"]
    with server.served(command, place, "MariaDB", lambda: server.succeeds(ask, place), signal.SIGTERM):
        yield


def _tool(name: str) -> str:
    return (binaries() or {}).get(name, name)


def _socket(place: Path) -> Path:
    return place / "data/socket"


def _client(place: Path) -> list[str]:
    return [_tool("mariadb"), "--no-defaults", f"--socket={_socket(place)}", "-u", "root"]


class Client:
    """One connection, held by MariaDB's own client: statements go in as text, and it answers each before the next."""

    def __init__(self, place: Path) -> None:
        self._process = subprocess.Popen(
            [*_client(place), "--batch", "--skip-column-names", "--unbuffered", "seekwise"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=server.environment(), cwd="/",
            **server.identity(place),
        )  # fmt: skip

    def transaction(self, random: Random) -> None:
        """Five rows read, one changed, and the commit waited for."""
        keys = [random.randrange(1, ROWS + 1) for _ in range(READS)]
        reads = "".join(f"SELECT balance FROM account WHERE id = {key}; " for key in keys)
        change = f"UPDATE account SET balance = balance + 1 WHERE id = {keys[0]}; "
        self._ask(f"BEGIN; {reads}{change}COMMIT; SELECT '{DONE}';\n")

    def _ask(self, text: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()
        while line := self._process.stdout.readline(ANSWER_MOST_BYTES):
            if line.startswith(DONE.encode()):
                return
            if line.startswith(b"ERROR"):
                raise RuntimeError(line.decode(errors="replace").strip())
        raise RuntimeError("the connection to MariaDB ended")

    def close(self) -> None:
        """Ends its input and waits at most 2 s; the server is stopped by `served`."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
