"""The schedulers that the program knows: rows of the compiled registry (`crates/sched/src/lib.rs`), what each file says
of its own."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from seekwise import _core

SUCCESSORS = {"noop": "none", "deadline": "mq-deadline", "cfq": "bfq"}
"""What took the place of the single-queue schedulers in the multi-queue layer."""
ANY_KERNEL = "6.12"
"""Names, modules and charts do not depend on the kernel; the registry is asked about one."""


@dataclass(frozen=True)
class Scheduler:
    name: str
    summary: str
    multi_queue: bool
    """Of blk-mq; otherwise it went with the single queue in Linux 5.0."""
    module: str | None
    """Module of a kernel of today that holds it; empty where it is always there, None where it is gone."""
    loaded_by_testbed: bool
    """Debian's kernels have it as a module."""
    reset_to: dict[str, tuple[str, ...]]
    """Tunables as the kernel sets them when it switches to the scheduler, in each form that sysfs may show."""
    trials: dict[str, tuple[int, ...]]
    """Values of its tunables that are worth a trial."""
    settles_at_once: bool
    """At its level as soon as it is chosen: it learns nothing of those who send requests."""
    colour: str
    dash: tuple[int, ...]
    marker: str


@functools.cache
def registry() -> dict[str, Scheduler]:
    """Every scheduler by its name, in the order of the registry."""
    return {row["name"]: _scheduler(row) for row in json.loads(_core.schedulers(ANY_KERNEL))["schedulers"]}


def _scheduler(row: dict[str, Any]) -> Scheduler:
    return Scheduler(
        name=row["name"],
        summary=row["summary"],
        multi_queue=row["multi_queue"],
        module=row["module"],
        loaded_by_testbed=row["loaded_by_testbed"],
        reset_to={name: tuple(values) for name, values in row["reset_to"].items()},
        trials={name: tuple(values) for name, values in row["trials"].items()},
        settles_at_once=row["settles_at_once"],
        colour=row["chart"]["colour"],
        dash=tuple(row["chart"]["dash"]),
        marker=row["chart"]["marker"],
    )
