"""Programs as a load: foreground units between switches, a background that goes on."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from seekwise.measure.live import carry, logs
from seekwise.workload import team
from seekwise.workload.study.uses import Use

LEAD_IN_S = 1.5
"""For a background to reach what it does in the long run: files that it reads are read ahead, those that it writes
reach the device."""
LEAD_IN_UNITS = 2
"""And so many units of it, as its first ones meet an idle device. Seen on a virtio disk: before the second file was
copied, programs started in a third of the time that they took later."""
LEAD_IN_MOST_S = 6.0
LEAD_IN_LOOK_S = 0.1
FIRST_UNITS_S = 0.3
FIRST_PATIENCE_S = 20.0


Count = Callable[[], int]


def one() -> int:
    """A unit a period."""
    return 1


@dataclass(frozen=True)
class TeamLoad:
    """Workers of a use. `count`: tells before each period how many units a worker does where they are long; None: as
    many as there is time for."""

    tasks: tuple[team.Task, ...]
    foreground: tuple[str, ...]
    count: Count | None
    data: Path
    own: Path
    seed: int
    in_turn: bool = False
    buffered: bool = False

    @property
    def text(self) -> str:
        """JSON of the tasks."""
        return json.dumps([asdict(task) for task in self.tasks])

    @contextlib.contextmanager
    def started(self, work: Path, leaves: tuple[str, ...], cgroup_files: Sequence[Path]) -> Iterator[RunningTeam]:
        """Makes `own` (mode 0700) and starts the workers, which wait for a first `go`."""
        self.own.mkdir(mode=0o700, exist_ok=True)
        with team.started(self.tasks, self.data, self.own, work, self.seed, cgroup_files) as running:
            yield RunningTeam(running, self, work)

    def operations(self, work: Path) -> dict[str, logs.Operations]:
        """{job: its units}; a unit still under way counts up to now."""
        now = time.time()
        return {task.name: merged(work, task, now) for task in self.tasks}


class RunningTeam:
    def __init__(self, running: team.Team, load: TeamLoad, work: Path) -> None:
        self._team = running
        self._load = load
        self._work = work

    def wait_running(self) -> None:
        """Background first, until its dirty pages are at their level; without one, a few units whose cold data the
        first period would find."""
        self._team.wait_ready()
        background = [task for task in self._load.tasks if task.name not in self._load.foreground]
        if background:
            self._team.go([task.name for task in background])
            self._lead_in(background)
        elif self._load.count is None:
            # What a first period would find new, as pages of a tree's upper levels.
            self._units(FIRST_UNITS_S, FIRST_PATIENCE_S)

    def _lead_in(self, background: Sequence[team.Task]) -> None:
        began = time.monotonic()
        self._team.wait(LEAD_IN_S)
        while self._team.failed is None and time.monotonic() - began < LEAD_IN_MOST_S:
            now = time.time()
            # The last row is the unit under way.
            done = [len(unit.end_s) - 1 for task in background for unit in team.units(self._work, task, now)]
            if min(done) >= LEAD_IN_UNITS:
                return
            self._team.wait(LEAD_IN_LOOK_S)

    def period(self, seconds: float, patience_s: float) -> float:
        """Waits for units left from the period before, then lets units begin for `seconds`. Long units start after the
        switch has settled."""
        began = time.monotonic()
        # One that outlasted its own period is not to meet the next one.
        self._team.wait_idle(self._load.foreground, patience_s)
        if self._load.count is not None:
            self._team.wait(carry.LEARNING_CUT_S)
        lead = time.monotonic() - began
        self._units(seconds, patience_s)
        return lead

    def _units(self, seconds: float, patience_s: float) -> None:
        names = self._load.foreground
        for together in [(name,) for name in names] if self._load.in_turn else [names]:
            self._team.go(together, self._load.count and self._load.count())
            if self._load.count is None:
                self._team.wait(seconds)
                self._team.stop(together)
            if not self._team.wait_idle(together, patience_s):
                self._team.stop(together)

    def ended(self) -> str | None:
        """Why a worker failed; None while all of them work."""
        return self._team.failed

    def finish(self) -> str | None:
        """What failed, or None; the team itself ends when `started` is left."""
        return self._team.failed


def merged(work: Path, task: team.Task, now_s: float) -> logs.Operations:
    """Units of all workers of a job in the order of their ends."""
    each = team.units(work, task, now_s)
    process = np.concatenate([np.full(len(units.end_s), number) for number, units in enumerate(each)])
    columns = [
        np.concatenate([getattr(units, name) for units in each])
        for name in ("end_s", "duration_ns", "bytes", "waited_share", "cached_share")
    ]
    order = np.argsort(columns[0], kind="stable")
    end, duration, moved, waited, cached = (column[order] for column in columns)
    return logs.Operations(end, duration, moved, process[order], waited, cached)


def of_use(use: Use, data: Path, own: Path, seed: int, count: Count) -> TeamLoad | None:
    """The programs among the jobs of a use; None where it has none. `count`: units per period where they are long, asked
    before each."""
    jobs = [(job, program) for job in use.job if (program := job.runs) is not None]
    if not jobs:
        return None
    tasks = tuple(team.Task(job.name, str(job.program), job.parameters, job.jobs, job.think_time) for job, _ in jobs)
    foreground = [(job, program) for job, program in jobs if job.role == "foreground"]
    long = bool(foreground) and all(program.long_units for _, program in foreground)
    names = tuple(job.name for job, _ in foreground)
    return TeamLoad(tasks, names, count if long else None, data, own, seed, use.in_turn)
