"""A run whose loads are ours while it measures, and one stretch of it: run, learn from it, write every period down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seekwise.errors import SeekwiseError
from seekwise.grouping import grouped
from seekwise.judge.decision.periods import dense, quantile_ns
from seekwise.linux import diskstats
from seekwise.measure.kernel import fio, memory, programs
from seekwise.measure.kernel.target import Target
from seekwise.measure.live import carry, fio_load, jobs, logs, prepare, progress, record, stretch
from seekwise.measure.live.open_run import SwitchedRun
from seekwise.measure.live.stretch import Stretch, Turn
from seekwise.measure.live.team_load import Count, one
from seekwise.store.record import Record
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.rounds import Order
from seekwise.workload.study.uses import Use

FOREIGN_PROGRAM_BYTES = 16 * 2**20
LOAD_MARGIN_S = 60.0
"""The load runs this much longer than its schedule; it is ended by a signal."""


@dataclass(kw_only=True)
class LiveSession(SwitchedRun):
    """A run whose loads are ours."""

    target: Target
    program: fio.Fio | None
    """None where no use needs it."""
    place: prepare.PreparedTarget
    home: Path
    orders: dict[str, Order] = field(default_factory=dict)

    def candidate(self, label: str) -> Candidate:
        """By label; an unknown one is a StopIteration, since labels come from the plan."""
        return next(known for known in (*self.plan.candidates, self.plan.control) if known.label == label)

    def order_of(self, use: str) -> Order:
        """Each use has an order of its own, whose seed is the plan's plus the number of uses before it."""
        if use not in self.orders:
            self.orders[use] = Order(self.plan.seed + len(self.orders))
        return self.orders[use]

    def rounds(
        self,
        state: progress.UseState,
        rounds: int,
        quick: int = 0,
        waits: Callable[[Sequence[stretch.Period]], bool] | None = None,
    ) -> None:
        """Measures a use for some rounds of its candidates, and learns cuts and lengths of periods from them.

        `quick`: so many rounds of the shortest periods follow under the same load where it is fast enough for them.
        Where units take turns, what is in force begins: its periods tell how many units the others hold, and the others
        run if `waits`, where it is given, says so of them.
        """
        turns = self.order_of(state.use.name)
        turns.interrupted()

        def drawn(candidates: Sequence[Candidate]) -> list[Candidate]:
            by_label = {compared.label: compared for compared in candidates}
            return [by_label[label] for label in turns.round(list(by_label))]

        schedule = [
            (candidate, turn, state.length_s(candidate))
            for turn in range(rounds)
            for candidate in drawn(state.in_round(turn))
        ]
        is_unknown = state.long_unit_s is not None and not state.lengths and state.use.in_turn
        looks = [turn for turn in schedule if is_unknown and not turn[1] and turn[0].in_force]

        def more(periods: Sequence[stretch.Period]) -> Sequence[Turn]:
            if looks:
                state.is_idle = waits is not None and not waits(periods)
                if state.is_idle:
                    return ()
                # What a unit takes beside this background is known now.
                _learn_units(state, periods)
                return [(each, turn, state.length_s(each)) for each, turn, _ in schedule if turn or not each.in_force]
            short = [candidate for candidate in state.candidates if state.is_short(candidate)]
            if not quick or len(short) < 2 or not state.can_be_quick(_operations_per_s(periods)):
                return ()
            return [
                (candidate, rounds + turn, state.quick_length_s(candidate))
                for turn in range(quick)
                for candidate in drawn(short if turn % progress.LONG_EVERY else state.candidates)
            ]

        self.stretch(state, looks or schedule, learn=True, more=more)

    def stretch(
        self,
        state: progress.UseState,
        schedule: Sequence[Turn],
        *,
        learn: bool,
        more: Callable[[Sequence[stretch.Period]], Sequence[Turn]] = lambda _: (),
    ) -> list[Record]:
        """Measures a use under a schedule; the records of its periods, none when the load did not run."""
        title = state.use.title

        def tell(candidate: str) -> None:
            self.watch.measuring(title, candidate, max(0.0, self.left_s))

        before, began_s = programs.seen(self.target.leaf_names), time.monotonic()
        try:
            done = self.under_load(state.use, schedule, self.deadline_s, lambda: state.units, tell=tell, more=more)
        except SeekwiseError as error:
            # Where the storage failed, no other load would tell more.
            self.storage.check(error.message)
            state.failed = error.message
            self.watch.say(f"{title}: {error.message}")
            if not self.records and error.hint:
                self.watch.say(error.hint)
            return []
        finally:
            state.spent_s += time.monotonic() - began_s
        after = programs.seen(self.target.leaf_names)
        others = programs.others(before.programs, after.programs, {os.getpid()}, least=FOREIGN_PROGRAM_BYTES)
        others = [other for other in others if other.name not in ("fio", "seekwise")]
        if done.ended_early is None:
            self.storage.check()
        if learn:
            _learn(self, state, done)
        conditions: dict[str, Any] = {"stretch": state.stretches, **programs.foreign(before, after)}
        if others:
            conditions["other_programs"] = [asdict(other) for other in others]
        early = None
        if done.ended_early is not None:
            early = f"{title}: the load ended early ({done.ended_early}); what was measured before counts"
        by_label = {compared.label: compared for compared in (*state.candidates, *(each for each, _, _ in schedule))}
        kept = self._keep(state, done, by_label, conditions, early)
        if early is not None:
            self.storage.check(done.ended_early)
            self.watch.say(early)
            # A load that someone ended runs again; one that cannot run would end again.
            if state.ended_early or fio_load.hint(done.ended_early):
                state.failed = done.ended_early
            state.ended_early = True
        if done.stopped is not None:
            raise done.stopped
        return kept

    def under_load(
        self, use: Use, schedule: Sequence[Turn], deadline_s: float, units: Count = one, **more: Any
    ) -> Stretch:
        """A schedule under the load of a use. `units`: of programs per period where they are long, asked before each;
        `more`: as of `stretch.run`."""
        length = sum(seconds for _, _, seconds in schedule)
        seed = self.plan.seed + len(self.records)
        load = jobs.of_use(use, self.place, seed, length + LOAD_MARGIN_S, self.program, units)
        limited = load.buffered and memory.controller() is not None
        return stretch.run(
            load,
            schedule,
            self.switch,
            self.home,
            self.target.leaf_names,
            memory_limit_bytes=self.place.memory_limit_bytes if limited else None,
            deadline_s=deadline_s,
            **more,
        )

    def _keep(
        self,
        state: progress.UseState,
        done: Stretch,
        by_label: dict[str, Candidate],
        conditions: Mapping[str, Any],
        said: str | None,
    ) -> list[Record]:
        """Writes down what every period brought. `conditions`: of all of them; `said`: a note of this stretch."""
        kept: list[Record] = []
        for period in done.periods:
            candidate = by_label[period.candidate]
            cut = state.cut_s(candidate) if state.long_unit_s is None else period.lead_s
            if state.long_unit_s is None and cut > carry.CUT_SHARE_MAX * period.length_s:
                if period.length_s < progress.SHORT_S:
                    # Made before it was known how long the effect of a switch lasts: the period says nothing of the
                    # setting.
                    continue
                cut = carry.CUT_SHARE_MAX * period.length_s
            period_record = record.of_period(
                self,
                period,
                done,
                state.use,
                candidate,
                round_offset=state.rounds,
                counts=(
                    cut,
                    period.length_s
                    if state.long_unit_s is not None
                    else state.counted_s(candidate, period.length_s, cut),
                ),
                fio_version=self.program.version if self.program else "",
            )
            period_record.conditions.update(conditions)
            if said is not None and not kept:
                period_record.conditions["said"] = [said]
            self.keep(period_record)
            kept.append(period_record)
        state.stretches += 1
        state.rounds += max((period.round for period in done.periods), default=-1) + 1
        return kept


