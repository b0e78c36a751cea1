"""Runs one operation again and again, each time with another system call failing or the process killed at it.

Called with the shim preloaded: `driver.py FOLDER OPERATION errno|kill FROM STEP`. Prints one JSON line: how many calls there were, and
every case in which something was neither as before nor as asked, or the status was not true.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from control.conftest import FakeKernel, tree
from seekwise.control import notice, recovery, sysfs
from seekwise.control.journal import Journal
from seekwise.control.scratch import scratch
from seekwise.control.settings import changed
from seekwise.errors import SeekwiseError
from seekwise.settings import guard_log, persist
from seekwise.settings.apply import apply
from seekwise.settings.guard import worker
from seekwise.settings.guard.compare import GuardVerdict
from seekwise.settings.guard.job import settle
from seekwise.settings.guard.watch import Interval, Watch
from seekwise.settings.persist import File

shim = ctypes.CDLL(None)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
WANTED = {"sda": {"scheduler": "bfq", "nr_requests": 64, "read_ahead_kb": 4096}}
RULE = File(Path("/etc/udev/rules.d/65-seekwise.rules"), "# new rule\n")


class Kernel(FakeKernel):
    """A write to the kernel is one system call, whatever the fake one does for it."""

    def write(self, path: Path, value: str) -> None:
        descriptor = os.open("/dev/null", os.O_WRONLY)
        try:
            os.write(descriptor, b"x")
        finally:
            os.close(descriptor)
        shim.fault_pause(1)
        try:
            super().write(path, value)
        finally:
            shim.fault_pause(0)


class Machine:
    """One machine of files: a disk, /etc, a target folder and the state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        self.kernel = Kernel(folder / "root")
        sysfs.write = self.kernel.write
        FakeKernel.write.__globals__["sysfs"].write = self.kernel.write
        self.kernel.real_write = REAL_WRITE
        self.disk = self.kernel.add_disk("sda", "mq-deadline")
        (self.disk / "queue/iosched/fifo_batch").write_text("3\n")
        (folder / "root/etc").mkdir()
        (folder / "target").mkdir()
        self.journal = Journal(folder / "state")

    def state(self) -> tuple:
        etc = {
            str(path): path.read_bytes() if path.is_file() else None for path in (self.folder / "root/etc").rglob("*")
        }
        return tree(self.disk), etc, sorted(os.listdir(self.folder / "target"))


REAL_WRITE = sysfs.write


def do_apply(machine: Machine) -> None:
    apply(WANTED, machine.kernel.root, machine.journal, [RULE])


def do_revert(machine: Machine) -> None:
    failed = [outcome for outcome in recovery.revert_all(machine.journal) if outcome.state == "failed"]
    if failed:
        raise SeekwiseError(str(failed[0].sentences))


def do_switch(machine: Machine) -> None:
    with changed(WANTED, root=machine.kernel.root, journal=machine.journal):
        pass


def do_scratch(machine: Machine) -> None:
    with scratch(machine.folder / "target", 1000, machine.journal) as folder:
        # What a load leaves there is not ours to be told about.
        shim.fault_pause(1)
        (folder / "t.0").write_text("x")
        (folder / "deep").mkdir()
        (folder / "deep/t.1").write_text("x")
        shim.fault_pause(0)


class Calm(Watch):
    """A load that no setting changes, without waiting for it."""

    def run(self, seconds, stop=lambda: False):
        self.intervals += [Interval(1.0, 200, 819200, 1000 + each % 7, 0, 0, 0, 0.2) for each in range(60)]


def do_guard(machine: Machine) -> None:
    """The guard's process, which keeps the settings and a file with them."""
    worker.Watch = Calm
    # What it concludes is not asked here, and a bootstrap at each of thousands of cases would be most of the time.
    worker.compare = lambda *words, **named: GuardVerdict("same", "no metric is worse", (), 0.5, 0.95)
    persist.file_for = lambda way, wanted, stack: RULE
    document = {
        "id": "g1", "started_at": "2026-01-01T00:00:00Z", "devices": ["sda"], "wanted": WANTED, "ways": ["udev"], "seconds": 10, "limit": 0.5,
        "reason": "test", "evidence": None, "outcome": "starting", "headline": "",
    }  # fmt: skip
    with paused():
        guard_log.write(document)
    ended = worker.guard(document, machine.kernel.root)
    if ended["outcome"] != "kept":
        raise SeekwiseError(ended["headline"])


