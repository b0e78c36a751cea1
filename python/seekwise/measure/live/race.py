"""Every use once, then time where it tells most, until the answer is good enough or the time is used."""

from __future__ import annotations

import time
from collections.abc import Sequence

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.records import Decided, decided, is_enough
from seekwise.measure.live import progress
from seekwise.measure.live.session import LiveSession


def states_of(session: LiveSession) -> list[progress.UseState]:
    """Every use of the plan, with all of its candidates and the A/A check; one whose programs cannot run here has
    failed before it began."""
    states = [progress.UseState(use, (*session.plan.candidates, session.plan.control)) for use in session.plan.uses]
    for state in states:
        state.failed = session.place.why_not(state.use)
        if state.failed:
            session.watch.say(f"{state.use.title}: {state.failed}")
    return states


def first_pass(session: LiveSession, states: Sequence[progress.UseState], seconds: float) -> None:
    """A stretch for every use; raises SeekwiseError when none of them brought a record."""
    left = max(1.0, seconds)
    able = [state for state in states if state.failed is None]
    for number, state in enumerate(able):
        share = left / max(1, len(able) - number)
        rounds = int((share - progress.STRETCH_OVERHEAD_S) / state.round_s())
        # No more than shows how long its periods must be: the rest goes where it decides.
        takes_what_it_takes = state.is_quick or state.long_unit_s is not None
        most = progress.ROUNDS_FIRST_FEW if takes_what_it_takes else progress.ROUNDS_FIRST
        rounds = max(progress.ROUNDS_FIRST_FEW, min(most, rounds))
        began = time.monotonic()
        session.rounds(state, rounds, progress.ROUNDS_QUICK)
        if state.ended_early and not state.failed:
            session.rounds(state, rounds, progress.ROUNDS_QUICK)
        left -= time.monotonic() - began
    if not session.records:
        reasons = [state.failed for state in states if state.failed]
        raise SeekwiseError(reasons[0] if reasons else "nothing was measured", hint="`--for` chooses other uses")


def to_the_end(session: LiveSession, states: Sequence[progress.UseState]) -> Decided:
    """Further stretches where time lowers the expected loss most, until it is below `choose.REGRET_ENOUGH_LOG` or the
    time is used; the judgement."""
    in_force = session.plan.in_force.label
    while True:
        decision = decided(session.records, session.plan)
        session.watch.standing(list(decision.judged))
        for state in states:
            progress.drop_hopeless(state, decision.judged)
        chosen = progress.next_use(
            states, decision.judged, in_force, session.left_s, is_enough=is_enough(decision, session.plan)
        )
        if chosen is None:
            return decision
        session.rounds(*chosen)
