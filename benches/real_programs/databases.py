"""Private database servers in a folder: local sockets only, nothing of the machine's own databases is touched.

PostgreSQL does not run as root, so its cluster belongs to the user `postgres`. Checkpoints are put off beyond the run: one of them in one visit
by chance would be that setting's bad luck. fsync, full_page_writes and synchronous_commit stay as shipped.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from real_programs.shell import ENVIRONMENT, output_of
from seekwise.control import child

SCALE = 60
CLIENTS = 8
START_WITHIN_S = 60.0
AS_POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
TABLES, ROWS = 4, 500_000


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[Callable[[float], dict[str, float]]]:
    """pgbench's transactions of eight clients, scale 60 (900 MB)."""
    programs = max(Path("/usr/lib/postgresql").iterdir()) / "bin"
    data = folder / "cluster"
    shutil.chown(folder, "postgres", "postgres")
    output_of(*AS_POSTGRES, str(programs / "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--no-sync")
    settings = {
        "listen_addresses": "", "unix_socket_directories": str(folder), "dynamic_shared_memory_type": "mmap",
        "checkpoint_timeout": "1d", "max_wal_size": "64GB",
    }  # fmt: skip
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    # An IPC namespace of its own: the segment of System V memory goes with the server, also when it is killed.
    server = ("unshare", "--ipc", *AS_POSTGRES, str(programs / "postgres"), "-D", str(data), *options)
    client = ("pgbench", "-h", str(folder), "-U", "postgres")
    with child.started(server, env=ENVIRONMENT) as running:
        wait_until(lambda: (folder / ".s.PGSQL.5432").exists(), running, "PostgreSQL")
        time.sleep(0.5)
        output_of(*client, "-i", "-q", "-s", str(SCALE), "postgres")
        output_of("psql", "-h", str(folder), "-U", "postgres", "-c", "checkpoint")
        yield lambda seconds: _pgbench(client, seconds)
        running.terminate()


def _pgbench(client: tuple[str, ...], seconds: float) -> dict[str, float]:
    from real_programs.loads import memory_folder

    with memory_folder() as logs:
        words = ("-n", "-c", str(CLIENTS), "-j", "2", "-T", f"{seconds:.0f}", "-l", "postgres")
        text = output_of(*client, *words, cwd=Path(logs))
        times_us = sorted(
            int(line.split()[2]) for log in Path(logs).glob("pgbench_log.*") for line in log.read_text().splitlines()
        )
    rate = re.search(r"tps = ([\d.]+)", text)
    if rate is None or not times_us:
        raise SystemExit(f"pgbench named no rate: {text[-300:]}")
    mean = sum(times_us) / len(times_us) / 1e6
    return {"done": float(rate[1]), "time": mean, "tail": times_us[int(0.99 * (len(times_us) - 1))] / 1e6}


@contextlib.contextmanager
def mariadb(folder: Path) -> Iterator[Callable[[float], dict[str, float]]]:
    """sysbench's oltp_read_write of eight clients on four tables of half a million rows, buffer pool as shipped (128 MiB)."""
    data, socket = folder / "data", folder / "socket"
    output_of(
        "mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db",
        "--auth-root-authentication-method=normal",
    )  # fmt: skip
    server = (
        "mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={socket}", "--skip-networking",
        f"--pid-file={folder / 'pid'}", "--innodb-log-file-size=2G",
    )  # fmt: skip
    client = (
        "sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={socket}", "--mysql-user=root",
        "--mysql-db=sbtest", f"--tables={TABLES}", f"--table-size={ROWS}",
    )  # fmt: skip
    with child.started(server, env=ENVIRONMENT) as running:
        wait_until(socket.exists, running, "MariaDB")
        time.sleep(0.5)
        output_of("mariadb", "--no-defaults", f"--socket={socket}", "-u", "root", "-e", "create database sbtest")
        output_of(*client, "--threads=2", "prepare")
        yield lambda seconds: _sysbench(client, seconds)
        running.terminate(patient=True)
        running.wait(START_WITHIN_S)


def _sysbench(client: tuple[str, ...], seconds: float) -> dict[str, float]:
    text = output_of(*client, f"--threads={CLIENTS}", f"--time={seconds:.0f}", "--percentile=99", "run")
    rate = re.search(r"transactions:\s+\d+\s+\(([\d.]+) per sec", text)
    mean, tail = re.search(r"avg:\s+([\d.]+)", text), re.search(r"99th percentile:\s+([\d.]+)", text)
    if rate is None or mean is None or tail is None:
        raise SystemExit(f"sysbench named no rate: {text[-300:]}")
    return {"done": float(rate[1]), "time": float(mean[1]) / 1e3, "tail": float(tail[1]) / 1e3}


def wait_until(ready: Callable[[], bool], running: child.ChildProgram, name: str) -> None:
    end = time.monotonic() + START_WITHIN_S
    while not ready():
        if running.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"{name} did not start (status {running.returncode})")
        time.sleep(0.1)
