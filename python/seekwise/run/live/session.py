"""What a live-switched run has at hand while it measures, and one stretch of it: run, learn from it, write every period down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seekwise.analysis.decision.verdicts import Judged
from seekwise.backend.kernel import disk, fio, memory
from seekwise.backend.kernel.target import Target
from seekwise.control.switching import switching
from seekwise.errors import SeekwiseError
from seekwise.run.live import carry, jobs, logs, prepare, progress, record, stretch
from seekwise.run.live.candidates import Candidate
from seekwise.run.live.order import Order
from seekwise.run.live.plan import LivePlan
from seekwise.store.database import Run, Store
from seekwise.store.record import Record

FOREIGN_PROGRAM_BYTES = 16 * 2**20
LOAD_MARGIN_S = 60.0
"""The load runs this much longer than its schedule; it is ended by a signal."""
Turn = tuple[Candidate, int, float]
"""(candidate, round, seconds) of one period to come."""


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


@dataclass
class Session:
    """A run while it measures. `deadline_s` is monotonic."""

    store: Store
    run: Run
    plan: LivePlan
    target: Target
    watch: Watch
    program: fio.Fio
    place: prepare.Ground
    switch: switching
    home: Path
    environment: dict[str, object]
    deadline_s: float
    records: list[Record] = field(default_factory=list)
    orders: dict[str, Order] = field(default_factory=dict)
    origin_s: float = field(default_factory=time.time)

    @property
    def left_s(self) -> float:
        return self.deadline_s - time.monotonic()

    def candidate(self, label: str) -> Candidate:
        return next(each for each in self.plan.candidates if each.label == label)

    def order_of(self, use: str) -> Order:
        if use not in self.orders:
            self.orders[use] = Order(self.plan.seed + len(self.orders))
        return self.orders[use]

    def rounds(self, each: progress.UseState, rounds: int) -> None:
        """Measures a use for some rounds of its candidates, and learns cuts and lengths of periods from them."""
        turns = self.order_of(each.use.name)
        turns.interrupted()
        schedule = [
            (self.candidate(label), turn, each.length_s(label))
            for turn in range(rounds)
            for label in turns.round(each.candidates)
        ]
        self.stretch(each, schedule, learn=True)

    def stretch(self, each: progress.UseState, schedule: Sequence[Turn], *, learn: bool) -> list[Record]:
        """Measures a use under a schedule; the records of its periods, none when the load did not run."""
        length = sum(seconds for _, _, seconds in schedule)
        load = jobs.of_use(each.use, self.place, self.plan.seed + len(self.records), length + LOAD_MARGIN_S)
        title = each.use.title

        def tell(candidate: str) -> None:
            self.watch.measuring(title, candidate, max(0.0, self.left_s))

        limited = load.buffered and memory.controller() is not None
        before = disk.read_program_io()
        try:
            done = stretch.run(
                self.program,
                load,
                schedule,
                self.switch,
                self.home,
                self.target.leaf_names,
                memory_limit_bytes=self.place.memory_limit_bytes if limited else None,
                tell=tell,
                deadline_s=self.deadline_s,
            )
        except SeekwiseError as error:
            each.failed = error.message
            self.watch.say(f"{title}: {error.message}")
            if not self.records and error.hint:
                self.watch.say(error.hint)
            return []
        others = disk.other_programs(before, disk.read_program_io(), {os.getpid()}, least=FOREIGN_PROGRAM_BYTES)
        others = [name for name in others if not name.startswith(("fio ", "seekwise "))]
        if done.ended_early:
            self.watch.say(f"{title}: the load ended early ({done.ended_early}); what was measured before counts")
            each.failed = done.ended_early
        if learn:
            _learn(each, done)
        return self._keep(each, done, {candidate.label: candidate for candidate, _, _ in schedule}, others)

    def _keep(
        self,
        each: progress.UseState,
        done: stretch.Stretch,
        by_label: dict[str, Candidate],
        others: list[str],
    ) -> list[Record]:
        kept = []
        for period in done.periods:
            candidate = by_label[period.candidate]
            cut = min(each.cut_s(candidate), carry.CUT_SHARE_MAX * period.length_s)
            made = record.of_period(
                period,
                done,
                each.use,
                run_id=self.run.run_id,
                index=len(self.records),
                stretch_number=each.stretches,
                round_offset=each.rounds,
                cut_s=cut,
                values=candidate.values,
                seed=self.plan.seed,
                environment=self.environment,
                fio_version=self.program.version,
                origin_s=self.origin_s,
            )
            if others:
                made.conditions["other_programs"] = others
            self.store.add(made)
            self.records.append(made)
            kept.append(made)
        each.stretches += 1
        each.rounds += max((period.round for period in done.periods), default=-1) + 1
        return kept


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
