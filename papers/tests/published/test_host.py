"""This test will ask the simulated source what only a whole host can answer: writes through the page cache, memory, processor time."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from seekwise.simulate.setups import trials
from seekwise_papers import simulated
from seekwise_papers.queries import Query
from seekwise_papers.simulated import SimulatedResults
from seekwise_papers.systems import setup_of


def asked(**given) -> Query:
    return Query(
        **{"metric": "rate", "system": "st3250620ns", "operation": "seq_write", "scheduler": "cfq", "threads": 2}
        | given
    )


def test_the_four_phases_of_tiotest_are_one_run_of_which_each_question_takes_its_own():
    setup = setup_of("st3250620ns")
    documents = [json.loads(setup.trial(operation, "noop", 4, 1)) for operation in trials.TIOTEST_ORDER]
    assert [document["report"] for document in documents] == [0, 1, 2, 3]
    assert all(document["cell"] == documents[0]["cell"] for document in documents)
    assert [phase["jobs"][0]["fsync"] for phase in documents[0]["cell"]["phases"]] == [True, True, False, False]


def test_a_disk_writes_files_at_most_as_fast_as_it_turns():
    (throughput,) = SimulatedResults().measure([asked()])
    assert 20 < throughput < 80


def test_random_reads_gain_from_memory():
    small, large = SimulatedResults().measure(
        [asked(operation="rand_read", options=(("ram", ram),)) for ram in (64.0, 512.0)]
    )
    assert large > 1.1 * small


def test_cpu_use_is_printed_with_the_fault_and_efficiency_is_not_touched_by_it():
    source = SimulatedResults()
    for threads in (1, 8):
        share, both, throughput, efficiency = source.measure(
            [
                asked(metric=metric, threads=threads, options=(("repeat", 1.0),))
                for metric in ("syscpu", "cpu", "rate", "cpueff")
            ]
        )
        assert 0 < share < both
        assert efficiency == pytest.approx(throughput / (share / threads / 100), rel=1e-6)


def cpu_result(**other):
    cpu = {"user_s": 0.1, "system_s": 1.0, "user_ticks": 25, "system_ticks": 250, "hz": 250}
    return {"bytes": 2**30, "elapsed_ns": 10**10, "cpu": {**cpu, **other}}


@pytest.mark.parametrize("ticks", [False, True])
def test_printed_cpu_use_grows_with_the_threads_although_the_work_does_not(ticks):
    one, eight = (trials.cpu_metrics(cpu_result(), threads, ticks=ticks) for threads in (1, 8))
    assert one["syscpu"] == pytest.approx(10)
    assert eight["syscpu"] == pytest.approx(80)
    assert one["cpueff"] == eight["cpueff"] == pytest.approx(1024)


def test_winners_are_judged_by_exact_time_and_a_record_keeps_what_the_ticks_of_one_run_print():
    scattered = cpu_result(system_ticks=240)
    assert trials.cpu_metrics(scattered, 1)["cpueff"] == pytest.approx(1024)
    assert trials.cpu_metrics(scattered, 1, ticks=True)["cpueff"] == pytest.approx(1024 * 250 / 240)


def test_ticks_are_printed_by_kernels_that_count_them_alone():
    """A writer that is held back sleeps until a tick and is seldom hit by one; since 2.6.33 its time is measured."""
    assert [trials.prints_ticks(kernel) for kernel in ("2.6.24", "2.6.32", "2.6.33", "4.4", "6.1")] == [True] * 2 + [
        False
    ] * 3


def test_phases_of_one_run_over_files_are_simulated_once():
    setup = setup_of("st3250620ns")
    texts = [setup.trial(operation, "noop", 1, 1) for operation in trials.TIOTEST_ORDER]
    told = []
    results = trials.raw(texts, 2, lambda done, of: told.append((done, of)))
    assert told == [(len(texts), len(texts))]
    assert len({result["elapsed_ns"] for result in results}) == len(texts)


def test_the_first_runs_have_every_number_of_threads_so_that_they_foretell_the_rest(monkeypatch):
    setup = setup_of("st3250620ns")
    texts = [setup.trial("seq_read", "noop", threads, seed) for threads in (1, 2, 4, 8) for seed in range(16)]
    given = []
    answered = SimpleNamespace(simulate_cells=lambda text, *_: given.append(json.loads(text)) or text)
    monkeypatch.setattr(trials, "_core", answered)
    monkeypatch.setattr(trials, "_answer_of", lambda document, result: result)
    trials.raw(texts, 2)
    threads = [trial["phases"][0]["jobs"][0]["threads"] for trial in given[0]]
    assert len(threads) == len(texts) and set(threads[:8]) == {1, 2, 4, 8} == set(threads[-8:])


def test_a_shortened_write_pass_behind_a_controller_with_a_write_cache_is_as_fast_as_a_whole_one():
    documents = []
    setup = setup_of("B").under(size_bytes=500 * 2**20, threads=2)
    for span_bytes in (None, 200 * 2**20):
        document = trials.on_files(replace(setup, values={"scheduler": "noop"}), "seq_write", 1)
        documents.append(json.dumps(trials.shortened(document, setup, span_bytes)))
    assert json.loads(documents[1])["whole"] == 2.5
    throughputs = [result["rate"] for result in simulated.run(documents, 2)]
    assert throughputs[1] == pytest.approx(throughputs[0], rel=0.1)


def test_what_a_write_cache_holds_at_the_end_of_a_part_lengthens_it_to_the_pace_of_the_whole_pass():
    result = {"bytes": 100, "elapsed_ns": 1000, "latency_mean_ns": 10.0, "held_bytes": 50}
    # 50 of 100 bytes took 1000 ns on the drives; of the whole pass of 400 bytes 350 would.
    longer = trials._of_whole_pass(result, 4.0)
    assert longer["elapsed_ns"] == 1750
    assert longer["latency_mean_ns"] == pytest.approx(17.5)
    assert trials._of_whole_pass({**result, "held_bytes": 0}, 4.0)["elapsed_ns"] == 1000


def test_a_shortened_reading_pass_finds_what_a_whole_writing_pass_would_have_left():
    """The machine is idle before it, as long as the rest of the writing pass would have taken."""
    document = json.loads(setup_of("B").trial("seq_read", "noop", 2, 1))
    phases = document["cell"]["phases"]
    whole = document["whole"]
    assert [phase.get("idle") for phase in phases] == [None, None, {"phase": 0, "times": whole - 1}, None]


def test_md_takes_processor_time_of_its_own():
    alone, array = SimulatedResults().measure(
        [asked(metric="cpueff", system=system, operation="seq_read", threads=1) for system in ("st3250620ns", "S1")]
    )
    assert array < 0.98 * alone
