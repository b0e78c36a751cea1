"""SIGKILL at random moments of whatever changes or measures: the next command finds everything as it was, or restores it."""

import contextlib
import fcntl
import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest

from cli.conftest import needs_fio, needs_root, settings_of
from seekwise.control import scratch, tracefs
from seekwise.control.process import ProcessIdentity, boot_id
from seekwise.files import try_lock
from seekwise.workload import mariadb, postgres

pytestmark = [needs_root, needs_fio, pytest.mark.slow]
KILLS = int(os.environ.get("SEEKWISE_TEST_KILLS", "12"))


USES = [
    "random-read,desktop-copy",
    "database,file-server",
    "postgresql" if postgres.binaries() is not None else "web-server",
    "mariadb" if mariadb.binaries() is not None else "build",
]


def loads(seekwise):
    """Processes of this test's loads, whatever they are called: their environment names its state."""
    mark = f"SEEKWISE_STATE={seekwise.state / 'state'}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes():
                    found.append((folder.name, (folder / "cmdline").read_bytes()[:80]))
    return found


@pytest.mark.parametrize("use", USES)
def test_ctrl_c_leaves_no_program_no_file_and_no_other_setting(seekwise, storage, use):
    before = settings_of(storage.name)
    process = seekwise.start("tune", str(storage.folder), "--for", use, "--budget", "60s", "--json")
    time.sleep(16)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted; settings are as before" in " ".join(said.split())
    assert loads(seekwise) == []
    assert settings_of(storage.name) == before
    assert not list(storage.folder.glob("seekwise-scratch-*"))


def vm_settings() -> dict[str, str]:
    """Of the machine, as `--also dirty-limits` changes them."""
    return {path.name: path.read_text() for path in Path("/proc/sys/vm").glob("dirty_*")}


def segments() -> set[str]:
    """Ids of the segments of System V shared memory to which no process is attached."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[6] == "0"}


def is_alive(folder: Path) -> bool:
    """Whether a scratch or temporary folder, as others may have beside this test, is held by its process."""
    for each in (folder / scratch.MANIFEST, folder):
        with contextlib.suppress(OSError):
            descriptor = os.open(each, os.O_RDONLY)
            try:
                if try_lock(descriptor, fcntl.LOCK_SH) is False:
                    return True
            finally:
                os.close(descriptor)
    return False


OF_OTHER_TESTS = ("seekwise-test-", "seekwise-faults-", "loop")
"""Folders of tests that may run meanwhile (`control/conftest.py`, `faults/test_every_call.py`, `control/test_emptiness.py`)."""


def left_in_memory() -> set[str]:
    """Everything in shared memory that belongs to no living run and no other test."""
    folders = (path for path in Path("/dev/shm").iterdir() if not path.name.startswith(OF_OTHER_TESTS))
    return {path.name for path in folders if not is_alive(path)}


def left_of_kernel() -> set[str]:
    """Control groups without a process, and tracing instances whose process is gone."""
    found = set()
    for group in Path("/sys/fs/cgroup").glob("**/seekwise-*"):
        with contextlib.suppress(OSError):
            if not (group / "cgroup.procs").read_text():
                found.add(str(group))
    for path in (each for root in tracefs.ROOTS for each in (root / "instances").glob("seekwise-*-*")):
        pid, start = map(int, path.name.removeprefix("seekwise-").split("-"))
        if not ProcessIdentity(pid, start, boot_id()).alive:
            found.add(str(path))
    return found


def mounted_elsewhere(storage) -> list[str]:
    """Processes with a mount namespace of their own in which the storage is still mounted."""
    ours, found = os.readlink("/proc/self/ns/mnt"), []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "ns/mnt") != ours and str(storage.folder) in (process / "mountinfo").read_text():
                found.append((process / "cmdline").read_text()[:100])
    return found


def kept_files() -> dict[str, str]:
    folders = (Path("/etc/udev/rules.d"), Path("/etc/sysfs.d"))
    return {str(path): path.read_text() for folder in folders for path in sorted(folder.glob("*seekwise*"))}


def actions(storage) -> dict[str, tuple[str, ...]]:
    tune = ("tune", str(storage.folder), "--budget")
    sets = ("apply", "--device", storage.name, "--set", "scheduler=bfq")
    return {
        **{use: (*tune, "40s", "--json", "--for", use) for use in USES},
        "dirty limits": (*tune, "70s", "--json", "--for", "desktop-copy", "--also", "dirty-limits"),
        "command": (*tune, "20s", "--json", "--", "dd", "if=/dev/zero", f"of={storage.folder}/x", "bs=64k", "count=64", "oflag=direct"),
        "apply": sets,
        "persist": (*sets, "--persist", "udev", "--accept-conflicts"),
        "guard": (*sets, "--guard", "10s"),
        "confirm": (*sets, "--confirm", "8s"),
        "revert": ("revert",),
        "record": ("record", storage.name, "--for", "20s", "--output", "x.swt"),
    }  # fmt: skip


LONGEST_S = {"apply": 1.5, "persist": 1.5, "revert": 1.5, "confirm": 5.0, "guard": 18.0}


def descendants(process) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def killed(process, how: str, seekwise) -> None:
    """`main`: the command; `supervisor`: what stands between it and its loads; `tree`: everything at once, a guard's process included."""
    below = descendants(process)
    victims = [process.pid]
    if how == "supervisor":
        victims = [each.pid for each in below if any("supervise.py" in word for word in safe_words(each))]
    elif how == "tree":
        # A guard's own process is a session of its own.
        victims += [each.pid for each in below] + [int(pid) for pid, _ in loads(seekwise)]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if how == "supervisor":
        time.sleep(0.2)
        process.kill()
    process.communicate(timeout=60)


