"""Traces of programs whose rules are known: closed loops of any depth, databases with a journal, open arrivals; as a recorder writes them."""

import heapq
from pathlib import Path

import numpy as np

from seekwise.trace import file
from seekwise.trace.columns import REQUEST, Flag, Kind, Notes

MS = 1_000_000


def rows(notes, name, arrivals, ends, *, kind=Kind.READ, sectors=8, flags=0, seed=1):
    made = np.zeros(len(arrivals), REQUEST)
    made["arrival_ns"], made["complete_ns"] = arrivals, ends
    made["insert_ns"], made["issue_ns"] = -1, np.asarray(arrivals) + 1000
    made["sector"] = np.random.default_rng(seed).integers(0, 1_000_000, len(arrivals)) * 8
    made["sectors"], made["kind"], made["flags"] = sectors, kind, flags
    made["process"] = notes.process(name)
    return made


def loop(notes, name, count, depth=1, latency_ns=5 * MS, think_ns=MS, seed=1, **more):
    """`depth` slots, each of which thinks and sends."""
    random = np.random.default_rng(seed)
    took, thought = random.exponential(latency_ns, count) + 1000, random.exponential(think_ns, count) + 1000
    slots = [0.0] * depth
    arrivals, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for number in range(count):
        arrivals[number] = heapq.heappop(slots) + thought[number]
        ends[number] = arrivals[number] + took[number]
        heapq.heappush(slots, float(ends[number]))
    order = np.argsort(arrivals, kind="stable")
    return rows(notes, name, arrivals[order], ends[order], seed=seed, **more)


def opened(notes, name, count, gap_ns=MS, latency_ns=2 * MS, seed=2):
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(gap_ns, count)).astype(np.int64)
    return rows(
        notes, name, arrivals, arrivals + random.exponential(latency_ns, count).astype(np.int64) + 1000, seed=seed
    )


def paced(notes, name, count, period_ns=MS, latency_ns=300_000, seed=4):
    """At even times, and the one before is always done by then."""
    arrivals = np.arange(count, dtype=np.int64) * period_ns
    took = np.random.default_rng(seed).normal(latency_ns, latency_ns / 20, count).astype(np.int64)
    return rows(notes, name, arrivals, arrivals + took, seed=seed)


def database(notes, commits, data=4, latency_ns=2 * MS):
    """Writes of `data` requests at once, then the journal's commit, then the next ones."""
    at, own, journal = 0, [], []
    for _ in range(commits):
        at += 300_000
        sent = [at + 10_000 * number for number in range(data)]
        own += [(when, when + latency_ns) for when in sent]
        at = sent[-1] + latency_ns + 50_000
        journal.append((at, at + latency_ns))
        at += latency_ns
    begin, end = zip(*own, strict=True)
    first, last = zip(*journal, strict=True)
    return np.concatenate(
        [
            rows(notes, "sqlite3/10", begin, end, kind=Kind.WRITE, flags=Flag.SYNC),
            rows(
                notes, "jbd2/sda-8/20", first, last, kind=Kind.WRITE, flags=Flag.SYNC | Flag.FUA | Flag.PREFLUSH, seed=3
            ),
        ]
    )


def write(path: Path, notes: Notes, *parts: np.ndarray, chunk: int = 65_536) -> Path:
    """As a recorder: in the order of the ends."""
    notes.device("sda")
    made = np.concatenate(parts)
    made = made[np.argsort(made["complete_ns"], kind="stable")]
    writer = file.TraceWriter(path, notes)
    for first in range(0, len(made), chunk):
        writer.add(made[first : first + chunk])
    writer.close()
    return path
