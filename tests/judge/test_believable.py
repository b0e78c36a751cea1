"""What a measurement cannot be is said; what is only unusual is not."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.judge.believable import implausible, implausible_periods
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study import uses
from seekwise.workload.study.uses import Job, Use

FOREIGN = Path(__file__).parents[1] / "importing/files"


def record(
    throughput=150e6, size=4096, latency_ms=None, threads=1, depth=1, operation="rand_read", bins=None, **more
) -> Record:
    ios = int(10 * throughput / size)
    mean = 1e6 * latency_ms if latency_ms is not None else threads * depth * 1e9 / (ios / 10) * 0.97
    windows, moved = more.pop("windows", ()), more.pop("device_bytes", None)
    found = Phase(operation, 10.0, int(10 * throughput), ios, bins or {int(mean): ios - 5, int(3 * mean) + 1: 5}, mean, int(3 * mean), CpuSeconds(0.1, 0.1), moved, windows)  # fmt: skip
    base = Record(
        "r", 0, 1, f"threads={threads}", "none", {"threads": threads, "iodepth": depth}, "measured", 1, "2026", (found,),
        environment={"devices": [{"name": "sda", "transport": "sata"}]},
    )  # fmt: skip
    return replace(base, **more)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([record(throughput=750e6, conditions={"imported": True})], "above what the bus carries (SATA 6 Gb/s: 600 MB/s)"),
        ([record(throughput=750e6, device_bytes=int(7.5e9))], "has 750 MB/s, above what the bus carries"),
        ([record(latency_ms=4.0, depth=8, throughput=40e6)], "which are 39.1 at once (Little's law), and 8 were asked for"),
        ([record(latency_ms=0.1, depth=64, throughput=40e6)], "0.977 requests were outstanding on average, 64 were asked for"),
        ([record(windows=tuple((0.0 if 3 <= n < 5 else 150e6, 1e5) for n in range(20)))], "nothing was done for 1.0 s"),
        ([record(bins={2**n: 100 for n in range(14, 20)})], "to a factor of two only"),
        ([record(throughput=64 * 2**20), record(throughput=64 * 2**20)], "exactly 64 MiB/s in every repeat"),
        ([record(load={"options": {"jobs": [{"name": "seqread", "rw": "randread"}]}})], "called sequential and is randread"),
        ([record(load={"options": {"jobs": [{"name": "random", "rw": "write"}]}})], "called random and is write"),
        (
            [record(load={"options": {"rw": "read", "numjobs": "8", "filename": "/dev/sda", "jobs": [{"name": "x"}]}})],
            "8 jobs read the same blocks",
        ),
        ([record(load={"options": {"jobs": [{"filename": "/dev/nvme0n1p2"}]}})], "/dev/nvme0n1p2 is a partition"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(records, said):
    found = implausible(records)
    assert len(found) == 1 and said in found[0], found


@pytest.mark.parametrize(
    "one",
    [
        record(),
        record(threads=4, depth=16),
        record(throughput=64.3 * 2**20),
        record(throughput=2e9, device_bytes=int(3e9)),
        record(throughput=590e6, size=131072, operation="seq_read"),
        record(throughput=5e9, environment={"devices": [{"transport": "sata"}] * 10}),
        record(provenance="simulated", throughput=900e6),
        record(valid=False, throughput=900e6),
        record(windows=tuple((150e6 if n % 3 else 0.0, 1e5) for n in range(40))),
        record(load={"options": {"jobs": [{"name": "seqread", "rw": "read", "filename": "/dev/nvme0n1"}]}}),
    ],
)
def test_what_is_only_unusual_is_not(one):
    assert implausible([one]) == []


def test_results_of_fio_as_it_writes_them_are_believed_unless_they_are_limited(tmp_path):
    files = sorted(FOREIGN.glob("fio-*.?.json"))
    assert implausible(importing.read(files)[1]) == []
    for number in (1, 2):
        words = [
            "fio", "--name=seq", "--rw=randread", "--bs=4k", "--size=8m", f"--filename={tmp_path / 'data'}", "--rate_iops=512",
            "--ioengine=libaio", "--iodepth=16", "--runtime=2", "--time_based", "--output-format=json+", f"--output={tmp_path}/none.{number}.json",
        ]  # fmt: skip
        subprocess.run(words, check=True, capture_output=True)
        assert json.loads((tmp_path / f"none.{number}.json").read_text())["jobs"]
    said = " ".join(implausible(importing.read(sorted(tmp_path.glob("none.*.json")))[1]))
    assert "called sequential and is randread" in said and "were asked for" in said


def periods(*, transport="sata", device=300e6, got=299e6, latency_ms=0.4, iops=9000.0, rounds=4, use="direct-streams"):
    """Periods of a use under one setting, as `tune` stores them: what the device and the load moved per second."""
    phase = Phase("seq_read", 1.3, int(1.3 * got), int(1.3 * iops), {400_000: 10}, 1e6 * latency_ms, 400_000, CpuSeconds(0.1, 0.1), details={"job": JOB[use]})  # fmt: skip
    moved = {"sda": {"reads": 1, "writes": 0, "read_bytes": int(1.5 * device), "write_bytes": 0, "busy_ms": 9}}
    return [
        Record(
            "r", number, number, f"use={use}", "bfq", {"use": use, "scheduler": "bfq"}, "measured", 1, "2026", (phase,),
            environment={"devices": [{"name": "sda", "transport": transport}]} if number == 0 else {},
            conditions={"length_s": 1.5, "device": moved},
        )
        for number in range(rounds)
    ]  # fmt: skip


JOB = {each.name: each.job[0].name for each in uses.shipped()}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"device": 640e6, "got": 630e6}, "sda moved 640 MB/s, above what its bus carries (SATA 6 Gb/s: 600 MB/s)"),
        ({"device": 100e6}, "the load got 2.59 times the data that the drives moved"),
        ({"latency_ms": 400.0}, "rate and latency make 3,600 requests at once (Little's law), and"),
        ({"device": 2**28 * 1.0, "got": 2.0**28 * 1.0000001}, "exactly 256 MiB/s in every repeat"),
    ],
)
def test_what_a_run_of_tune_cannot_have_measured_is_said(facts, said):
    found = implausible_periods(periods(**facts), uses.shipped())
    assert len(found) == 1 and said in found[0], found


@pytest.mark.parametrize(("device", "said"), [(290e6, False), (150e6, True), (0.0, True)])
def test_readers_that_memory_answers_are_said(device, said):
    """A reader next to commands is there to keep the drive busy: the drive's own counters tell whether it does."""
    (use,) = (each for each in uses.shipped() if each.name == "commands-readers")
    made = periods(use=use.name, device=device, got=450e6)
    for each in made:
        each.phases[0].details["job"] = "readers"
    found = implausible_periods(made, uses.shipped())
    assert [f"readers got 2,340 MB and the drives read {6 * device / 1e6:,.0f}" in each for each in found] == [
        True
    ] * said


@pytest.mark.parametrize(
    "facts", [{}, {"device": 900e6, "got": 899e6, "transport": "nvme"}, {"transport": "virtio", "device": 5e9}]
)
def test_what_a_run_of_tune_can_have_measured_is_not(facts):
    assert implausible_periods(periods(**facts), uses.shipped()) == []
    simulated = [replace(each, provenance="simulated") for each in periods(device=100e6)]
    assert implausible_periods(simulated, uses.shipped()) == []
    own = Use(
        name="direct-streams",
        title="x",
        group="live",
        job=[Job(name="command", role="foreground", pattern="random read", judge=("rate",))],
    )
    assert implausible_periods(periods(device=1e6), [own]) == []
