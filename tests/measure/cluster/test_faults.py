"""Workers killed and stopped, a scheduler restarted: every trial is there once, with the bits that one process gives."""

from __future__ import annotations

import os
import signal

import pytest

from .conftest import Processes, Runs, count, records_of, run_id_of, wait_for

OTHER_MODELS = "from seekwise import _core\n_core.model_version = lambda: 999\n"
SLOW = """
import time
from seekwise.simulate import simulated
real = simulated.SimulatedSession.run
def run(self, trials, attempts):
    time.sleep(3)
    yield from real(self, trials, attempts)
simulated.SimulatedSession.run = run
"""


@pytest.fixture
def alone(runs: Runs):
    """The records of the study as one process makes them."""

    def made(study):
        runs(str(study), db="alone.db")
        return records_of(runs.folder / "alone.db")

    return made


def begun(cluster: Processes, runs: Runs, *, workers: int, ios: int = 3000):
    """(study, process of its run) with the first records on file."""
    study = runs.study(ios=ios, repetitions=60)
    for _ in range(workers):
        cluster.start_worker()
    process = runs.start(str(study), "--on", cluster.on, db="spread.db")
    wait_for(lambda: count(runs.folder / "spread.db") > 10)
    return study, process


@pytest.mark.slow
def test_local_workers_give_the_same_bits_in_whatever_order_they_end(runs: Runs, alone) -> None:
    study = runs.study()
    said = runs(str(study), "--workers", "2", db="spread.db")
    assert "2 workers\n" in said and "dashboard" not in said
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_loses_and_doubles_nothing(cluster: Processes, runs: Runs, alone) -> None:
    study, process = begun(cluster, runs, workers=2)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    said = runs.ended(process)
    assert "lost tcp://127.0.0.1:" in said
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_a_restarted_scheduler_loses_and_doubles_nothing(cluster: Processes, runs: Runs, alone) -> None:
    study, process = begun(cluster, runs, workers=1)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    cluster.scheduler.wait(30)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    cluster.workers[0].wait(30)
    cluster.start_scheduler()
    cluster.start_worker()
    said = runs.ended(process)
    # Dask may be connected again before the next look: then only the worker is missed.
    assert ("is gone; waiting for it" in said and "is back" in said) or "lost tcp://127.0.0.1:" in said
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_what_a_stopped_worker_has_is_done_by_another(cluster: Processes, runs: Runs, alone) -> None:
    study, process = begun(cluster, runs, workers=2, ios=1000)
    os.kill(cluster.workers[0].pid, signal.SIGSTOP)
    said = runs.ended(process)
    assert "is slow or does not answer" in said
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_a_slow_worker_changes_nothing(cluster: Processes, runs: Runs, alone) -> None:
    study = runs.study()
    cluster.start_worker(SLOW)
    cluster.start_worker()
    runs(str(study), "--on", cluster.on, db="spread.db")
    assert records_of(runs.folder / "spread.db") == alone(study)


def test_a_worker_with_other_models_is_refused_by_name(cluster: Processes, runs: Runs) -> None:
    cluster.start_worker(OTHER_MODELS)
    said = runs(str(runs.study()), "--on", cluster.on, db="spread.db", status=3)
    assert "error: worker tcp://127.0.0.1:" in said and "has model_version 999, this machine" in said
    assert count(runs.folder / "spread.db") == 0


@pytest.mark.slow
def test_one_that_joins_later_ends_the_run_which_can_be_resumed(cluster: Processes, runs: Runs, alone) -> None:
    study, process = begun(cluster, runs, workers=1)
    other = cluster.start_worker(OTHER_MODELS)
    said = runs.ended(process, status=3)
    assert "that joined later has model_version 999" in said
    os.kill(other.pid, signal.SIGKILL)
    other.wait(30)
    before = count(runs.folder / "spread.db")
    assert before > 0
    runs("--resume", run_id_of(runs.folder / "spread.db"), "--on", cluster.on, db="spread.db")
    assert count(runs.folder / "spread.db") > before
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_a_killed_run_is_resumed_where_it_was(runs: Runs, alone) -> None:
    study = runs.study(ios=3000, repetitions=60)
    process = runs.start(str(study), "--workers", "2", db="spread.db")
    wait_for(lambda: count(runs.folder / "spread.db") > 20)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    runs("--resume", "last", "--workers", "1", db="spread.db")
    assert records_of(runs.folder / "spread.db") == alone(study)


@pytest.mark.slow
def test_an_interrupted_run_says_how_to_go_on(runs: Runs) -> None:
    process = runs.start(str(runs.study(ios=3000, repetitions=60)), "--workers", "2", db="spread.db")
    wait_for(lambda: count(runs.folder / "spread.db") > 20)
    os.killpg(process.pid, signal.SIGINT)
    said = runs.ended(process, status=130)
    assert "hint: `seekwise run --resume" in said
