"""Racing: every use once, then time where it decides, until nothing is open or the time is used."""

from __future__ import annotations

import time
from collections.abc import Sequence

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.records import Decided, decided
from seekwise.measure.live import progress
from seekwise.measure.live.session import LiveSession


def states_of(session: LiveSession) -> list[progress.UseState]:
    """Every use of the plan, with all of its candidates; one whose programs cannot run here has failed before it began."""
    states = [progress.UseState(use, session.plan.candidates) for use in session.plan.uses]
    for each in states:
        each.failed = session.place.why_not(each.use)
        if each.failed:
            session.watch.say(f"{each.use.title}: {each.failed}")
    return states


def first_pass(session: LiveSession, states: Sequence[progress.UseState], seconds: float) -> None:
    """A stretch for every use; raises SeekwiseError when none of them brought a record."""
    left = max(1.0, seconds)
    able = [each for each in states if each.failed is None]
    for number, each in enumerate(able):
        share = left / max(1, len(able) - number)
        rounds = int((share - progress.STRETCH_OVERHEAD_S) / each.round_s())
        # No more than shows how long its periods must be: the rest goes where it decides.
        most = progress.ROUNDS_FIRST_QUICK if each.is_quick else progress.ROUNDS_FIRST
        rounds = max(progress.ROUNDS_FIRST - 1, min(most, rounds))
        began = time.monotonic()
        session.rounds(each, rounds, progress.ROUNDS_QUICK)
        left -= time.monotonic() - began
    if not session.records:
        reasons = [each.failed for each in states if each.failed]
        raise SeekwiseError(reasons[0] if reasons else "nothing was measured", hint="`--for` chooses other uses")


def to_the_end(session: LiveSession, states: Sequence[progress.UseState]) -> Decided:
    """Further stretches while something is open and time is left; the final judgement."""
    plan = session.plan
    while True:
        found = decided(session.records, plan, final=False)
        session.watch.standing(list(found.judged))
        for each in states:
            progress.drop_hopeless(each, found.judged)
        ending = decided(session.records, plan)
        pair = progress.pair_at_stake(states, ending.judged, plan.in_force.label, session.left_s)
        if pair is not None:
            session.rounds(pair.state, pair.rounds, among=pair.labels)
            continue
        # First what would stay open if nothing followed; then what is decided only as the last word.
        chosen = (
            progress.to_ask_again(states, session.left_s)
            or progress.next_use(states, ending.judged, session.left_s)
            or progress.next_use(states, found.judged, session.left_s)
        )
        if chosen is None:
            return ending
        session.rounds(*chosen)
