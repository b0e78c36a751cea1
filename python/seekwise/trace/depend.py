"""What in a trace is a reply to what: closed loops and their depth, think times, flushes, the journal, write-back.

A process that keeps at most D requests outstanding never sends one while D are. Had its arrivals nothing to do with
completions, they would fall into those times as often as into others. So the test: for each depth d, the arrivals that
came while d or more of the process's own requests were outstanding, against those expected from the time so spent.
Where far fewer came than expected the loop is closed at d; how sure that is, is the probability of so few by chance
(Poisson). Arrivals that fail the test are open: on another storage they come when they came.

The think time of a closed loop runs from the completion that made room to the next arrival. Flushes, journal commits
and write-back have their own signs, below. All of it is inference: each finding says how sure it is.

Sources of the idea: Tarihi, Asadi and Sarbazi-Azad, "DiskAccel", SIGMETRICS 2015; Haghdoost et al., "hfplayer", FAST
2017 (dependencies from completion and issue times); Lee et al., "TraceTracker", IISWC 2017 (idle and processor time).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from seekwise import special
from seekwise.trace import paced
from seekwise.trace.columns import Flag, Kind, Notes
from seekwise.trace.paced import REQUESTS_MIN

ROWS_MAX = 4_000_000
"""Structure does not change with length: so many requests are looked at."""
EXPECTED_MIN = 10.0
SHARE_MAX = 0.05
SURE_MIN = 0.999
DEPTH_MAX = 4096
NEAR_NS = 1_000_000
WRITE_BACK = ("kworker", "flush-", "pdflush", "bdi-", "kernel-")
JOURNAL = ("jbd2", "kjournald", "xfsaild", "xfs-", "btrfs-transacti", "txg_sync", "f2fs_ckpt")


@dataclass(frozen=True)
class Loop:
    """How a process's requests follow from its completions."""

    closed: bool
    """Whether it asks again when a request is done."""
    depth: int
    """Requests that it keeps outstanding at most; of an open load the most that were."""
    sure: float
    """Probability that the loop is closed at this depth, 0 to 1; of an open load the part of the arrivals expected by
    chance while a request was outstanding that did come."""
    expected: float
    """Arrivals at full depth, had they nothing to do with completions; and those that came."""
    came: int
    think_ns: tuple[float, float, float]
    """10th, 50th and 90th percentile of the time from the completion that made room to the arrival."""
    is_paced: bool = False
    """It sends at even times, so that it only seems to wait."""


@dataclass(frozen=True)
class Wait:
    """A process sends its next request when another one's are done."""

    on: str
    share: float
    """Arrivals that come within a millisecond of such a completion, and the share that chance would give."""
    by_chance: float
    sure: float


@dataclass(frozen=True)
class Flushes:
    """What flushes of a process have to do with its writes."""

    count: int
    after_writes: float
    """Share of flushes sent while none of the process's writes was outstanding."""
    holds_back: float
    """Share of flushes during which the process sent nothing else."""
    sure: float


@dataclass(frozen=True)
class Process:
    """A process of a trace."""

    name: str
    role: str
    """`foreground`, `write-back`, `journal` or `kernel`."""
    requests: int
    bytes: int
    loop: Loop | None
    """None with too few requests, or without completion times."""
    flushes: Flushes | None
    waits: tuple[Wait, ...]


def understand(chunks: Iterable[np.ndarray], notes: Notes) -> list[Process]:
    """Every process of a trace, the one with the most requests first."""
    parts, count = [], 0
    for chunk in chunks:
        if count < ROWS_MAX:
            parts.append(chunk)
            count += len(chunk)
    if not count:
        return []
    rows = np.concatenate(parts)[:ROWS_MAX]
    rows = rows[np.argsort(rows["arrival_ns"], kind="stable")]
    places, counts = np.unique(rows["process"], return_counts=True)
    by_name = {int(place): rows[rows["process"] == place] for place in places[np.argsort(-counts)][:1000]}
    commits = {
        notes.processes[place]: np.sort(own["complete_ns"][_commits(own)])
        for place, own in by_name.items()
        if _role(notes.processes[place], own) == "journal"
    }
    return [_process(notes.processes[place], own, commits) for place, own in by_name.items()]


def _process(name: str, rows: np.ndarray, commits: dict[str, np.ndarray]) -> Process:
    role = _role(name, rows)
    waits = tuple(
        wait
        for other, times in commits.items()
        if other != name and role == "foreground" and (wait := _wait(rows, other, times)) is not None
    )
    return Process(
        name=name,
        role=role,
        requests=len(rows),
        bytes=int(rows["sectors"].sum()) * 512,
        loop=_unless_paced(rows, loop(rows)),
        flushes=_flushes(rows),
        waits=waits,
    )


def _role(name: str, rows: np.ndarray) -> str:
    """Write-back: a kernel thread that writes what nobody waits for. Journal: one that commits."""
    if name.startswith(JOURNAL):
        return "journal"
    writes = rows["kind"] == Kind.WRITE
    sync = (rows["flags"] & (Flag.SYNC | Flag.FUA | Flag.PREFLUSH)) > 0
    if name.startswith(WRITE_BACK):
        return "write-back" if (writes & ~sync).sum() * 2 > len(rows) else "kernel"
    return "foreground"


