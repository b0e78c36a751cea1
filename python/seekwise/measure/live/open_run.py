"""A run while it measures: what every kind of load has at hand, and the records so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from seekwise.control.switching import switching
from seekwise.judge.decision.verdicts import Judged
from seekwise.linux.failure import Watched
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.live_plan import LivePlan


@dataclass
class RunListener:
    """What a person who watches is told; every member may be replaced."""

    say: Callable[[str], None] = lambda _: None
    laying_out: Callable[[float], None] = lambda _: None
    """Share of the test files that is written."""
    measuring: Callable[[str, str, float], None] = lambda *_: None
    """(use, candidate now in force, seconds left)."""
    standing: Callable[[list[Judged]], None] = lambda _: None
    """After each stretch: what is known so far."""


@dataclass(kw_only=True)
class OpenRun:
    """A run while its records are made."""

    store: Store
    run: Run
    plan: LivePlan
    environment: dict[str, object] = field(default_factory=dict)
    """Goes into the first record."""
    records: list[Record] = field(default_factory=list)
    origin_s: float = field(default_factory=time.time)
    """When it began, in seconds since 1970."""

    said: list[str] = field(default_factory=list)
    """What the answer has to say of how it was measured; goes into the next record."""

    def keep(self, record: Record) -> None:
        """Writes a record down at once: a run of hours outlives `kill -9`."""
        if self.said:
            record.conditions["said"] = [*record.conditions.get("said", []), *self.said]
            self.said.clear()
        self.store.add(record)
        self.records.append(record)

    def change_plan(self, plan: LivePlan) -> None:
        """Puts another plan in place of the one that the run began with."""
        self.plan = plan
        self.store.change_plan(self.run.run_id, plan.to_document())


@dataclass(kw_only=True)
class SwitchedRun(OpenRun):
    """A run that switches the settings of this machine. `deadline_s` is monotonic."""

    switch: switching
    deadline_s: float
    watch: RunListener
    storage: Watched
    """Says when the storage has failed."""

    @property
    def left_s(self) -> float:
        """Seconds of the budget; negative once it is over."""
        return self.deadline_s - time.monotonic()
