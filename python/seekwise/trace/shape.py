"""How a program sends its requests, decided from its arrivals and completions, and whose requests it waits for.

    replies   a burst (of one or more), then nothing until all of it is done: a thread that reads, a database that commits
    slots     D requests under way, and one more as one is done: asynchronous I/O of depth D
    admitted  as fast as the queue takes them: the kernel's write-back
    open      at their times, whatever was done by then

The test of each is that of `depend`: arrivals that came while requests were under way, against those that would have
come by chance. Programs that wait for each other (a database and the journal's thread) are found in the same way: one
never sends while the other's request is under way, and sends after its end. What the recording cannot decide is assumed
and marked so; `what-if` says what hangs on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from seekwise import special
from seekwise.trace import depend, paced
from seekwise.trace.depend import EXPECTED_MIN, SHARE_MAX, SURE_MIN
from seekwise.trace.paced import REQUESTS_MIN

How = Literal["replies", "slots", "admitted", "open"]
PARTNERS_MAX = 12
"""Programs with the most requests, among which waiting for each other is looked for."""
TURNS_MIN = 10
SPREAD_LESS = 0.5
UNDECIDED_SHARE = 0.05
MOSTLY_SHARE = 0.3
"""A program that reads ahead now and then waits for all the same: each burst by itself is taken as it was, waiting or
not."""


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
    by_program: dict[int, Shape] = {}
    own = {}
    for place in places[np.argsort(-counts, kind="stable")]:
        program = rows[rows["process"] == place]
        own[int(place)] = program
        by_program[int(place)] = _shape(names[place] if place < len(names) else "?", program)
        if len(by_program) >= 1000:
            break
    chained = [place for place, shape in by_program.items() if shape.how == "replies" or shape.role == "journal"]
    for place in chained[:PARTNERS_MAX]:
        after = tuple(
            other
            for other in chained[:PARTNERS_MAX]
            if other != place
            and _waits_for(own[place], own[other], "journal" in (by_program[place].role, by_program[other].role))
        )
        if after:
            by_program[place] = replace(by_program[place], after=after)
    return by_program


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
    begins, before = paced.starts(arrivals, done)
    spent = depend._time_at_least(arrivals, done)
    whole = float(max(done[-1] - arrivals[0], 1))
    expected = float(begins.sum()) * (float(spent[1]) / whole if len(spent) > 1 else 0.0)
    came = int((before[begins] > 0).sum())
    if paced.is_paced(arrivals, done):
        return Shape("open", 0, True, role)
    if expected >= EXPECTED_MIN:
        if came <= SHARE_MAX * expected and 1.0 - float(special.poisson_at_most(came, expected)) >= SURE_MIN:
            return Shape("replies", int(before.max()) + 1, True, role)
        if loop is not None and loop.closed:
            return Shape("slots", loop.depth, True, role)
        if came <= MOSTLY_SHARE * expected:
            return Shape("replies", int(before.max()) + 1, True, role)
        return Shape("open", 0, True, role)
    # Hardly ever busy. A program that never sent while its own was under way is taken for one that waits.
    waits = came <= UNDECIDED_SHARE * max(float(begins.sum()), 1.0)
    return Shape("replies", int(before.max()) + 1, False, role) if waits else Shape("open", 0, False, role)


def _waits_for(rows: np.ndarray, other: np.ndarray, is_journal: bool) -> bool:
    """Whether a program's bursts never begin while the other has a request under way, and begin after its end.

    Programs that pause for the same time fall into step and seem to. Their bursts follow their own requests more
    closely than the other's; only where a journal is one of the two is that not asked.
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
    begins, _ = paced.starts(rows["arrival_ns"], done)
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
