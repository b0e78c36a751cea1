"""Trials side by side and on other machines: each is there once, with the bits that one process gives, whatever is killed; and what a run asks of them."""

from __future__ import annotations

import importlib.util
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

from seekwise.errors import MissingError, RefusedError, UsageError
from seekwise.measure import spread, worker
from seekwise.workload.study import parse, plan, planning
from seekwise.workload.study.plan import SystemFacts

OTHER_MODELS = "from seekwise import _core\n_core.model_version = lambda: 999\n"


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
    with sqlite3.connect(path, timeout=60) as connection:
        try:
            return connection.execute("SELECT count(*) FROM trial").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def wait_for(what, seconds: float = 120.0):
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
def dask(tmp_path) -> Iterator[Processes]:
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'seekwise[dask]'")
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


@pytest.fixture
def alone(runs: Runs):
    """The records of the study as one process makes them."""

    def records(study):
        runs(str(study), db="alone.db")
        return records_of(runs.folder / "alone.db")

    return records


def begun(runs: Runs, *words: str, ios: int = 3000):
    """(study, process of its run) with the first records on file."""
    study = runs.study(ios=ios, repetitions=30)
    process = runs.start(str(study), *words, db="spread.db")
    wait_for(lambda: count(runs.folder / "spread.db") > 5)
    return study, process


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_records_do_not_depend_on_how_many_trials_run_at_once(threads, runs: Runs, alone) -> None:
    study = runs.study(ios=200, repetitions=6)
    runs(str(study), "--workers", str(threads), db="threads.db")
    assert records_of(runs.folder / "threads.db") == alone(study)


def test_a_killed_run_is_resumed_where_it_was_with_another_number_of_threads(runs: Runs, alone) -> None:
    study, process = begun(runs, "--workers", "2")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    runs("--resume", "last", "--workers", "1", db="spread.db")
    assert records_of(runs.folder / "spread.db") == alone(study)


def test_a_scheduler_and_two_workers_give_the_same_bits(dask: Processes, runs: Runs, alone) -> None:
    dask.start_worker(), dask.start_worker()
    study = runs.study(ios=200, repetitions=6)
    assert "worker" in runs(str(study), "--on", dask.on, db="spread.db")
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_a_dask_worker_killed_in_the_middle_loses_and_doubles_nothing(dask: Processes, runs: Runs, alone) -> None:
    dask.start_worker(), dask.start_worker()
    study, process = begun(runs, "--on", dask.on)
    os.kill(dask.workers[0].pid, signal.SIGKILL)
    runs.ended(process)
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_ends_the_run_which_can_be_resumed(dask: Processes, runs: Runs, alone) -> None:
    dask.start_worker()
    study, process = begun(runs, "--on", dask.on)
    os.kill(dask.scheduler.pid, signal.SIGKILL)
    assert "hint: `seekwise run --resume" in runs.ended(process, status=1)
    runs("--resume", "last", db="spread.db")
    assert records_of(runs.folder / "spread.db") == alone(study)


def test_a_dask_worker_with_other_models_is_refused_by_name(dask: Processes, runs: Runs) -> None:
    dask.start_worker(OTHER_MODELS)
    said = runs(str(runs.study()), "--on", dask.on, db="spread.db", status=3)
    assert "error: worker tcp://127.0.0.1:" in said and "has model_version 999, this machine" in said
    assert count(runs.folder / "spread.db") == 0


@pytest.mark.slow
def test_one_that_joins_later_ends_the_run(dask: Processes, runs: Runs) -> None:
    dask.start_worker()
    _, process = begun(runs, "--on", dask.on)
    dask.start_worker(OTHER_MODELS)
    said = runs.ended(process, status=3)
    assert "error: worker process " in said and "has model_version 999" in said


@pytest.mark.parametrize(
    ("on", "address"),
    [
        (None, None),
        ("tcp://10.0.0.5:8786", "tcp://10.0.0.5:8786"),
        ("tls://head.example:8786/", "tls://head.example:8786"),
        ("dask://[::1]:8786", "tcp://[::1]:8786"),
    ],
)
def test_an_address_is_what_it_says(on, address) -> None:
    assert spread.parse(on) == address


@pytest.mark.parametrize(
    "on",
    [
        "tcp://", "dask://host", "tcp://host:0", "tls://host:99999", "tcp://:8786", "tcp://a b:1", "http://host:80", "ssh://a", "slurm", "k8s",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_a_hint(on) -> None:
    with pytest.raises(UsageError) as raised:
        spread.parse(on)
    assert raised.value.hint


def test_a_scheduler_has_workers_of_its_own() -> None:
    with pytest.raises(UsageError) as raised:
        spread.check("simulated", "tcp://host:8786", 2)
    assert raised.value.hint == "leave `--workers` out"


def test_what_is_not_installed_is_named_with_the_line_that_installs_it(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    spread.check("simulated", None, 1)
    with pytest.raises(MissingError) as raised:
        spread.check("simulated", "tcp://a:1", None)
    assert "seekwise[dask]" in str(raised.value.hint)


def test_a_worker_is_refused_for_each_thing_that_makes_numbers_differ() -> None:
    ours = worker.identity([("drive", "wd2500ys")])
    ours.check(worker.identity([("drive", "wd2500ys")]), "x")
    for other, says in (
        (worker.Identity(ours.release, 999, ours.models), "has model_version 999"),
        (worker.Identity("9.9", ours.model_version, ours.models), "has seekwise 9.9"),
        (worker.Identity(ours.release, ours.model_version, (("drive", "wd2500ys", "0"),)), "has another drive model `wd2500ys`"),
        (worker.Identity(ours.release, ours.model_version, (("drive", "wd2500ys", ""),)), "does not have the drive model"),
    ):  # fmt: skip
        with pytest.raises(RefusedError, match=says):
            ours.check(other, "tcp://there:1")


def made(repetitions: int) -> plan.Plan:
    study = parse.loads(simulated_study.text(repetitions=repetitions), "test")
    return planning.make(study, (SystemFacts("one", "sim0", scheduler="none", speed="rotational"),))


def test_an_excerpt_keeps_what_a_trial_means() -> None:
    whole = made(2)
    chosen = whole.trials[3:6]
    part, moved = spread.excerpt(whole, chosen)
    for before, after in zip(chosen, moved, strict=True):
        assert whole.combinations[before.combination] == part.combinations[after.combination]
        assert whole.settings[before.setting] == part.settings[after.setting]
        assert (before.index, before.seed, before.repetition) == (after.index, after.seed, after.repetition)
    assert len(part.combinations) <= 3 and not part.trials


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--workers", "0"), 2, "0 is not in the range"),
        pytest.param(("--on", "tcp://127.0.0.1:1"), 4, "does not answer", marks=pytest.mark.slow),
        (("--on", "tcp://127.0.0.1:1", "--backend", "kernel"), 2, "only simulated trials run"),
    ],
)
def test_wrong_words_end_in_one_error(runs: Runs, words, status, says) -> None:
    if says == "does not answer":
        pytest.importorskip("distributed", reason="Dask is not installed: pip install 'seekwise[dask]'")
    said = runs(str(runs.study(ios=10, repetitions=1)), *words, db="x.db", status=status)
    assert says in said and said.count("error: ") == 1
