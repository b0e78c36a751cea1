"""A live-switched run from beginning to end: files laid out, uses measured in turn, everything restored, every period recorded."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from seekwise.analysis.decision.records import Decided, decided
from seekwise.analysis.decision.verdicts import Judged
from seekwise.backend.kernel import disk, environment, fio, ground, memory
from seekwise.backend.kernel.target import Target
from seekwise.control import scratch
from seekwise.control.switching import switching
from seekwise.errors import SeekwiseError, UsageError
from seekwise.run.live import carry, jobs, logs, order, prepare, progress, record, stretch
from seekwise.run.live.candidates import Candidate
from seekwise.run.live.plan import LivePlan
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.study.quantity import time_text

END_S = 3.0
"""Kept for restoring, removing the files and judging."""
PREPARE_LEAST_S = 4.0
BUFFERED_FALLBACK = "no memory control group here: buffered writers may leave much unwritten data behind"


@dataclass
class Watch:
    """What a person who watches is told; every member may be replaced."""

    say: Callable[[str], None] = lambda _: None
    laying_out: Callable[[float], None] = lambda _: None
    """Share of the test files that is written."""
    measuring: Callable[[str, str, float], None] = lambda *_: None
    """(use, candidate now in force, seconds left)."""
    standing: Callable[[list[Judged]], None] = lambda _: None
    """After each stretch: what is known so far."""


def least_budget_s(candidates: int) -> float:
    """The shortest budget that can decide anything."""
    return round(PREPARE_LEAST_S + progress.least_s(candidates) + END_S)


def check_budget(budget_s: float, candidates: int) -> None:
    least = least_budget_s(candidates)
    if budget_s < least:
        raise UsageError(
            f"{time_text(budget_s)} is too short to compare {candidates} settings",
            hint=f"the least that works is --budget {least:.0f}s; two minutes answer well",
        )


@dataclass
class _State:
    store: Store
    run: Run
    plan: LivePlan
    target: Target
    watch: Watch
    deadline: float
    records: list[Record] = field(default_factory=list)
    origin_s: float = field(default_factory=time.time)


def carry_out(
    store: Store, run: Run, plan: LivePlan, target: Target, watch: Watch, began_s: float, destroy: tuple[str, ...] = ()
) -> Decided:
    """Measures until everything is decided or the budget is used. `began_s`: monotonic time from which the budget counts.

    Whatever ends it, the records so far stay and every setting is as it was.
    """
    program = fio.find()
    state = _State(store, run, plan, target, watch, began_s + plan.budget_s - END_S)
    known = False
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(ground.exclusively(target))
            home = stack.enter_context(ground.work_folder(fio.work_home()))
            place = _prepared(stack, state, destroy)
            known = True
            if place.stores and memory.controller() is None:
                watch.say(BUFFERED_FALLBACK)
            switch = stack.enter_context(switching([each.changes for each in plan.candidates]))
            found = _measure(state, program, place, switch, home)
    except BaseException as error:
        if known:
            with contextlib.suppress(SeekwiseError):
                store.end_run(run.run_id, ending(error))
        raise
    store.end_run(run.run_id, "complete")
    return found


def _prepared(stack: contextlib.ExitStack, state: _State, destroy: tuple[str, ...]) -> prepare.Ground:
    """Test files in a scratch folder, or regions of a device that proved empty and was named; the run is written down."""
    uses, left = state.plan.uses, max(1.0, state.deadline - time.monotonic())
    if state.target.is_device:
        proof = stack.enter_context(ground.claimed(state.target, destroy))
        state.store.add_run(state.run)
        return prepare.laid_out_on_device(proof, uses, left, state.watch.laying_out)
    folder = stack.enter_context(scratch.scratch(state.target.path, prepare.least_bytes(uses)))
    state.store.add_run(state.run)
    return prepare.laid_out(Path(folder), uses, left, state.watch.laying_out)


def ending(error: BaseException) -> str:
    """How a run that ended so is written down."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"failed: {error.message if isinstance(error, SeekwiseError) else error!r}"


