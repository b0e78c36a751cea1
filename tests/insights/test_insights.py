"""Findings in words, from made numbers: what is in the numbers is said, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seekwise.report import insights
from seekwise.report.insights.schedulers import groups, slope, trend
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study.study import System

MIB = 2**20


def record(
    system: str, setting: str, operation: str, threads: int, throughput: float, *, size: int = 4096, repetition: int = 1
) -> Record:
    """A trial that moved `rate` MiB in a second, with the access time that this gives one request per thread."""
    latency = threads * size / (throughput * MIB) * 1e9
    phase = Phase(
        operation, 1.0, round(throughput * MIB), 1000, {}, latency, round(latency), CpuSeconds(0.0, throughput / 500)
    )
    given = {"system": system, "threads": threads, "block_bytes": size}
    return Record(
        "run", 0, repetition, "cell", setting, given, "simulated", 1, "now", (phase,), conditions={"role": "candidate"}
    )


def texts(records: list[Record], systems: tuple[System, ...] = (), kind: str | None = None) -> list[str]:
    return [each.text for each in insights.find(records, systems) if kind in (None, each.kind)]


BRANCHES = {
    "noop": {1: 55, 2: 76, 4: 80, 8: 84},
    "deadline": {1: 55, 2: 77, 4: 81, 8: 85},
    "anticipatory": {1: 55, 2: 50, 4: 50, 8: 50},
    "cfq": {1: 55, 2: 51, 4: 50, 8: 49.5},
}


def branches() -> list[Record]:
    return [
        record("A", name, "seq_read", t, throughput)
        for name, curve in BRANCHES.items()
        for t, throughput in curve.items()
    ]


def test_two_branches_are_found_with_who_is_in_them_and_by_how_much():
    (text,) = texts(branches(), kind="groups")
    assert text.startswith(
        "Sequential reading on A: noop and deadline reach 1.44 times the rate of anticipatory and cfq"
    )
    assert (
        ": the rate rises from 57.7 MB/s at 1 thread to 88.6 at 8, with anticipatory and cfq it falls from 57.7 MB/s at 1 thread to 52.2 at 8"
        in text
    )
    assert text.endswith("; level at 1 thread")


def test_two_programs_that_do_the_same_stand_beside_each_other_and_are_not_mixed():
    """The second writes small requests at half the rate; all else is the first one's alone, and equal."""
    made = []
    for name, half in (("first", 1.0), ("second", 0.5)):
        for system, _chunk in (("A", 16), ("B", 64)):
            for size in (MIB, 4 * MIB):
                for operation in ("seq_read", "seq_write"):
                    slow = half if operation == "seq_write" and size == MIB else 1.0
                    one = record(system, "none", operation, 1, 100 * slow, size=size)
                    made.append(replace(one, factors={**one.factors, "load": name}))
    (text,) = texts(made, kind="loads")
    assert text == (
        "second against first: 0.5 times the rate in sequential writing at 1m; within 10 % in sequential reading at 1m, "
        "sequential reading at 4m, sequential writing at 4m"
    )
    assert len(insights.loads.of_one(made)) == len(made) // 2
    alone = [each for each in made if each.factors["load"] == "first"]
    assert texts(alone) == [each for each in texts(made) if each != text]


def test_names_and_order_of_settings_do_not_matter():
    renamed = {"w": BRANCHES["cfq"], "x": BRANCHES["noop"], "y": BRANCHES["anticipatory"], "z": BRANCHES["deadline"]}
    assert sorted(map(sorted, groups(renamed, 0.1))) == [["w", "y"], ["x", "z"]]


def test_level_settings_are_one_group():
    throughputs = {"a": 100, "b": 103, "c": 98}
    made = [
        record("A", name, "seq_write", t, throughput / t**0.2)
        for name, throughput in throughputs.items()
        for t in (1, 2, 4, 8)
    ]
    (text,) = texts(made, kind="level")
    assert "no difference beyond 10 % between 3 settings; the rate falls from 105 MB/s at 1 thread" in text
    assert not texts(made, kind="groups")


