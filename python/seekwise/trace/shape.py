"""How a program sends its requests, decided from its arrivals and completions, and whose requests it waits for.

    replies   a burst (of one or more), then nothing until all of it is done: a thread that reads, a database that commits
    slots     D requests under way, and one more as one is done: asynchronous I/O of depth D
    admitted  as fast as the queue takes them: the kernel's write-back
    open      at their times, whatever was done by then

The test of each is that of `depend`: arrivals that came while requests were under way, against those that would have come by chance.
Programs that wait for each other (a database and the journal's thread) are found in the same way: one never sends while the other's request is under
way, and sends after its end. What the recording cannot decide is assumed and marked so; `what-if` says what hangs on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from seekwise.trace import depend
from seekwise.trace.depend import EXPECTED_MIN, REQUESTS_MIN, SHARE_MAX, SURE_MIN

How = Literal["replies", "slots", "admitted", "open"]
PARTNERS_MAX = 12
"""Programs with the most requests, among which waiting for each other is looked for."""
TURNS_MIN = 10
SPREAD_LESS = 0.5
UNDECIDED_SHARE = 0.05
EVEN_SPREAD, EVEN_MIN, EVEN_CORRELATION = 0.05, 200, -0.3
"""Distances within 5 % of each other, so many of them, and a correlation of neighbours below that."""
DRIFT_STEPS, DRIFT_MAX = 50, 5.0
PACED_SLOPE, PACED_SURE = 0.5, 4.0
"""Below the slope, by so many standard errors."""
MOSTLY_SHARE = 0.3
"""A program that reads ahead now and then waits for all the same: each burst by itself is taken as it was, waiting or not."""


@dataclass(frozen=True)
class Shape:
    how: How
    depth: int
    """Requests under way at most; 0 where nothing bounds them."""
    is_sure: bool
    """The recording decides it; otherwise it is assumed."""
    role: str
    after: tuple[int, ...] = ()
    """Programs, by their place in the trace, whose requests it waits for."""


def shapes(rows: np.ndarray, names: list[str]) -> dict[int, Shape]:
    """By place of the program. `rows`: a sample of the trace, in the order of arrival."""
    places, counts = np.unique(rows["process"], return_counts=True)
    found: dict[int, Shape] = {}
    own = {}
    for place in places[np.argsort(-counts, kind="stable")]:
        program = rows[rows["process"] == place]
        own[int(place)] = program
        found[int(place)] = _shape(names[place] if place < len(names) else "?", program)
        if len(found) >= 1000:
            break
    chained = [place for place, shape in found.items() if shape.how == "replies" or shape.role == "journal"]
    for place in chained[:PARTNERS_MAX]:
        after = tuple(
            other
            for other in chained[:PARTNERS_MAX]
            if other != place
            and _waits_for(own[place], own[other], "journal" in (found[place].role, found[other].role))
        )
        if after:
            found[place] = replace(found[place], after=after)
    return found


def starts(arrivals: np.ndarray, done: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which arrivals begin a burst (something was done since the one before), and how many were under way before each."""
    completed = np.searchsorted(done, arrivals, side="right")
    before = np.arange(len(arrivals)) - completed
    return np.diff(completed, prepend=-1) > 0, np.maximum(before, 0)


def _shape(name: str, rows: np.ndarray) -> Shape:
    role = depend._role(name, rows)
    known = rows[rows["complete_ns"] >= rows["arrival_ns"]]
    if len(known) < REQUESTS_MIN:
        return Shape("open", 0, False, role)
    arrivals, done = known["arrival_ns"], np.sort(known["complete_ns"])
    loop = depend.loop(known)
    if role == "write-back":
        closed = loop is not None and loop.closed
        return Shape("admitted" if closed else "open", 0, closed, role)
    begins, before = starts(arrivals, done)
    spent = depend._time_at_least(arrivals, done)
    whole = float(max(done[-1] - arrivals[0], 1))
    expected = float(begins.sum()) * (float(spent[1]) / whole if len(spent) > 1 else 0.0)
    came = int((before[begins] > 0).sum())
    if _is_paced(arrivals, done, begins & (before == 0)):
        return Shape("open", 0, True, role)
    if expected >= EXPECTED_MIN:
        if came <= SHARE_MAX * expected and 1.0 - float(special.pdtr(came, expected)) >= SURE_MIN:
            return Shape("replies", int(before.max()) + 1, True, role)
        if loop is not None and loop.closed:
            return Shape("slots", loop.depth, True, role)
        if came <= MOSTLY_SHARE * expected:
            return Shape("replies", int(before.max()) + 1, True, role)
        return Shape("open", 0, True, role)
    # Hardly ever busy. A program that never sent while its own was under way is taken for one that waits.
    waits = came <= UNDECIDED_SHARE * max(float(begins.sum()), 1.0)
    return Shape("replies", int(before.max()) + 1, False, role) if waits else Shape("open", 0, False, role)