def _operations_per_s(periods: Sequence[stretch.Period]) -> float:
    """Requests per second of the devices together under the slowest of the candidates; one stalled period is not its
    speed."""
    by_candidate = grouped((period.candidate, _requests(period) / max(period.length_s, 1e-9)) for period in periods)
    return min((float(np.median(seconds)) for seconds in by_candidate.values()), default=0.0)


def _requests(period: stretch.Period) -> int:
    return diskstats.total(diskstats.moved(period.before.devices, period.after.devices, period.after.devices)).ios


def _learn(session: LiveSession, state: progress.UseState, done: Stretch) -> None:
    if state.long_unit_s is not None:
        _learn_units(state, done.periods, done.operations)
        return
    longest = max((period.length_s for period in done.periods), default=0.0)
    if state.is_quick and state.lengths and longest < progress.PERIOD_LOOK_S:
        # Periods that were cut to what is needed show no more than that.
        return
    # A background that a setting starves has few operations however long one waits.
    judged = [job.name for job in state.use.job if job.judge and job.role == "foreground"]
    judged = judged or [job.name for job in state.use.job]
    seen = []
    for label in dict.fromkeys(period.candidate for period in done.periods):
        # Short ones show nothing of how a period begins and goes on.
        mine = [p for p in done.periods if p.candidate == label and p.length_s >= progress.SHORT_S]
        if not mine:
            continue
        spans = [(period.before.clock_s, period.after.clock_s) for period in mine]
        speeds, tails = [], []
        for name in judged:
            operations = done.operations.get(name, logs.EMPTY)
            counted = [logs.within(operations, start, end) for start, end in spans]
            speeds.append(float(np.median([one.ops / max(one.seconds, 1e-9) for one in counted])))
            tails.append(float(np.median([quantile_ns(dense(one.bins), 0.99) for one in counted if one.bins] or [0.0])))
        first = done.operations.get(judged[0], logs.EMPTY)
        profiles = tuple(logs.profile(first, start, end, carry.BIN_S)[0] for start, end in spans)
        seen.append(progress.LongPeriods(session.candidate(label), profiles, min(speeds), max(tails) / 1e9))
    progress.learn(state, seen)


def _learn_units(
    state: progress.UseState, periods: Sequence[stretch.Period], done: Mapping[str, logs.Operations] | None = None
) -> None:
    """What a period takes for each of its units, with what lies between them. `done`: operations of the jobs, where
    they are known; else a worker did as many units as it was told last."""
    job, by_label = state.use.foreground[0], dict[str, list[float]]()
    for period in periods:
        units = float(state.units)
        if done is not None:
            counted = logs.within(done.get(job.name, logs.EMPTY), period.before.clock_s, period.after.clock_s)
            units = counted.ops / job.jobs
        if units > 0:
            by_label.setdefault(period.candidate, []).append((period.length_s - period.lead_s) / units)
    progress.learn_units(state, {label: float(np.median(took)) for label, took in by_label.items()})