def _measure(state: _State, program: fio.Fio, place: prepare.Ground, switch: switching, home: Path) -> Decided:
    plan = state.plan
    labels = tuple(each.label for each in plan.candidates)
    environment_seen = environment.read(state.target, program.version)
    states = [progress.UseState(use, labels) for use in plan.uses]
    orders = {use.name: order.Order(plan.seed + number) for number, use in enumerate(plan.uses)}
    first_left = max(1.0, (state.deadline - time.monotonic()) * progress.FIRST_PASS_SHARE)
    for number, each in enumerate(states):
        share = first_left / max(1, len(states) - number)
        rounds = int((share - progress.STRETCH_OVERHEAD_S) / each.round_s())
        rounds = max(progress.ROUNDS_FIRST - 1, min(2 * progress.ROUNDS_FIRST, rounds))
        began = time.monotonic()
        _stretch(state, program, place, switch, home, each, rounds, orders[each.use.name], environment_seen)
        first_left -= time.monotonic() - began
    while True:
        found = decided(state.records, plan.order(), final=False)
        state.watch.standing(list(found.judged))
        for each in states:
            progress.drop_hopeless(each, found.judged)
        chosen = progress.next_use(states, found.judged, state.deadline - time.monotonic())
        if chosen is None:
            break
        each, rounds = chosen
        _stretch(state, program, place, switch, home, each, rounds, orders[each.use.name], environment_seen)
    return decided(state.records, plan.order())


def _stretch(
    state: _State,
    program: fio.Fio,
    place: prepare.Ground,
    switch: switching,
    home: Path,
    each: progress.UseState,
    rounds: int,
    turns: order.Order,
    environment_seen: dict[str, object],
) -> None:
    """Measures one use for some rounds, records the periods, and learns cuts and lengths from them."""
    by_label = {candidate.label: candidate for candidate in state.plan.candidates}
    turns.interrupted()
    schedule: list[tuple[Candidate, int, float]] = [
        (by_label[label], turn, each.length_s(label))
        for turn in range(rounds)
        for label in turns.round(each.candidates)
    ]
    length = sum(seconds for _, _, seconds in schedule)
    load = jobs.of_use(each.use, place, state.plan.seed + len(state.records), length + 60)
    title = each.use.title

    def tell(candidate: str) -> None:
        state.watch.measuring(title, candidate, max(0.0, state.deadline - time.monotonic()))

    limited = load.buffered and memory.controller() is not None
    before = disk.read_program_io()
    try:
        done = stretch.run(
            program,
            load,
            schedule,
            switch,
            home,
            state.target.leaf_names,
            memory_limit_bytes=place.memory_limit_bytes if limited else None,
            tell=tell,
            deadline_s=state.deadline,
        )
    except SeekwiseError as error:
        each.failed = error.message
        state.watch.say(f"{title}: {error.message}")
        if not state.records and error.hint:
            state.watch.say(error.hint)
        return
    others = disk.other_programs(before, disk.read_program_io(), {os.getpid()}, least=FOREIGN_PROGRAM_BYTES)
    others = [name for name in others if not name.startswith(("fio ", "seekwise "))]
    if done.ended_early:
        state.watch.say(f"{title}: the load ended early ({done.ended_early}); what was measured before counts")
        each.failed = done.ended_early
    _learn(each, done)
    _keep(state, program, each, done, others, environment_seen)


FOREIGN_PROGRAM_BYTES = 16 * 2**20


def _learn(each: progress.UseState, done: stretch.Stretch) -> None:
    judged = [job.name for job in each.use.job if job.judge]
    profiles: dict[str, list[list[float]]] = {}
    slowest: dict[str, float] = {}
    for period in done.periods:
        start, end = period.before.clock_s, period.after.clock_s
        for name in judged:
            rates, _ = logs.profile(done.operations.get(name, logs.EMPTY), start, end, carry.BIN_S)
            if name == judged[0]:
                profiles.setdefault(period.candidate, []).append(rates)
            counted = logs.within(done.operations.get(name, logs.EMPTY), start, end)
            speed = counted.ops / max(counted.seconds, 1e-9)
            if speed > 0 and not (name != judged[0] and each.use.job[0].role == "background"):
                slowest[period.candidate] = min(slowest.get(period.candidate, speed), speed)
    progress.learn(each, profiles, slowest)


def _keep(
    state: _State,
    program: fio.Fio,
    each: progress.UseState,
    done: stretch.Stretch,
    others: list[str],
    environment_seen: dict[str, object],
) -> None:
    by_label = {candidate.label: candidate for candidate in state.plan.candidates}
    for period in done.periods:
        cut = min(each.cuts.get(period.candidate, carry.CUT_LEAST_S), carry.CUT_SHARE_MAX * period.length_s)
        made = record.of_period(
            period,
            done,
            each.use,
            run_id=state.run.run_id,
            index=len(state.records),
            stretch_number=each.stretches,
            round_offset=each.rounds,
            cut_s=cut,
            values=by_label[period.candidate].values,
            seed=state.plan.seed,
            environment=environment_seen,
            fio_version=program.version,
            origin_s=state.origin_s,
        )
        if others:
            made.conditions["other_programs"] = others
        state.store.add(made)
        state.records.append(made)
    each.stretches += 1
    each.rounds += max((period.round for period in done.periods), default=-1) + 1