def safe_words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def gone_within(seconds: float, found) -> bool:
    end = time.monotonic() + seconds
    while (left := found()) and time.monotonic() < end:
        time.sleep(0.1)
    return not left


@pytest.mark.timeout(max(1200, 60 * KILLS))
def test_whatever_is_killed_and_when_nothing_is_lost_or_left_after_the_next_command(seekwise, storage, monkeypatch):
    """Of `KILLS` kills: a command, its supervisor or all of its processes, at a random moment."""
    own = seekwise.state / "tmp"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    before, machine, kept = settings_of(storage.name), vm_settings(), kept_files()
    memory, shared, kernel = left_in_memory(), segments(), left_of_kernel()
    rng = random.Random(int(os.environ.get("SEEKWISE_TEST_SEED", "20261127")))
    switched = 0
    for number in range(KILLS):
        name, words = list(actions(storage).items())[number % len(actions(storage))]
        how = rng.choice(("main", "supervisor", "tree"))
        moment = f"kill {number}, {how} of {name}"
        if name == "revert":
            seekwise("apply", "--device", storage.name, "--set", "scheduler=bfq")
        process = seekwise.start(*words)
        time.sleep(rng.uniform(0.3, LONGEST_S.get(name, 12.0)))
        switched += settings_of(storage.name) != before or vm_settings() != machine
        killed(process, how, seekwise)
        # What was asked to stay needs `revert`; a guard whose process lives goes on until it is told to end.
        asked = name in ("apply", "persist", "guard", "confirm", "revert")
        seekwise("revert" if asked or rng.random() < 0.5 else "status", status=None)
        assert gone_within(60, lambda: loads(seekwise)), f"{moment}: {loads(seekwise)} runs on"
        assert settings_of(storage.name) == before, f"{moment}: settings differ"
        assert vm_settings() == machine, f"{moment}: settings of the machine differ"
        assert kept_files() == kept, f"{moment}: files that keep settings are left"
        assert not list(storage.folder.glob("seekwise-scratch-*")), f"{moment}: test files are left"
        assert not list((seekwise.state / "state").glob("journal/[!.]*")), f"{moment}: the journal is not empty"
        assert not list(own.iterdir()), f"{moment}: temporary files are left: {list(own.iterdir())}"
        # What is marked for removal goes with the last process that is attached, which may still be ending.
        assert gone_within(60, lambda: left_in_memory() - memory), f"{moment}: {left_in_memory() - memory}"
        assert gone_within(60, lambda: segments() - shared), f"{moment}: shared memory of a database is left"
        assert gone_within(60, lambda: left_of_kernel() - kernel), f"{moment}: {left_of_kernel() - kernel}"
        # A server of another test has a copy of the mount for as long as it runs.
        assert gone_within(60, lambda: mounted_elsewhere(storage)), f"{moment}: {mounted_elsewhere(storage)}"
    print(f"{KILLS} kills, {switched} while settings differed")
    assert switched >= KILLS // 6, "too few kills fell into a time in which settings were switched"
