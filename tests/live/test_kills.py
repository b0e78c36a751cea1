"""SIGKILL at random moments of live switching: the next command finds everything as it was, or puts it so."""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from cli.conftest import needs_fio, needs_root, settings_of
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
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert loads(seekwise) == []
    assert settings_of(storage.name) == before
    assert not list(storage.folder.glob("seekwise-scratch-*"))


def shared_memory() -> set[str]:
    """Ids of the segments of System V shared memory."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


@pytest.mark.timeout(max(1200, 60 * KILLS))
def test_whenever_it_is_killed_settings_processes_and_files_are_as_before(seekwise, storage):
    before, segments = settings_of(storage.name), shared_memory()
    rng = random.Random(20261123)
    switched = 0
    for number in range(KILLS):
        process = seekwise.start(
            "tune", str(storage.folder), "--for", USES[number % len(USES)], "--budget", "40s", "--json"
        )
        time.sleep(rng.uniform(0.5, 12.0))
        switched += settings_of(storage.name) != before
        process.kill()
        process.communicate(timeout=30)
        seekwise("revert", status=None)
        end = time.monotonic() + 10
        while loads(seekwise) and time.monotonic() < end:
            time.sleep(0.1)
        assert loads(seekwise) == [], f"kill {number}: a load runs on"
        assert settings_of(storage.name) == before, f"kill {number}: settings differ"
        assert not list(storage.folder.glob("seekwise-scratch-*")), f"kill {number}: test files are left"
        assert not list((seekwise.state / "state").glob("journal/[!.]*")), f"kill {number}: the journal is not empty"
    # What is marked for removal goes with the last process that is attached, which may still be ending.
    end = time.monotonic() + 10
    while shared_memory() - segments and time.monotonic() < end:
        time.sleep(0.1)
    assert shared_memory() <= segments, "shared memory of a database is left"
    assert switched >= KILLS // 6, "too few kills fell into a time in which settings were switched"
