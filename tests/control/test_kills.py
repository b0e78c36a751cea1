"""A guard or a recording killed at any moment: after the next command nothing of them is left."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from control.conftest import needs_root
from seekwise import temporary
from seekwise.control import tracefs
from seekwise.control.journal import Journal
from seekwise.control.settings import read_settings
from seekwise.errors import MissingError
from seekwise.settings import guard_log
from seekwise.trace import summary
from seekwise.trace.readers import open_trace

counts = pytest.mark.parametrize("count", [2, pytest.param(67, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])


def seekwise(*words, folder: Path, start: bool = False):
    command = [sys.executable, "-P", "-m", "seekwise.cli.main", *map(str, words)]
    environment = {**os.environ, "SEEKWISE_STATE": str(folder / "state"), "TMPDIR": str(folder / "tmp")}
    (folder / "tmp").mkdir(exist_ok=True)
    if start:
        return subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )


def owned(pid: int) -> set[Path]:
    """The recording in shared memory and the tracing instances of this process; other tests, and other work on this
    machine, leave theirs as well until their next command."""
    found = {path for root in tracefs.ROOTS for path in (root / "instances").glob(f"seekwise-{pid}-*")}
    with contextlib.suppress(OSError):
        held = [Path(os.readlink(each)) for each in Path(f"/proc/{pid}/fd").iterdir()]
        found |= {path for path in held if path.match(f"{temporary.SHARED_MEMORY}/seekwise-record-*")}
    return found


def is_tracing(process: subprocess.Popen, *, begun: bool = False) -> bool:
    """Whether it has a tracing instance, and with `begun` one whose events are taken."""
    instances = [path for root in tracefs.ROOTS for path in (root / "instances").glob(f"seekwise-{process.pid}-*")]
    if not begun:
        return bool(instances)

    def is_on(path: Path, switch: str) -> bool:
        # It may be gone by now.
        with contextlib.suppress(OSError):
            return (path / switch).read_text().strip() != "0"
        return False

    # A new instance is on by itself, and has no events yet; events come while it is off.
    return any(is_on(path, "events/enable") and is_on(path, "tracing_on") for path in instances)


def killed(process: subprocess.Popen, number: int) -> tuple[str, set[Path]]:
    """What it said, and what it had when the signal came."""
    had = owned(process.pid)
    family = [process.pid, *(each.pid for each in psutil.Process(process.pid).children(recursive=True))]
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=60)
    psutil.wait_procs([psutil.Process(pid) for pid in family if psutil.pid_exists(pid)], timeout=60)
    return said, had | owned(process.pid)


def is_traced() -> bool:
    try:
        return tracefs.root() is not None
    except MissingError:
        return False


traced = pytest.mark.skipif(
    os.geteuid() != 0 or not is_traced(), reason="needs root and the kernel's block trace events"
)


@traced
@pytest.mark.root
@counts
def test_a_killed_recording_leaves_nothing_after_the_next_command(loop, tmp_path, count):
    chance = random.Random(1)
    for _ in range(count):
        process = seekwise(
            "record", f"/dev/{loop}", "--for", "60s", "--output", tmp_path / "x.swt", folder=tmp_path, start=True
        )
        end = time.monotonic() + 60
        while chance.random() < 0.99 and not is_tracing(process) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(chance.random() * 0.3)
        _, had = killed(process, signal.SIGKILL)
        assert seekwise("status", "--json", folder=tmp_path).returncode == 0
        assert not [path for path in had if path.exists()] and not list((tmp_path / "tmp").iterdir())


@traced
@pytest.mark.root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_recording_that_is_told_to_end_keeps_what_it_has(loop, tmp_path, number):
    path = tmp_path / "x.swt"
    process = seekwise("record", f"/dev/{loop}", "--for", "60s", "--output", path, folder=tmp_path, start=True)
    end = time.monotonic() + 120
    while not is_tracing(process, begun=True) and time.monotonic() < end:
        time.sleep(0.01)
    with open(f"/dev/{loop}", "rb", buffering=0) as device:
        for place in range(50):
            os.posix_fadvise(device.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(device.fileno(), 4096, place * 262_144)
    said, had = killed(process, number)
    assert process.returncode == 0, said
    _, chunks = open_trace(path)
    assert summary.summary_of(chunks).requests > 0
    assert len(had) == 2 and not [path for path in had if path.exists()]


@needs_root
@pytest.mark.root
@counts
def test_a_killed_guard_leaves_nothing_after_the_next_command(loop, tmp_path, count):
    chance, settings = random.Random(2), read_settings(loop)
    words = ("apply", "--device", f"/dev/{loop}", "--set", "read_ahead_kb=64", "--guard", "10s")
    state = tmp_path / "state"
    for number in range(count):
        # `status` leaves what was said of those that were killed before.
        earlier = {document["id"] for document in guard_log.undecided(state)}
        process = seekwise(*words, folder=tmp_path, start=True)
        end = time.monotonic() + 60
        # One in four may apply first: its watch before the change takes 5 s.
        wanted = "watching after" if number % 4 == 1 else "watching before"
        while time.monotonic() < end:
            found = [document for document in guard_log.undecided(state) if document["id"] not in earlier]
            if found and (found[-1]["outcome"] == wanted or (number % 4 == 2 and "process" in found[-1])):
                break
            time.sleep(0.005)
        worker = guard_log.process_of(str(found[-1]["id"]), state)
        time.sleep(chance.random() * 0.4)
        process.kill()
        process.communicate(timeout=60)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        while worker.alive:
            time.sleep(0.01)
        command = "revert" if chance.random() < 0.5 else "status"
        assert seekwise(command, folder=tmp_path).returncode == 0
        assert read_settings(loop) == settings
        assert Journal(state).is_empty() and not list((tmp_path / "tmp").iterdir())
