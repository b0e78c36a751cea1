"""Every use once, then time where it tells most, until the answer is good enough or the time is used.

New processes come first, as they show most of what a scheduler does in the least time: alone, then beside other work,
where what is in force runs first. Where it waits for nothing there, no scheduler can give anything, and what runs alone
is compared. Then the price of the one setting that would be advised, and how far it matters at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.records import Decided, decided, is_enough
from seekwise.measure.live import carry, progress
from seekwise.measure.live.session import LiveSession
from seekwise.measure.live.stretch import Period

WAITS_FACTOR = 1.10
"""Times what a unit of a new process takes alone, below which nothing waits for what runs beside it."""
NOTHING_WAITS = "Nothing waits on this drive: short commands take less than a tenth longer with what was tried going on. Only work that runs alone is compared"


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
        if state.use.background and progress.is_idle(states):
            continue
        narrow(session, state)
        if not state.candidates:
            continue
        share = left / max(1, len(able) - number)
        rounds = int((share - progress.STRETCH_OVERHEAD_S) / state.round_s())
        # No more than shows how long its periods must be: the rest goes where it decides.
        takes_what_it_takes = state.is_quick or state.long_unit_s is not None
        most = progress.ROUNDS_FIRST_FEW if takes_what_it_takes else progress.ROUNDS_FIRST
        rounds = max(progress.ROUNDS_FIRST_FEW, min(most, rounds))
        began = time.monotonic()
        session.rounds(state, rounds, progress.ROUNDS_QUICK, _waits(session, states, state))
        if state.use.background and progress.is_idle(states):
            session.watch.say(NOTHING_WAITS)
            session.said.append(NOTHING_WAITS)
        if state.ended_early and not state.failed:
            session.rounds(state, rounds, progress.ROUNDS_QUICK)
        left -= time.monotonic() - began
        session.watch.standing(list(decided(session.records, session.plan).judged))
    if not session.records:
        reasons = [state.failed for state in states if state.failed]
        raise SeekwiseError(reasons[0] if reasons else "nothing was measured", hint="`--for` chooses other uses")


def _waits(
    session: LiveSession, states: Sequence[progress.UseState], state: progress.UseState
) -> Callable[[Sequence[Period]], bool] | None:
    """Whether what is in force waits beside the background of a use of new processes; None where it is not asked."""
    alone = next((each for each in states if each.use.in_turn and not each.use.background and each.lengths), None)
    if alone is None or not state.use.in_turn or not state.use.background or state.rounds or session.plan.levels:
        return None
    usual_s = (alone.lengths[session.plan.in_force.label] - carry.LEARNING_CUT_S) / alone.units

    def waits(periods: Sequence[Period]) -> bool:
        return max((each.length_s - each.lead_s) / state.units for each in periods) > WAITS_FACTOR * usual_s

    return waits


def narrow(session: LiveSession, state: progress.UseState) -> None:
    """Of a use that tells the price, only the setting that would be advised runs against what is in force; none where no
    setting would be."""
    if not state.use.price or session.plan.group is not None or session.plan.levels:
        return
    choice = decided(session.records, session.plan).by_purpose.get("responsive")
    names = [] if choice is None else [choice.setting if choice.changes else getattr(choice.alternative, "setting", "")]
    compared = [each for each in session.plan.candidates if each.label in names and not each.in_force]
    state.candidates = (session.plan.in_force, session.plan.control, *compared) if compared else ()


def to_the_end(session: LiveSession, states: Sequence[progress.UseState]) -> Decided:
    """Further stretches where time lowers the expected loss most, until it is below `choose.REGRET_ENOUGH_LOG` or the
    time is used; the judgement."""
    in_force = session.plan.in_force.label
    while True:
        decision = decided(session.records, session.plan)
        session.watch.standing(list(decision.judged))
        for state in states:
            narrow(session, state)
            progress.drop_hopeless(state, decision.judged)
        chosen = progress.next_use(
            states, decision.judged, in_force, session.left_s, is_enough=is_enough(decision, session.plan)
        )
        if chosen is None:
            return decision
        session.rounds(*chosen)
