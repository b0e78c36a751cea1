"""Clusters of this machine for tests: a scheduler and workers as processes of our own, which tests kill and stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests import simulated_study

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'seekwise[cluster]'")


def records_of(path: Path, run_id: str | None = None) -> list[tuple[int, int, dict]]:
    """(trial, attempt, record) of a run, the newest by default, without what two runs cannot share: their name and the clock."""
    with sqlite3.connect(path) as connection:
        if run_id is None:
            (run_id,) = connection.execute("SELECT run_id FROM run ORDER BY created_at DESC").fetchone()
        rows = connection.execute(
            "SELECT trial, attempt, record FROM trial WHERE run_id = ? ORDER BY trial, attempt", (run_id,)
        ).fetchall()
    found = []
    for trial, attempt, text in rows:
        document = json.loads(text)
        del document["run_id"], document["started_at"]
        found.append((trial, attempt, document))
    return found


def run_id_of(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT run_id FROM run").fetchone()[0]


def count(path: Path) -> int:
    """Trials on file so far."""
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=10) as connection:
        try:
            return connection.execute("SELECT count(*) FROM trial").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def wait_for(what, seconds: float = 60.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answers(port: int) -> bool:
    """Whether a server listens at this port of this machine."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Processes:
    """A scheduler at a port of its own and its workers; all of them end with the test."""

    folder: Path
    port: int = field(default_factory=free_port)
    scheduler: subprocess.Popen | None = None
    workers: list[subprocess.Popen] = field(default_factory=list)
    started: list[subprocess.Popen] = field(default_factory=list)

    @property
    def on(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        wait_for(lambda: answers(self.port))

    def start_worker(self, preload: str | None = None) -> subprocess.Popen:
        """`preload`: Python that the worker runs first."""
        words = [
            "worker",
            f"tcp://127.0.0.1:{self.port}",
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
        ]
        if preload is not None:
            file = self.folder / f"preload{len(self.started)}.py"
            file.write_text(preload)
            words += ["--preload", str(file)]
        self.workers.append(self._start(*words))
        return self.workers[-1]

    def _start(self, *words: str) -> subprocess.Popen:
        log = (self.folder / f"log{len(self.started)}").open("w")
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *words], cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "True"},
            )
        )  # fmt: skip
        return self.started[-1]

    def end(self) -> None:
        for each in self.started:
            if each.poll() is None:
                each.send_signal(signal.SIGKILL)
            each.wait(30)


@pytest.fixture
def cluster(tmp_path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    try:
        processes.start_scheduler()
        yield processes
    finally:
        processes.end()


@dataclass
class Runs:
    """`seekwise run` of one study, each with a results database of its own."""

    folder: Path

    def study(self, *, ios: int = 500, repetitions: int = 20) -> Path:
        path = self.folder / "study.toml"
        path.write_text(simulated_study.text(name="spread", ios=ios, repetitions=repetitions))
        return path

    def start(self, *words: str, db: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "seekwise.cli.main", "run", *words, "--db", str(self.folder / db)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, start_new_session=True,
            env={**os.environ, "SEEKWISE_STATE": str(self.folder / "state"), "NO_COLOR": "1", **environment},
        )  # fmt: skip

    def __call__(self, *words: str, db: str, status: int = 0, **environment: str) -> str:
        """What it said on standard error."""
        process = self.start(*words, db=db, **environment)
        return self.ended(process, status)

    @staticmethod
    def ended(process: subprocess.Popen[str], status: int = 0) -> str:
        out, said = process.communicate(timeout=200)
        assert process.returncode == status, out + said
        assert "Traceback" not in said, said
        return said


@pytest.fixture
def runs(tmp_path) -> Runs:
    return Runs(tmp_path)