@contextlib.contextmanager
def paused():
    shim.fault_pause(1)
    try:
        yield
    finally:
        shim.fault_pause(0)


def settled(operation: str) -> None:
    """What every next start of a command does; before it, what systemd does when a guard has ended."""
    if operation == "guard" and (guard_log.folder() / "g1.json").exists():
        settle("g1")
    recovery.at_start(lambda sentence: None)


OPERATIONS = {"apply": do_apply, "revert": do_revert, "switch": do_switch, "scratch": do_scratch, "guard": do_guard}


def in_child(act) -> int:
    """Status of a child: 0 it says that it is done, 1 it says that it failed, 3 anything else, -9 killed."""
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            try:
                act()
                status = 0
            except (SeekwiseError, OSError):  # each is one error of the command's
                status = 1
            except BaseException as error:  # noqa: BLE001 (told by the status)
                import traceback

                shim.fault_pause(1)
                traceback.print_exception(error)
        finally:
            shim.fault_pause(1)
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def case(folder: Path, operation: str, number: int, what: int) -> dict | None:
    """None if everything is right; else what is wrong. Stops the loop by `count` when there are fewer calls."""
    machine = Machine(folder)
    before = machine.state()
    new = EXPECTED_NEW
    if operation == "revert":
        do_apply(machine)
        before, new = machine.state(), machine_before(machine)
    elif operation in ("switch", "scratch"):
        new = before

    def act() -> None:
        shim.fault_arm(number, what)
        OPERATIONS[operation](machine)

    status = in_child(act)
    again = in_child(lambda: settled(operation))
    after = machine.state()
    journal = sorted(name for name in os.listdir(machine.journal.folder)) if machine.journal.folder.exists() else []
    wrong = None
    if status == 3 or again == 3:
        wrong = "a traceback"
    elif operation == "revert" and status == 1 and after != new:
        # A failure that is said may be half-way; a second revert ends it.
        in_child(lambda: do_revert(machine))
        wrong = None if machine.state() == new else "a second revert does not end it"
    elif after not in (before, new):
        wrong = "neither old nor new"
    elif status == 0 and after != new:
        wrong = "said done, and is not"
    elif status == 1 and after != before and operation != "revert":
        wrong = "said failed, and has changed"
    elif operation in ("switch", "scratch") and status == 0 and [name for name in journal if name.endswith(".entry")]:
        wrong = None if what > 0 else "an entry is left"
    return {"call": number, "what": what, "status": status, "wrong": wrong} if wrong else None


def machine_before(machine: Machine) -> tuple:
    return BEFORE


def main() -> None:
    folder, operation, kind, first, step = (
        Path(sys.argv[1]),
        sys.argv[2],
        sys.argv[3],
        int(sys.argv[4]),
        int(sys.argv[5]),
    )
    global EXPECTED_NEW, BEFORE
    os.environ["SEEKWISE_STATE"] = str(folder / "state")
    notice.warn = lambda sentence: None
    machine = Machine(folder)
    BEFORE = machine.state()
    do_apply(machine)
    EXPECTED_NEW = machine.state()
    # How many calls there are, undisturbed.
    machine = Machine(folder)
    if operation == "revert":
        do_apply(machine)
    shim.fault_arm(0, 0)
    OPERATIONS[operation](machine)
    shim.fault_pause(1)
    calls = shim.fault_count()
    wrong = []
    for number in range(first, calls + 1, step):
        for what in (-1, -2) if kind == "kill" else ERRORS:
            found = case(folder, operation, number, what)
            wrong += [found] if found else []
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
    print(json.dumps({"calls": calls, "wrong": wrong}))


if __name__ == "__main__":
    main()
