"""SIGKILL at random moments of live switching: the next command finds everything as it was, or puts it so."""

import os
import random
import subprocess
import time

import pytest

from cli.conftest import needs_fio, needs_root, settings_of

pytestmark = [needs_root, needs_fio, pytest.mark.slow]
KILLS = int(os.environ.get("SEEKWISE_TEST_KILLS", "12"))


def loads_in(folder):
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if "fio" in line and str(folder) in line]


@pytest.mark.timeout(1200)
def test_whenever_it_is_killed_settings_processes_and_files_are_as_before(seekwise, storage):
    before = settings_of(storage.name)
    rng = random.Random(20261123)
    switched = 0
    for number in range(KILLS):
        process = seekwise.start(
            "tune", str(storage.folder), "--for", "random-read,desktop-copy", "--budget", "40s", "--json"
        )
        time.sleep(rng.uniform(0.5, 12.0))
        switched += settings_of(storage.name) != before
        process.kill()
        process.communicate(timeout=30)
        seekwise("revert", status=None)
        end = time.monotonic() + 10
        while loads_in(storage.folder) and time.monotonic() < end:
            time.sleep(0.1)
        assert loads_in(storage.folder) == [], f"kill {number}: a load runs on"
        assert settings_of(storage.name) == before, f"kill {number}: settings differ"
        assert not list(storage.folder.glob("seekwise-scratch-*")), f"kill {number}: test files are left"
        assert not list((seekwise.state / "state").glob("journal/[!.]*")), f"kill {number}: the journal is not empty"
    assert switched >= KILLS // 6, "too few kills fell into a time in which settings were switched"
