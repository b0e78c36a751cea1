"""A live-switched run from beginning to end: files laid out, uses measured in turn, everything restored, every period
recorded."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from seekwise.control import child, scratch
from seekwise.control.switching import switching
from seekwise.errors import UsageError
from seekwise.judge.decision.records import Decided
from seekwise.measure.kernel import environment, fio, memory, prepared_target
from seekwise.measure.kernel.target import Target
from seekwise.measure.live import prepare, progress, race, staged, traced
from seekwise.measure.live.open_run import RunListener
from seekwise.measure.live.session import LiveSession
from seekwise.store.database import Run, Store
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.study.quantity import time_text
from seekwise.workload.study.uses import needs_fio

END_S = 3.0
"""Kept for restoring, removing the files and judging."""
PREPARE_LEAST_S = 4.0
BUFFERED_FALLBACK = "no memory control group here: buffered writers may leave much unwritten data behind"


def least_budget_s(candidates: int) -> float:
    """The shortest budget that can decide anything."""
    return round(PREPARE_LEAST_S + progress.least_s(candidates) + END_S)


def check_budget(budget_s: float, candidates: int, *, staged_too: bool = False) -> None:
    """UsageError where `budget_s` is too short to compare so many settings, with the least that works."""
    least = max(least_budget_s(candidates), staged.LEAST_BUDGET_S if staged_too else 0.0)
    if budget_s < least:
        raise UsageError(
            f"{time_text(budget_s)} is too short to compare {candidates} settings"
            + (" and others beside them" if staged_too else ""),
            hint=f"the least that works is --budget {least:.0f}s; two minutes answer well",
        )


def carry_out(
    store: Store,
    run: Run,
    plan: LivePlan,
    target: Target,
    watch: RunListener,
    began_s: float,
    destroy: tuple[str, ...] = (),
) -> Decided:
    """Measures until everything is decided or the budget is used. `began_s`: monotonic time from which the budget
    counts.

    Whatever ends it, the records so far stay and every setting is as it was.
    """
    program = fio.find() if needs_fio(plan.uses) else None
    deadline_s = began_s + plan.budget_s - END_S - traced.reserved_s(plan)
    storage = target.watched()
    with store.ending(run.run_id), storage.ending(), contextlib.ExitStack() as stack:
        stack.enter_context(child.watched())
        stack.enter_context(prepared_target.exclusively(target))
        home = stack.enter_context(prepared_target.work_folder(fio.work_home()))
        left = max(1.0, deadline_s - time.monotonic())
        if target.is_device:
            # Regions of a device that proved empty and was named.
            proof = stack.enter_context(prepared_target.claimed(target, destroy))
            store.add_run(run)
            place = prepare.laid_out_on_device(proof, plan.uses, left, watch.laying_out)
        else:
            folder = stack.enter_context(scratch.scratch(target.path, prepare.least_bytes(plan.uses)))
            store.add_run(run)
            place = prepare.laid_out(Path(folder), plan.uses, left, watch.laying_out)
        if place.stores and memory.controller() is None:
            watch.say(BUFFERED_FALLBACK)
        switch = stack.enter_context(switching([candidate.changes for candidate in plan.candidates + plan.levels]))
        seen = environment.read(target, program.version if program else "")
        if place.data_set_bytes:
            seen["program_data_bytes"] = place.data_set_bytes
        session = LiveSession(
            store=store, run=run, plan=plan, environment=seen, switch=switch, deadline_s=deadline_s, watch=watch,
            storage=storage, target=target, program=program, place=place, home=home,
        )  # fmt: skip
        decision = staged.measure(session) if plan.levels else _raced(session)
        traced.measure(session, decision)
    return decision


def _raced(session: LiveSession) -> Decided:
    states = race.states_of(session)
    race.first_pass(session, states, session.left_s * progress.FIRST_PASS_SHARE)
    return race.to_the_end(session, states)
