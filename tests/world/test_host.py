"""This test will ask the simulated world what only a whole host can answer: writes through the page cache, memory, processor time."""

import json

import pytest

from seekwise.world import cells
from seekwise.world.setup import setup_of
from seekwise.world.simulated import SimulatedWorld
from seekwise.world.world import Query


def asked(**given) -> Query:
    return Query(
        **{"metric": "rate", "system": "st3250620ns", "operation": "seq_write", "scheduler": "cfq", "threads": 2}
        | given
    )


def test_the_four_phases_of_tiotest_are_one_run_of_which_each_question_takes_its_own():
    setup = setup_of("st3250620ns")
    documents = [json.loads(cells.spec(setup, operation, "noop", 4, 1))["storage"] for operation in cells.TIOTEST_ORDER]
    assert [document["load"]["files"].pop("report") for document in documents] == [0, 1, 2, 3]
    for document in documents:
        for name in ("random", "write", "span_ns"):
            document["load"].pop(name)
    assert all(document == documents[0] for document in documents)
    assert [phase["fsync"] for phase in documents[0]["load"]["files"]["phases"]] == [True, True, False, False]


def test_a_disk_writes_files_at_most_as_fast_as_it_turns():
    (rate,) = SimulatedWorld().measure([asked()])
    assert 20 < rate < 80


def test_random_reads_gain_from_memory():
    small, large = SimulatedWorld().measure(
        [asked(operation="rand_read", options=(("ram", ram),)) for ram in (64.0, 512.0)]
    )
    assert large > 1.1 * small


def test_cpu_use_is_printed_with_the_fault_and_efficiency_is_not_touched_by_it():
    world = SimulatedWorld()
    for threads in (1, 8):
        share, both, rate, efficiency = world.measure(
            [asked(metric=metric, threads=threads) for metric in ("syscpu", "cpu", "rate", "cpueff")]
        )
        assert 0 < share < both
        assert efficiency == pytest.approx(rate / (share / threads / 100), rel=1e-6)


def test_printed_cpu_use_grows_with_the_threads_although_the_work_does_not():
    result = {"bytes": 2**30, "elapsed_ns": 10**10, "cpu": {"user_ticks": 25, "system_ticks": 250, "hz": 250}}
    one, eight = (cells.cpu_metrics(result, threads) for threads in (1, 8))
    assert one["syscpu"] == pytest.approx(10)
    assert eight["syscpu"] == pytest.approx(80)
    assert one["cpueff"] == eight["cpueff"] == pytest.approx(1024)
