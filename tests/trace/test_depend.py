"""This test will infer the structure of loads that were made with a known one."""

import heapq

import numpy as np
import pytest

from seekwise.trace.columns import REQUEST, Flag, Kind, Notes
from seekwise.trace.depend import loop, understand
from seekwise.trace.words import loop_words

MS = 1_000_000


def table(requests):
    """Rows from (arrival, completion[, kind[, flags[, process]]])."""
    rows = np.zeros(len(requests), REQUEST)
    for place, (arrival, complete, *rest) in enumerate(requests):
        kind, flags, process = (*rest, *(Kind.READ, 0, 1)[len(rest) :])
        rows[place]["arrival_ns"], rows[place]["complete_ns"] = arrival, complete
        rows[place]["kind"], rows[place]["flags"], rows[place]["process"], rows[place]["sectors"] = (
            kind,
            flags,
            process,
            8,
        )
    return rows[np.argsort(rows["arrival_ns"], kind="stable")]


def closed(depth, count, think_ns, seed=1, latency_ns=5 * MS):
    """Each of `depth` threads sends the next request some time after its last one is done; service times vary."""
    random = np.random.default_rng(seed)
    threads = [(0, thread) for thread in range(depth)]
    made = []
    for _ in range(count):
        now, thread = heapq.heappop(threads)
        done = now + int(random.gamma(2.0, latency_ns / 2))
        made.append((now, done))
        heapq.heappush(threads, (done + int(random.exponential(think_ns)) + 1, thread))
    return table(made)


def poisson(count, rate_per_s, latency_ns, seed=2):
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1e9 / rate_per_s, count)).astype(int)
    return table([(int(a), int(a + random.exponential(latency_ns))) for a in arrivals])


@pytest.mark.parametrize("depth", [1, 2, 8, 32])
def test_a_closed_loop_is_found_with_its_depth(depth):
    found = loop(closed(depth, 3000, think_ns=MS // 10))
    assert found.closed
    assert found.depth == depth
    assert found.sure > 0.999


@pytest.mark.parametrize("think_ms", [0.02, 1, 20])
def test_the_think_time_of_one_thread_is_measured(think_ms):
    found = loop(closed(1, 4000, think_ns=think_ms * MS))
    assert (found.closed, found.depth) == (True, 1)
    assert found.think_ns[1] == pytest.approx(np.log(2) * think_ms * MS, rel=0.1)


@pytest.mark.parametrize("busy", [0.3, 1.0, 4.0, 20.0])
def test_open_arrivals_are_not_taken_for_a_loop(busy):
    found = loop(poisson(5000, rate_per_s=busy * 200, latency_ns=5 * MS))
    assert not found.closed
    assert found.sure > 0.5


def test_a_program_with_a_rate_limit_is_not_told_to_wait():
    random = np.random.default_rng(5)
    arrivals = np.arange(2000) * 10 * MS
    took = np.minimum(random.gamma(2.0, 2 * MS, len(arrivals)), 9.9 * MS).astype(int)
    rows = table([(int(at), int(at + each), Kind.READ, 0, 0) for at, each in zip(arrivals, took, strict=True)])
    assert loop(rows).closed, "none ever comes while one is outstanding"
    (process,) = understand([rows], Notes(source="x", processes=["paced/1"]))
    assert process.loop.is_paced and not process.loop.closed
    assert "even times" in loop_words(process)
    own = closed(1, 2000, think_ns=MS)
    own["process"] = 0
    (process,) = understand([own], Notes(source="x", processes=["waits/1"]))
    assert process.loop.closed and not process.loop.is_paced


def test_a_device_that_is_idle_nearly_always_says_nothing_about_the_loop():
    found = loop(poisson(100, rate_per_s=0.1, latency_ns=MS))
    assert not found.closed
    assert found.sure == 0.0


def test_few_requests_or_none_with_times_give_no_finding():
    assert loop(closed(1, 10, MS)) is None
    rows = closed(1, 100, MS)
    rows["complete_ns"] = -1
    assert loop(rows) is None


def database(seed=3, transactions=400):
    """A process writes, waits for the journal to commit, thinks; a flusher writes in the background; nobody waits for it."""
    random = np.random.default_rng(seed)
    made, now = [], 0
    for _ in range(transactions):
        done = now + int(random.exponential(4 * MS))
        made.append((now, done, Kind.READ, 0, 1))
        commit = done + 100_000
        durable = commit + int(random.exponential(8 * MS)) + MS
        made.append((commit, durable, Kind.WRITE, Flag.SYNC | Flag.FUA | Flag.PREFLUSH, 2))
        now = durable + 50_000 + int(random.exponential(200_000))
    flusher = np.sort(random.uniform(0, now, 500)).astype(int)
    made += [(int(t), int(t + random.exponential(6 * MS)), Kind.WRITE, 0, 3) for t in flusher]
    return table(made)


def test_roles_are_told_apart_and_the_journals_waiters_named():
    notes = Notes(processes=["?", "mysqld/10", "jbd2/sda1-8/20", "kworker/u8:3/30"])
    found = {process.name: process for process in understand([database()], notes)}
    assert found["mysqld/10"].role == "foreground"
    assert found["jbd2/sda1-8/20"].role == "journal"
    assert found["kworker/u8:3/30"].role == "write-back"
    assert [wait.on for wait in found["mysqld/10"].waits] == ["jbd2/sda1-8/20"]
    assert found["mysqld/10"].waits[0].share > 0.9
    assert found["kworker/u8:3/30"].waits == ()


def test_a_process_that_ignores_the_journal_does_not_wait_for_it():
    rows = database()
    stranger = poisson(400, rate_per_s=30, latency_ns=2 * MS, seed=9)
    stranger["process"] = 4
    notes = Notes(processes=["?", "mysqld/10", "jbd2/sda1-8/20", "kworker/u8:3/30", "backup/40"])
    found = {process.name: process for process in understand([rows, stranger], notes)}
    assert found["backup/40"].waits == ()


def test_flushes_wait_for_writes_and_hold_back_what_follows_or_not():
    kept, loose, now = [], [], 0
    for _ in range(100):
        writes = [(now + n * 1000, now + 3 * MS + n * 1000, Kind.WRITE, 0, 1) for n in range(4)]
        kept += [*writes, (now + 4 * MS, now + 9 * MS, Kind.FLUSH, 0, 1)]
        loose += [*writes, (now + MS, now + 9 * MS, Kind.FLUSH, 0, 1), (now + 2 * MS, now + 4 * MS, Kind.READ, 0, 1)]
        now += 10 * MS
    notes = Notes(processes=["?", "app/1"])
    (strict,) = understand([table(kept)], notes)
    assert (strict.flushes.count, strict.flushes.after_writes, strict.flushes.holds_back) == (100, 1.0, 1.0)
    (free,) = understand([table(loose)], notes)
    assert (free.flushes.after_writes, free.flushes.holds_back) == (0.0, 0.0)
