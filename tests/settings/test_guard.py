"""These tests will let the guard judge loads whose truth is known, and roll back a real device under a load that gets worse."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import replace

import numpy as np
import pytest

from control.conftest import needs_root
from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.settings import read_settings
from seekwise.judge.decision.periods import histogram
from seekwise.settings import guard_log, history
from seekwise.settings.guard import worker
from seekwise.settings.guard.compare import block_length, compare
from seekwise.settings.guard.job import GuardStopped, settle
from seekwise.settings.guard.watch import Interval, Watch

from .test_apply import seekwise


def load(
    generator: np.random.Generator,
    seconds: int,
    *,
    latency_ms: float = 5.0,
    correlation: float = 0.7,
    spread: float = 0.3,
    size: int = 4096,
    reads: int = 200,
    pressure: float = 0.2,
) -> list[Interval]:
    """A load whose latency wanders: log-normal AR(1) around `latency_ms`, with a number of requests that wanders as well."""
    state, found = generator.normal(0, 1), []
    for _ in range(seconds):
        state = correlation * state + np.sqrt(1 - correlation**2) * generator.normal()
        count = int(generator.poisson(reads * np.exp(0.2 * generator.normal())))
        spent = int(count * latency_ms * np.exp(spread * state))
        found.append(Interval(1.0, count, count * size, spent, 0, 0, 0, min(1.0, max(0.0, pressure + 0.05 * state))))
    return found


@pytest.mark.slow
def test_equal_loads_that_wander_are_hardly_ever_called_worse():
    generator = np.random.default_rng(11)
    false = 0
    runs = 200
    for _ in range(runs):
        before, after = load(generator, 150), load(generator, 300)
        # As the guard asks: five looks at a growing period, rolled back at the first that says worse. No limit: the hardest case.
        false += any(compare(before, after[: 60 * look], 0.0, looks=5).word == "worse" for look in range(1, 6))
    assert false / runs < 0.05


def test_strong_correlation_costs_certainty_not_honesty():
    generator = np.random.default_rng(12)
    false = sum(
        compare(load(generator, 120, correlation=0.95), load(generator, 120, correlation=0.95), 0.0).word == "worse"
        for _ in range(100)
    )
    assert false <= 4


def test_twice_the_latency_is_found():
    generator = np.random.default_rng(13)
    found = sum(
        compare(load(generator, 150), load(generator, 150, latency_ms=10), 0.1, looks=5).word == "worse"
        for _ in range(50)
    )
    assert found >= 48


def test_larger_requests_alone_are_not_worse():
    generator = np.random.default_rng(14)
    before = load(generator, 200)
    after = load(generator, 200, latency_ms=15, size=65536, reads=60)
    assert compare(before, after, 0.1).word != "worse"


def test_smaller_requests_alone_are_not_worse():
    generator = np.random.default_rng(15)
    assert compare(load(generator, 200, latency_ms=15, size=65536), load(generator, 200), 0.1).word != "worse"


def test_more_tasks_that_wait_are_worse_even_without_reads():
    generator = np.random.default_rng(16)
    before = load(generator, 200, pressure=0.1)
    after = load(generator, 200, pressure=0.6)
    assert compare(before, after, 0.1).word == "worse"


def with_requests(intervals: list[Interval], generator: np.random.Generator, *, tail: float = 1.0) -> list[Interval]:
    """The same intervals with single requests: log-normal around the interval's mean; `tail` times as long for 3 in 100."""
    found = []
    for each in intervals:
        count = each.reads // 4
        waits = each.read_ms / max(1, each.reads) * 1e6 * np.exp(0.3 * generator.normal(size=count))
        waits[generator.random(count) < 0.03] *= tail
        found.append(replace(each, bins=histogram(waits)))
    return found


def test_a_tail_that_grows_is_found_although_the_mean_stays():
    generator = np.random.default_rng(21)
    words = []
    for _ in range(10):
        before = with_requests(load(generator, 150, correlation=0.3), generator)
        after = with_requests(load(generator, 150, correlation=0.3), generator, tail=6)
        found = compare(before, after, 0.2, looks=5)
        words.append((found.word, "p99 latency is" in found.reason))
    assert words.count(("worse", True)) >= 9