def loop(rows: np.ndarray) -> Loop | None:
    """Closed or open, from the arrival and completion times of one process; arrivals in order."""
    rows = rows[rows["complete_ns"] >= rows["arrival_ns"]]
    if len(rows) < REQUESTS_MIN:
        return None
    arrivals = rows["arrival_ns"]
    done = np.sort(rows["complete_ns"])
    before = np.arange(len(rows)) - np.searchsorted(done, arrivals, side="right")
    spent = _time_at_least(arrivals, done)
    whole = float(max(done[-1] - arrivals[0], 1))
    came = np.bincount(np.clip(before, 0, DEPTH_MAX), minlength=len(spent) + 1)
    came_at_least = np.cumsum(came[::-1])[::-1]
    ignores = 0.0
    for depth in range(1, min(len(spent), DEPTH_MAX)):
        expected = len(rows) * spent[depth] / whole
        if expected < EXPECTED_MIN:
            break
        fewer = int(came_at_least[depth]) if depth < len(came_at_least) else 0
        sure = 1.0 - float(special.poisson_at_most(fewer, expected))
        if fewer <= SHARE_MAX * expected and sure >= SURE_MIN:
            return Loop(True, depth, sure, expected, fewer, _think(arrivals, done, depth))
        if depth == 1:
            ignores = min(fewer / expected, 1.0)
    # Where nothing was outstanding long enough nothing can be said: `ignores` stays 0.
    expected = len(rows) * spent[1] / whole if len(spent) > 1 else 0.0
    return Loop(False, int(before.max()) + 1, ignores, expected, int(came_at_least[1:2].sum()), (0.0, 0.0, 0.0))


def _unless_paced(rows: np.ndarray, loop: Loop | None) -> Loop | None:
    known = rows[rows["complete_ns"] >= rows["arrival_ns"]]
    if loop is None or not loop.closed or not paced.is_paced(known["arrival_ns"], np.sort(known["complete_ns"])):
        return loop
    return replace(loop, closed=False, sure=0.0, think_ns=(0.0, 0.0, 0.0), is_paced=True)


def _time_at_least(arrivals: np.ndarray, done: np.ndarray) -> np.ndarray:
    """ns during which at least d requests were outstanding, by d."""
    times = np.concatenate([arrivals, done])
    steps = np.concatenate([np.ones(len(arrivals), np.int64), -np.ones(len(done), np.int64)])
    order = np.lexsort((steps, times))
    outstanding = np.clip(np.cumsum(steps[order])[:-1], 0, DEPTH_MAX)
    spans = np.diff(times[order])
    at = np.bincount(outstanding, weights=spans)
    return np.cumsum(at[::-1])[::-1]


def _think(arrivals: np.ndarray, done: np.ndarray, depth: int) -> tuple[float, float, float]:
    """From the n-th completion to the arrival that takes its place, the (n + depth)-th."""
    think = arrivals[depth:] - done[: len(arrivals) - depth]
    if not len(think):
        return (0.0, 0.0, 0.0)
    low, middle, high = np.percentile(np.maximum(think, 0), [10, 50, 90])
    return float(low), float(middle), float(high)


def _commits(rows: np.ndarray) -> np.ndarray:
    """Requests of a journal that make a transaction durable; all of them where none says so."""
    durable = (rows["flags"] & (Flag.FUA | Flag.PREFLUSH)) > 0
    durable |= rows["kind"] == Kind.FLUSH
    if not durable.any():
        durable = np.ones(len(rows), bool)
    return durable & (rows["complete_ns"] >= 0)


def _wait(rows: np.ndarray, on: str, times: np.ndarray) -> Wait | None:
    """Arrivals right after the other's completions, against chance."""
    arrivals = rows["arrival_ns"]
    if len(times) < REQUESTS_MIN or len(arrivals) < REQUESTS_MIN:
        return None
    # The first arrival after each commit is what may have waited for it.
    after = np.searchsorted(arrivals, times, side="left")
    inside = after < len(arrivals)
    delay = arrivals[after[inside]] - times[inside]
    near = int((delay <= NEAR_NS).sum())
    span = float(max(arrivals[-1] - arrivals[0], 1))
    chance = 1.0 - float(np.exp(-len(arrivals) * NEAR_NS / span))
    sure = float(special.binomial_at_most(near - 1, len(times), chance)) if near else 0.0
    share = near / len(times)
    if sure < SURE_MIN or share < 2 * chance or share < 0.3:
        return None
    return Wait(on, share, chance, sure)


def _flushes(rows: np.ndarray) -> Flushes | None:
    """Are writes done before a flush is sent, and does the process wait for it?"""
    known = rows["complete_ns"] >= rows["arrival_ns"]
    flush = known & ((rows["kind"] == Kind.FLUSH) | ((rows["flags"] & Flag.PREFLUSH) > 0))
    if not flush.any():
        return None
    writes = rows[known & (rows["kind"] == Kind.WRITE) & ~flush]
    sent, done = rows["arrival_ns"][flush], rows["complete_ns"][flush]
    began = np.searchsorted(writes["arrival_ns"], sent, side="left")
    ended = np.searchsorted(np.sort(writes["complete_ns"]), sent, side="right")
    arrivals = rows["arrival_ns"]
    others = np.searchsorted(arrivals, done, side="left") - np.searchsorted(arrivals, sent, side="right")
    clear = float((began <= ended).mean())
    # A rule that was kept n times out of n: at least 1 - 3/n true, with 95 %.
    return Flushes(int(flush.sum()), clear, float((others <= 0).mean()), max(1.0 - 3.0 / int(flush.sum()), 0.0))