def test_scatter_of_repeats_keeps_noise_from_looking_like_groups():
    made = []
    for repetition, off in ((1, 0.8), (2, 1.0), (3, 1.2)):
        made += [record("A", "a", "seq_read", t, 100 * off, repetition=repetition) for t in (1, 8)]
        made += [record("A", "b", "seq_read", t, 120 * off, repetition=repetition) for t in (1, 8)]
    (text,) = texts(made, kind="level")
    assert "no difference beyond 80 %, which is the noise between 2 settings" in text


def test_depths_are_never_averaged_over():
    """A deep queue is ten times as fast: pooled with a shallow one that would look like noise of 160 %, and all settings alike."""
    made = [
        replace(
            record("ten cores", name, "rand_read", 4, throughput * factor, repetition=repetition),
            combination=f"system=ten cores iodepth={depth}",
        )
        for name, throughput in (("none", 100), ("bfq", 50))
        for depth, factor in ((1, 1), (16, 10))
        for repetition in (1, 2, 3)
    ]
    said = texts(made)
    assert {text.partition(":")[0] for text in said} == {"iodepth 1", "iodepth 16"}
    assert sum("none reaches 2 times the rate of bfq" in text for text in said) == 2
    assert not any("no difference" in text for text in said if "CPU efficiency" not in text)


def test_the_slope_of_latency_is_a_fit_per_thread():
    assert slope({1: 7.0, 2: 10.7, 4: 18.1, 8: 32.9}) == pytest.approx((3.7, 1.0))
    (text,) = texts(branches(), kind="slope")
    assert "each further thread adds 0.0431 to 0.0436 ms with noop and deadline, 0.0788 to 0.0799 ms with" in text


def test_a_curve_that_turns_is_neither_rising_nor_falling():
    assert trend({1: 70, 2: 140, 4: 120, 8: 94}, "MB/s").startswith("goes from 70 MB/s at 1 thread over 140 at 2")


def array_table(chunk: int) -> tuple[list[Record], tuple[System, ...]]:
    """An array that is one drive up to its chunk and twice as fast from four chunks on; random meets sequential at 512 KiB."""
    systems = (
        System(name="one", drive="samsung_850_evo", kernel="4.1"),
        System(name="r10", drive="samsung_850_evo", drives=4, raid_level="raid10", chunk_kib=chunk, kernel="4.1"),
    )
    made = []
    for kib in (8, 16, 32, 64, 128, 512, 1024):
        single = 400 * kib / (kib + 40)
        gain = 1.0 if kib <= chunk else 2.0 if kib >= 4 * chunk else 1.5
        for order, share in (("seq", 1.0), ("rand", 1.0 if kib >= 512 else 0.6)):
            made.append(record("one", "deadline", f"{order}_read", 1, single * share, size=kib * 1024))
            made.append(record("r10", "deadline", f"{order}_read", 1, single * share * gain, size=kib * 1024))
    return made, systems


def test_where_an_array_begins_to_beat_one_drive_is_told_in_chunks():
    made, systems = array_table(32)
    (beats,) = texts(made, systems, "threshold")
    assert beats.endswith("from 64k requests on with chunk 32 KiB")
    (doubles,) = texts(made, systems, "doubling")
    assert doubles.endswith("from 128k requests on with chunk 32 KiB")
    (meets,) = texts(made, systems, "meeting")
    assert "as fast as sequential reading (within 10 %) from 512k requests on, on one and r10" in meets


def test_an_array_that_never_gains_is_said_to_gain_nowhere():
    made, systems = array_table(4096)
    assert texts(made, systems, "threshold")[0].endswith("or more: nowhere with chunk 4096 KiB")
    assert texts(made, systems, "doubling")[0].endswith("nowhere with chunk 4096 KiB")


def test_systems_that_differ_in_one_thing_are_compared_and_others_are_not():
    common = {"drive": "st3250620ns", "drives": 2, "raid_level": "raid1", "kernel": "2.6.24"}
    systems = (
        System(name="on", **common, options={"ncq": "on"}),
        System(name="off", **common, options={"ncq": "off"}),
        System(name="other", **{**common, "drives": 3, "raid_level": "raid5"}, options={"ncq": "on"}),
    )
    made = [
        record(name, setting, "seq_read", t, throughput)
        for name, throughputs in (
            ("on", {"noop": 90, "cfq": 65}),
            ("off", {"noop": 60, "cfq": 64}),
            ("other", {"noop": 1, "cfq": 1}),
        )
        for setting, throughput in throughputs.items()
        for t in (1, 2)
    ]
    (text,) = texts(made, systems, "pair")
    assert text == "NCQ on against off (on against off): +50 % with noop, level with cfq in sequential reading"