def test_equal_tails_are_hardly_ever_called_worse():
    generator = np.random.default_rng(22)
    false = 0
    for _ in range(40):
        before, after = (with_requests(load(generator, 120), generator, tail=6) for _ in range(2))
        found = compare(before, after, 0.0)
        false += found.word == "worse"
        tail = found.metrics[-1]
        assert tail.name == "p99 latency" and tail.low < 1.2 and tail.high > 0.8
    assert false <= 4


def test_larger_requests_alone_are_no_worse_a_tail():
    generator = np.random.default_rng(23)
    before = with_requests(load(generator, 200), generator)
    after = with_requests(load(generator, 200, latency_ms=15, size=65536, reads=60), generator)
    assert compare(before, after, 0.1).word != "worse"


def test_few_requests_have_no_tail():
    generator = np.random.default_rng(24)
    few = with_requests(load(generator, 20, reads=40), generator)
    assert not [each for each in compare(few, few, 0.1).metrics if each.name == "p99 latency"]


def test_an_idle_device_decides_nothing():
    idle = [Interval(1.0, 0, 0, 0, 0, 0, 0, None)] * 60
    found = compare(idle, idle, 0.1)
    assert (found.word, found.reason) == ("unknown", "too little I/O to compare")


def test_half_the_latency_is_better_and_the_same_is_the_same():
    generator = np.random.default_rng(17)
    before = load(generator, 300, correlation=0.2)
    assert compare(before, load(generator, 300, latency_ms=2.5, correlation=0.2), 0.1).word == "better"
    assert compare(before, load(generator, 300, correlation=0.2), 0.5).word == "same"


def test_the_block_length_follows_the_correlation():
    generator = np.random.default_rng(18)
    white = generator.normal(size=400)
    red = np.zeros(400)
    for index in range(1, 400):
        red[index] = 0.9 * red[index - 1] + generator.normal()
    assert block_length(white) <= 3
    assert block_length(red) >= 20
    assert block_length(np.ones(50)) == 1


