"""Every use once, then time where it tells most, until the answer is good enough or the time is used."""

from __future__ import annotations

import time
from collections.abc import Sequence

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.records import Decided, decided, is_enough
from seekwise.measure.live import progress
from seekwise.measure.live.session import LiveSession


def states_of(session: LiveSession) -> list[progress.UseState]:
    """Every use of the plan, with all of its candidates and the A/A check; one whose programs cannot run here has failed before it began."""
    states = [progress.UseState(use, (*session.plan.candidates, session.plan.control)) for use in session.plan.uses]
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
        takes_what_it_takes = each.is_quick or each.long_unit_s is not None
        most = progress.ROUNDS_FIRST_FEW if takes_what_it_takes else progress.ROUNDS_FIRST
        rounds = max(progress.ROUNDS_FIRST_FEW, min(most, rounds))
        began = time.monotonic()
        session.rounds(each, rounds, progress.ROUNDS_QUICK)
        left -= time.monotonic() - began
    if not session.records:
        reasons = [each.failed for each in states if each.failed]
        raise SeekwiseError(reasons[0] if reasons else "nothing was measured", hint="`--for` chooses other uses")


def to_the_end(session: LiveSession, states: Sequence[progress.UseState]) -> Decided:
    """Further stretches where time lowers the expected loss most, until it is below `choose.REGRET_ENOUGH_LOG` or the time is used; the judgement."""
    in_force = session.plan.in_force.label
    while True:
        found = decided(session.records, session.plan)
        session.watch.standing(list(found.judged))
        for each in states:
            progress.drop_hopeless(each, found.judged)
        chosen = progress.next_use(
            states, found.judged, in_force, session.left_s, is_enough=is_enough(found, session.plan)
        )
        if chosen is None:
            return found
        session.rounds(*chosen)