def test_no_records_no_findings():
    assert insights.find([], ()) == []


def test_settings_with_as_many_but_other_thread_counts_are_not_compared():
    """Trials that were not valid leave such gaps."""
    kept = [each for each in branches() if (each.setting, each.factors["threads"]) not in {("noop", 1), ("cfq", 8)}]
    three = [each for each in kept if each.setting in ("noop", "cfq")]
    assert all("noop" not in text or "cfq" not in text for text in texts(three))
    assert texts(kept, kind="groups")


def under_a_lock(setting: str, iops: float, waited_s: float, busy_s: float, combination: str) -> Record:
    made = record("ten cores", setting, "rand_read", 10, iops * 4096 / MIB)
    phase = replace(
        made.phases[0],
        ios=round(iops),
        cpu=CpuSeconds(0.0, busy_s, system=busy_s),
        details={"lock_wait_s": waited_s},
    )
    return replace(made, combination=combination, phases=(phase,))


def test_a_lock_is_named_with_the_rate_up_to_which_it_costs_nothing_and_its_cap():
    records = [
        under_a_lock("none", 58_000, 0.0, 0.3, "depth 1"),
        under_a_lock("mq-deadline", 57_500, 0.001, 0.32, "depth 1"),
        under_a_lock("none", 778_000, 0.0, 2.4, "depth 128"),
        under_a_lock("mq-deadline", 474_600, 7.6, 10.0, "depth 128"),
    ]
    (text,) = texts(records, kind="lock")
    assert text.startswith(
        "mq-deadline on ten cores: costs less than 5 % of the rate up to 58,000 requests per second; "
    )
    assert "its lock caps the drives at 475,000, where processors spend 76 % of their time waiting for it" in text


def test_without_a_word_on_locks_none_is_named():
    assert texts(branches(), kind="lock") == []
    lossless = [
        under_a_lock("none", 58_000, 0.0, 0.3, "depth 1"),
        under_a_lock("kyber", 57_900, 0.0, 0.34, "depth 1"),
    ]
    (text,) = texts(lossless, kind="lock")
    assert "caps" not in text
    half = [
        under_a_lock("none", 778_000, 0.0, 2.4, "depth 128"),
        under_a_lock("mq-deadline", 490_000, 1.6, 4.0, "depth 128"),
    ]
    (text,) = texts(half, kind="lock")
    assert "loses up to 37 % beyond, with 40 % of the processors' time spent waiting for its lock" in text


def reads_during_writes(setting: str, p99_ms: float, reads: int, writes: int) -> Record:
    made = record("ten cores", setting, "rand_read", 4, 1.0)
    job = replace(made.phases[0], details={"group_threads": 4}, ios=reads, elapsed_s=1.0)
    slow = reads // 50
    read = replace(job, latency_bins={100_000: reads - slow, round(p99_ms * 1e6): slow})
    return replace(made, phases=(read, replace(job, operation="rand_write", ios=writes)))


def test_whom_a_scheduler_protects_is_said_with_what_it_costs_the_writers():
    records = [
        reads_during_writes("none", 8.0, 3000, 30_000),
        reads_during_writes("bfq", 10.0, 3000, 20_000),
        reads_during_writes("kyber", 2.0, 9000, 24_000),
    ]
    (text,) = texts(records, kind="protects")
    assert text.startswith(
        "readers next to writers on ten cores: kyber protects readers: 3 times the reads, 0.8 times the writes; "
    )
    assert "p99 of a read is 8 ms under none, 2 ms under kyber, 10 ms under bfq" in text


def test_no_protection_is_a_finding_too():
    records = [reads_during_writes("none", 8.0, 3000, 30_000), reads_during_writes("bfq", 12.0, 3000, 20_000)]
    (text,) = texts(records, kind="protects")
    assert "no scheduler protects readers" in text
    assert texts(records, kind="lock") == []
