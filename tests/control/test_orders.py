"""Any order of apply, confirm, keep, time-out, revert, tune, kills and clock changes on one machine: the first value comes
back, and while the journal is empty nothing differs from it.

The processes are imitated in this one: each has the locks that it holds (`flock` tells its own descriptors from others'),
and one that is killed writes nothing any more, whatever it would undo on its way out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from control.conftest import FakeKernel
from seekwise import files
from seekwise.control import journal, lock, recovery, sysfs
from seekwise.control import settings as control_settings
from seekwise.control.settings import read_settings
from seekwise.control.switching import switching
from seekwise.errors import SeekwiseError
from seekwise.settings import apply as applying
from seekwise.settings.guard import job

DEVICES = ("sda", "sdb")
VALUES = {
    "scheduler": ("none", "mq-deadline", "kyber", "bfq"),
    "nr_requests": ("8", "64", "100"),
    "read_ahead_kb": ("0", "64", "512"),
    "max_sectors_kb": ("64", "1280"),
    "wbt_lat_usec": ("0", "9000"),
    "write_cache": ("write back", "write through"),
}
LIMITS = {"queue/max_sectors_kb": "1280", "queue/max_hw_sectors_kb": "1280"}
wanted = strategies.dictionaries(
    strategies.sampled_from(DEVICES),
    strategies.fixed_dictionaries({}, optional={name: strategies.sampled_from(of) for name, of in VALUES.items()}),
    min_size=1,
).filter(lambda changes: all(changes.values()))
dies_after = strategies.one_of(strategies.none(), strategies.none(), strategies.integers(0, 12))


class Killed(BaseException):
    """SIGKILL: nothing of the process is carried out any more."""


class Process:
    def __init__(self) -> None:
        self.locks, self.entries = {}, {}
        self.applied, self.switch = None, None


class Orders(RuleBasedStateMachine):
    waiting, tuning = Bundle("waiting"), Bundle("tuning")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="seekwise-test-", dir="/dev/shm"))
        self.kernel = FakeKernel(self.folder / "root")
        self.kernel.add_disk("sda", "mq-deadline", **LIMITS)
        self.kernel.add_disk("sdb", "none", **LIMITS)
        self.journal = journal.Journal(self.folder / "state")
        self.first = self.now()
        self.living: list[Process] = []
        self.writes_left: int | None = None
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(sysfs, "write", self.mortal(self.kernel.write))
        self.patch.setattr(files, "write_whole", self.mortal(files.write_whole))
        self.patch.setattr(journal.Journal, "close", self.mortal(journal.Journal.close))
        self.clock_ns = 0
        real = time.time_ns
        self.patch.setattr(time, "time_ns", lambda: real() + self.clock_ns)

    def now(self) -> dict:
        """Everything that files show, and what they do not."""
        return {
            device: {
                **read_settings(device, self.kernel.root),
                "tags": self.kernel.tags[device],
                "limit by hand": self.kernel.user_limit[device],
            }
            for device in DEVICES
        }

    def differing(self) -> dict:
        """{device: {name: (first, now)}}"""
        return {
            device: changed
            for device, now in self.now().items()
            if (changed := {
                name: (self.first[device].get(name), now.get(name))
                for name in sorted(now.keys() | self.first[device].keys())
                if self.first[device].get(name) != now.get(name)
            })
        }  # fmt: skip

    def mortal(self, write):
        def step(*arguments, **options):
            if self.writes_left == 0:
                raise Killed
            if self.writes_left is not None:
                self.writes_left -= 1
            return write(*arguments, **options)

        return step

    def act(self, process: Process, dies_after: int | None, action):
        """What the process does now; None if it was refused, or killed meanwhile."""
        self.writes_left = dies_after
        if process not in self.living:
            self.living.append(process)
        with self.acting_as(process):
            try:
                return action()
            except SeekwiseError:
                return None
            except Killed:
                self.end(process)
                return None
            finally:
                self.writes_left = None

    @contextlib.contextmanager
    def acting_as(self, process: Process):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lock, "_held", process.locks)
            patch.setattr(journal, "_held", process.entries)
            yield

    def end(self, process: Process) -> None:
        """As the kernel does: every descriptor is closed."""
        with self.acting_as(process):
            if process.switch is not None:
                process.switch._locks.close()
                if process.switch in control_settings._active:
                    control_settings._active.remove(process.switch)
            for _, descriptor in process.entries.values():
                os.close(descriptor)
            process.entries.clear()
        assert not process.locks
        self.living.remove(process)

    def command(self, dies_after: int | None, action) -> Process:
        process = Process()
        self.act(process, dies_after, action)
        return process

    def start(self) -> None:
        recovery.restore_left_behind(self.journal)

    @rule(changes=wanted, dies=dies_after, starts=strategies.booleans())
    def apply(self, changes, dies, starts):
        if starts:
            self.ended(self.command(None, self.start))
        self.ended(self.command(dies, lambda: applying.apply(changes, self.kernel.root, self.journal)))

    def ended(self, process: Process) -> None:
        if process in self.living:
            self.end(process)

    @rule(target=waiting, changes=wanted, dies=dies_after)
    def confirm(self, changes, dies):
        process = Process()
        done = self.act(process, dies, lambda: applying.apply(changes, self.kernel.root, self.journal, undecided=True))
        if done is None or done.entry is None:
            self.ended(process)
        process.applied = done
        return process

    @rule(process=consumes(waiting), dies=dies_after)
    def keep(self, process, dies):
        if process in self.living:
            self.act(process, dies, lambda: applying.decide(process.applied, self.journal, (), self.kernel.root))
            self.ended(process)

    @rule(process=waiting, dies=dies_after)
    def time_out(self, process, dies):
        if process in self.living and self.act(process, dies, lambda: self.roll_back(process) or "done"):
            self.ended(process)

    def roll_back(self, process: Process) -> None:
        self.patch.setattr(job, "note", lambda *_: None)
        document = {"entries": [process.applied.entry.id], "headline": ""}
        job.roll_back(document, self.journal, patience_s=0)

    @rule(target=tuning, candidates=strategies.lists(wanted, min_size=1, max_size=3), dies=dies_after)
    def tune(self, candidates, dies):
        process = Process()
        process.switch = switching(candidates, self.kernel.root, self.journal)
        if self.act(process, dies, process.switch.__enter__) is None:
            self.ended(process)
        return process

    @rule(process=tuning, index=strategies.integers(0, 3), dies=dies_after)
    def switch(self, process, index, dies):
        if process in self.living:
            candidates = [{}, *process.switch.candidates]
            self.act(process, dies, lambda: process.switch.to(candidates[index % len(candidates)]))

    @rule(process=consumes(tuning), dies=dies_after)
    def tuned(self, process, dies):
        if process in self.living:
            self.act(process, dies, lambda: process.switch.__exit__(None, None, None))
            self.ended(process)

    @rule(process=strategies.one_of(waiting, tuning))
    def kill(self, process):
        self.ended(process)

    @rule(dies=dies_after)
    def any_command(self, dies):
        self.ended(self.command(dies, self.start))

    @rule(seconds=strategies.integers(-100, 100))
    def set_clock(self, seconds):
        self.clock_ns = seconds * 10**9

    @rule(dies=dies_after)
    def revert(self, dies):
        for process in [process for process in self.living if process.applied]:
            self.end(process)
            self.ended(self.command(None, lambda process=process: self.roll_back(process)))
        self.ended(self.command(dies, lambda: (self.start(), recovery.revert_all(self.journal))))

    @invariant()
    def nothing_differs_while_the_journal_is_empty(self):
        assert not self.journal.is_empty() or not (differing := self.differing()), differing

    def teardown(self):
        try:
            for process in self.living.copy():
                self.end(process)
            self.revert(None)
            assert (differing := self.differing()) == {}, differing
            assert self.journal.is_empty()
        finally:
            self.patch.undo()
            shutil.rmtree(self.folder)


@pytest.mark.parametrize("orders", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_whatever_the_order_the_first_value_comes_back(orders):
    run_state_machine_as_test(
        Orders,
        settings=settings(
            max_examples=orders, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
