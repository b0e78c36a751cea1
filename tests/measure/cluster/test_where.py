"""What `--on` and `--workers` may be, how trials become batches, and what Dask's absence says."""

from __future__ import annotations

import importlib.util
import types

import pytest
from tests import simulated_study

from seekwise.errors import MissingError, RefusedError, UsageError
from seekwise.measure.cluster import client, where, work
from seekwise.measure.cluster.portions import TRIALS_MAX, Queue, excerpt
from seekwise.workload.study import parse, plan
from seekwise.workload.study.plan import SystemFacts

from .conftest import Runs


@pytest.mark.parametrize(
    ("on", "workers", "found"),
    [
        (None, None, None),
        (None, 3, where.Where("local", 3)),
        ("tcp://10.0.0.5:8786", None, where.Where("scheduler", address="tcp://10.0.0.5:8786")),
        ("tls://head.example:8786/", None, where.Where("scheduler", address="tls://head.example:8786")),
        ("dask://[::1]:8786", None, where.Where("scheduler", address="tcp://[::1]:8786")),
    ],
)
def test_a_place_is_what_it_says(on, workers, found) -> None:
    assert where.parse(on, workers) == found


@pytest.mark.parametrize(
    ("on", "workers"),
    [
        ("tcp://", None), ("dask://host", None), ("tcp://host:0", None), ("tls://host:99999", None), ("tcp://:8786", None),
        ("tcp://a b:1", None), ("http://host:80", None), ("ssh://a", 2), ("slurm", 3), ("k8s", 3), ("tcp://host:8786", 2),
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused_with_a_hint(on, workers) -> None:
    with pytest.raises(UsageError) as raised:
        where.parse(on, workers)
    assert raised.value.hint


def test_what_is_not_installed_is_named_with_the_line_that_installs_it(monkeypatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "distributed" else real(name))
    with pytest.raises(MissingError) as raised:
        where.require(where.Where("local", 2))
    assert "seekwise[cluster]" in str(raised.value.hint)


def test_a_worker_is_refused_for_each_thing_that_makes_numbers_differ() -> None:
    ours = work.identity([("drive", "wd2500ys")])
    assert ours.difference(work.identity([("drive", "wd2500ys")])) is None
    for other, says in (
        (work.Identity(ours.release, 999, ours.models), "has model_version 999"),
        (work.Identity("9.9", ours.model_version, ours.models), "has seekwise 9.9"),
        (work.Identity(ours.release, ours.model_version, (("drive", "wd2500ys", "0"),)), "has another drive model `wd2500ys`"),
        (work.Identity(ours.release, ours.model_version, (("drive", "wd2500ys", ""),)), "does not have the drive model"),
    ):  # fmt: skip
        with pytest.raises(RefusedError, match=says):
            client.refuse("tcp://there:1", ours.difference(other))


def made(repetitions: int) -> plan.Plan:
    study = parse.loads(simulated_study.text(repetitions=repetitions), "test")
    return plan.make(study, (SystemFacts("one", "sim0", scheduler="none", speed="rotational"),))


def test_batches_hold_every_trial_once_and_repetitions_in_order() -> None:
    whole = made(30)
    waiting, taken = Queue(whole, whole.trials), []
    while waiting:
        batch = waiting.take(4)
        assert 1 <= len(batch) <= TRIALS_MAX
        waiting.learn(batch, 0.01 * len(batch))
        taken += batch
    assert sorted(trial.index for trial in taken) == [trial.index for trial in whole.trials]
    assert [trial.repetition for trial in taken] == sorted(trial.repetition for trial in taken)


def test_batches_grow_to_what_was_learnt_and_shrink_towards_the_end() -> None:
    whole = made(300)
    waiting, sizes = Queue(whole, whole.trials), []
    while waiting:
        batch = waiting.take(2)
        waiting.learn(batch, 0.002 * len(batch))
        sizes.append(len(batch))
    assert max(sizes) > 2 * sizes[0] and sizes[-1] <= 3


def test_an_excerpt_keeps_what_a_trial_means() -> None:
    whole = made(2)
    chosen = whole.trials[3:6]
    part, moved = excerpt(whole, chosen)
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
        (("--on", "tcp://127.0.0.1:1", "--backend", "kernel"), 2, "only simulated trials run elsewhere"),
    ],
)
def test_wrong_words_end_in_one_error(runs: Runs, words, status, says) -> None:
    said = runs(str(runs.study(ios=10, repetitions=1)), *words, db="x.db", status=status)
    assert says in said and said.count("error: ") == 1


def test_a_worker_that_ends_while_it_is_asked_ends_no_run() -> None:
    from distributed.comm.core import CommClosedError

    ours = work.identity([("drive", "wd2500ys")])
    answers = {"tcp://gone:1": CommClosedError("Stream is closed"), "tcp://there:1": ours}
    connection = object.__new__(client.Connection)
    connection.client = types.SimpleNamespace(run=lambda *_, **__: answers)
    connection.check(ours)
    answers["tcp://other:1"] = ModuleNotFoundError("No module named 'seekwise'")
    with pytest.raises(MissingError, match="tcp://other:1 has no seekwise"):
        connection.check(ours)


def test_more_local_workers_than_the_memory_holds_are_refused(monkeypatch) -> None:
    class Memory:
        available = 450_000_000

    monkeypatch.setattr("psutil.virtual_memory", Memory)
    monkeypatch.setattr(where.os, "cpu_count", lambda: 3)
    where.require(where.Where("local", 4))
    where.require(where.Where("scheduler", address="tcp://a:1"))
    with pytest.raises(MissingError, match=r"5 workers need about 0.5 GB of memory, and 0.45 GB are free") as raised:
        where.require(where.Where("local", 5))
    assert "`--workers 3`" in raised.value.hint