def _is_paced(arrivals: np.ndarray, done: np.ndarray, alone: np.ndarray) -> bool:
    """Whether bursts begin at even times, although none begins before the last one is done.

    From one burst to the next a program that waits takes what the storage takes, and thinks: their distance grows with it, one to one. That of a paced
    one does not. The slope of a line through both decides, where it is known well enough. Where the storage always takes the same, a
    clock shows in another way: a burst that comes late is followed by a short distance, so neighbours are correlated by -1/2, and after fifty distances
    it is as exact as after one; pauses after each end drift away.
    """
    at = np.flatnonzero(alone)
    if len(at) < REQUESTS_MIN:
        return False
    began, distance = arrivals[at[:-1]], np.diff(arrivals[at]).astype(float)
    took = (done[np.maximum(np.searchsorted(done, arrivals[at[1:]], side="right") - 1, 0)] - began).astype(float)
    low, middle, high = np.percentile(distance, [10, 50, 90])
    if high - low <= EVEN_SPREAD * middle and len(distance) >= EVEN_MIN:
        near = np.clip(distance, low, high) - middle
        if (
            near.std()
            and float(np.corrcoef(near[:-1], near[1:])[0, 1]) < EVEN_CORRELATION
            and _drift(distance) < DRIFT_MAX
        ):
            return True
    # One pause of minutes would decide alone.
    usual = (distance <= np.percentile(distance, 95)) & (took <= np.percentile(took, 95))
    distance, took = distance[usual], took[usual]
    if len(took) < REQUESTS_MIN or took.std() == 0:
        return False
    if distance.std() == 0:
        return True
    # Half a second to load, which most traces do not need.
    from scipy.stats import linregress

    line = linregress(took, distance)
    return bool(line.slope + PACED_SURE * line.stderr < PACED_SLOPE)


def _drift(distance: np.ndarray) -> float:
    """How far fifty distances in a row differ from the usual fifty, against one from the usual one."""
    off = distance - np.median(distance)
    sums = np.convolve(off, np.ones(DRIFT_STEPS), "valid")
    return float(np.median(np.abs(sums - np.median(sums))) / max(np.median(np.abs(off)), 1.0))


def _waits_for(rows: np.ndarray, other: np.ndarray, is_journal: bool) -> bool:
    """Whether a program's bursts never begin while the other has a request under way, and begin after its end.

    Programs that pause for the same time fall into step and seem to. Their bursts follow their own requests more closely than the other's; only
    where a journal is one of the two is that not asked.
    """
    first = max(rows["arrival_ns"][0], other["arrival_ns"][0])
    last = min(rows["arrival_ns"][-1], other["arrival_ns"][-1])
    rows = rows[
        (rows["complete_ns"] >= rows["arrival_ns"]) & (rows["arrival_ns"] >= first) & (rows["arrival_ns"] <= last)
    ]
    other = other[
        (other["complete_ns"] >= other["arrival_ns"]) & (other["complete_ns"] >= first) & (other["arrival_ns"] <= last)
    ]
    if min(len(rows), len(other)) < REQUESTS_MIN:
        return False
    done, ended = np.sort(rows["complete_ns"]), np.sort(other["complete_ns"])
    begins, _ = starts(rows["arrival_ns"], done)
    at = rows["arrival_ns"][begins]
    sent, finished = np.searchsorted(other["arrival_ns"], at), np.searchsorted(ended, at, side="right")
    came = int((sent > finished).sum())
    spent = depend._time_at_least(other["arrival_ns"], ended)
    expected = len(at) * (float(spent[1]) / float(max(last - first, 1)) if len(spent) > 1 else 0.0)
    if expected < EXPECTED_MIN or came > MOSTLY_SHARE / 2 * expected:
        return False
    # The end before the burst is the other's, not its own: turns that it takes after the other.
    own_end = np.searchsorted(done, at, side="right")
    newest_own = np.where(own_end > 0, done[np.maximum(own_end - 1, 0)], -1)
    newest_other = np.where(finished > 0, ended[np.maximum(finished - 1, 0)], -1)
    turns = newest_other > newest_own
    if int(turns.sum()) < TURNS_MIN:
        return False
    return is_journal or _spread(at[turns] - newest_other[turns]) < SPREAD_LESS * _spread(at[turns] - newest_own[turns])


def _spread(times: np.ndarray) -> float:
    low, high = np.percentile(times, [25, 75])
    return float(high - low)