def test_counters_of_two_looks_make_an_interval(tmp_path, monkeypatch):
    (tmp_path / "proc/pressure").mkdir(parents=True)
    line = "   8       0 sda {} 0 {} {} {} 0 {} {} 0 0 0\n"
    looks = iter([(10, 80, 5, 20, 160, 7, 10**6), (30, 240, 45, 25, 200, 17, 10**6 + 50_000)])

    def next_look(*_):
        values = next(looks)
        (tmp_path / "proc/diskstats").write_text(line.format(*values[:6]))
        (tmp_path / "proc/pressure/io").write_text(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={values[6]}\n")

    next_look()
    (tmp_path / "sys").mkdir()
    monkeypatch.setattr(time, "sleep", lambda seconds: (next_look(), _slept(seconds)))
    watch = Watch(("sda",), tmp_path)
    watch.run(0.1)
    (seen,) = watch.intervals
    assert (seen.reads, seen.read_bytes, seen.read_ms) == (20, 160 * 512, 40)
    assert (seen.writes, seen.write_bytes, seen.write_ms) == (5, 40 * 512, 10)
    assert 0 < seen.pressure_some < 1


_real_sleep = time.sleep


def _slept(seconds: float) -> None:
    _real_sleep(seconds)


# The whole guard, on a device of our own


class Reader:
    """Reads 4 KiB at random from a device, past the cache; `delay_s` makes each read's thread hold the device longer."""

    def __init__(self, device: str) -> None:
        self.process = subprocess.Popen(
            ["fio", "--name=load", f"--filename={device}", "--rw=randread", "--bs=4k", "--direct=1", "--iodepth=4",
             "--ioengine=libaio", "--time_based", "--runtime=120", "--rate_iops=400", "--output=/dev/null"],
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


@needs_root
@pytest.mark.root
@pytest.mark.slow
def test_the_guard_keeps_what_does_no_harm_and_status_knows_it(loop, tmp_path):
    before = read_settings(loop)["queue/read_ahead_kb"]
    with Reader(f"/dev/{loop}"):
        done = seekwise(
            "apply", "--device", f"/dev/{loop}", "--set", "read_ahead_kb=64", "--guard", "20s", "--limit", "90%", "--json", state=tmp_path
        )  # fmt: skip
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["outcome"] == "kept", done.stderr
    assert read_settings(loop)["queue/read_ahead_kb"] == "64"
    assert history.applications(tmp_path)[0].guard["word"] == document["comparison"]["word"]
    assert seekwise("revert", state=tmp_path).returncode == 0
    assert read_settings(loop)["queue/read_ahead_kb"] == before


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A guard's document on a machine of files, with its state in a folder of its own."""
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    return {
        "id": "g1", "started_at": history.now(), "devices": ["sda"], "wanted": {"sda": {"queue/scheduler": "bfq"}}, "ways": [],
        "seconds": 10, "limit": 0.1, "reason": "test", "evidence": None, "outcome": "starting", "headline": "",
    }  # fmt: skip


class Played(Watch):
    """Plays intervals instead of waiting for them: slow once the new scheduler is set."""

    slow = True
    generator = np.random.default_rng(3)

    def run(self, seconds, stop=lambda: False):
        text = (self.root / "sys/block/sda/queue/scheduler").read_text()
        latency = 20.0 if Played.slow and "[bfq]" in text else 5.0
        self.intervals += load(Played.generator, 60, latency_ms=latency, correlation=0.2)


@pytest.mark.parametrize("slow", [True, False])
def test_a_slower_load_is_rolled_back_and_an_equal_one_is_kept(kernel, job, monkeypatch, slow):
    folder = kernel.add_disk("sda", "mq-deadline")
    (kernel.root / "proc").mkdir(exist_ok=True)
    monkeypatch.setattr(worker, "Watch", Played)
    monkeypatch.setattr(Played, "slow", slow)
    document = worker.guard(job, kernel.root)
    assert document["outcome"] == ("rolled back" if slow else "kept"), document["headline"]
    assert ("[mq-deadline]" if slow else "[bfq]") in (folder / "queue/scheduler").read_text()
    assert Journal().is_empty() is slow
    assert bool(history.applications()) is not slow
    if slow:
        assert "it went back with the old settings" in document["headline"]
    assert guard_log.read()[-1]["outcome"] == document["outcome"]


def test_a_guard_that_is_stopped_goes_back(kernel, job, monkeypatch):
    folder = kernel.add_disk("sda", "mq-deadline")

    class Stops(Played):
        def run(self, seconds, stop=lambda: False):
            super().run(seconds)
            if "[bfq]" in (folder / "queue/scheduler").read_text():
                raise GuardStopped

    monkeypatch.setattr(worker, "Watch", Stops)
    document = worker.guard(job, kernel.root)
    assert document["outcome"] == "rolled back" and "[mq-deadline]" in (folder / "queue/scheduler").read_text()


def test_a_guard_that_was_killed_is_settled_by_rolling_back(kernel, job, monkeypatch):
    folder = kernel.add_disk("sda", "mq-deadline")

    class Dies(Played):
        def run(self, seconds, stop=lambda: False):
            super().run(seconds)
            if "[bfq]" in (folder / "queue/scheduler").read_text():
                raise SystemExit(137)

    monkeypatch.setattr(worker, "Watch", Dies)
    with pytest.raises(SystemExit):
        worker.guard(job, kernel.root)
    assert "[bfq]" in (folder / "queue/scheduler").read_text()
    settle("g1")
    assert "[mq-deadline]" in (folder / "queue/scheduler").read_text()
    assert guard_log.read()[-1]["outcome"] == "rolled back"


def test_a_guard_that_was_killed_and_that_nobody_waits_for_is_undone_by_the_next_command(kernel, job, monkeypatch):
    folder = kernel.add_disk("sda", "mq-deadline")

    class Dies(Played):
        def run(self, seconds, stop=lambda: False):
            super().run(seconds)
            if "[bfq]" in (folder / "queue/scheduler").read_text():
                os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(worker, "Watch", Dies)
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            worker.guard(job, kernel.root)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert "[bfq]" in (folder / "queue/scheduler").read_text()
    assert "ended before it could decide" in guard_log.sentence(guard_log.read()[-1])
    said = []
    recovery.at_start(said.append)
    assert "[mq-deadline]" in (folder / "queue/scheduler").read_text(), said
    settle("g1")
    assert guard_log.read()[-1]["outcome"] == "rolled back"


@pytest.mark.parametrize("words", [("--guard", "soon"), ("--guard", "1s"), ("--guard", "10m", "--limit", "0")])
def test_a_guard_that_cannot_work_is_refused(tmp_path, words):
    done = seekwise("apply", "--device", "/", "--set", "nomerges=0", *words, state=tmp_path)
    assert done.returncode == 2 and done.stderr.count("error: ") == 1
