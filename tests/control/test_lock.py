"""One run per device, and nobody but root can hold root up."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from seekwise.control import recovery
from seekwise.control.lock import devices_locked, holder, users_kept_out
from seekwise.control.settings import changed
from seekwise.control.state import runtime_folder
from seekwise.errors import RefusedError
from seekwise.settings.apply import preview

from .conftest import needs_root, tree
from .nobody import AS_NOBODY
from .test_recovery import killed_inside


@pytest.fixture
def held_by_a_user(kernel):
    """A user holds a lock on the device's folder in sysfs, as anybody can."""
    folder = kernel.add_disk("sda")
    for parent in folder.parents:
        if parent.owner() == "root" and parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)
    code = "import fcntl, os, sys, time; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
    user = subprocess.Popen([*AS_NOBODY, code, str(folder)], stdout=subprocess.PIPE, cwd="/")
    assert user.stdout.readline() == b"held\n"
    yield folder
    user.kill()
    user.wait()
    user.stdout.close()


@needs_root
def test_a_user_cannot_keep_root_from_changing_settings(kernel, journal, held_by_a_user):
    assert preview({"sda": {"scheduler": "bfq"}}, kernel.root).lines.set
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal) as seen:
        assert seen["sda"]["queue/scheduler"] == "bfq"


@needs_root
def test_a_user_cannot_keep_root_from_restoring(kernel, journal, held_by_a_user):
    before = tree(held_by_a_user)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    recovery.restore_left_behind(journal)
    assert tree(held_by_a_user) == before


@needs_root
def test_the_folder_of_roots_locks_is_roots_alone(kernel):
    assert runtime_folder().stat().st_mode & 0o777 == 0o700
    assert runtime_folder().stat().st_uid == 0


def test_two_runs_of_one_user_exclude_each_other(kernel):
    kernel.add_disk("sda")
    code = (
        "import sys, time; from pathlib import Path; from seekwise.control.lock import devices_locked\n"
        "with devices_locked(['sda'], Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(kernel.root)], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(RefusedError, match=f"process {other.pid}"), devices_locked(["sda"], kernel.root):
            pytest.fail("must not be entered")
        # What is in force now belongs to the other: a preview would show it as what was set.
        with pytest.raises(RefusedError, match=f"process {other.pid}"):
            preview({"sda": {"scheduler": "bfq"}}, kernel.root)
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    time.sleep(0.01)
    with devices_locked(["sda"], kernel.root), devices_locked(["sda"], kernel.root):
        assert preview({"sda": {"scheduler": "bfq"}}, kernel.root).lines.set
    with devices_locked(["sda"], kernel.root):
        pass


def test_a_user_is_refused_while_root_s_change_waits(kernel, monkeypatch):
    """Root itself goes on: its journal tells it, and the way back must be free."""
    kernel.add_disk("sda")
    kernel.add_disk("sdb")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with users_kept_out(["sda"], kernel.root):
        assert holder("sda", kernel.root) is None
        monkeypatch.setattr("os.geteuid", lambda: 4242)
        with pytest.raises(RefusedError, match="sda: a change by root waits"), devices_locked(["sda"], kernel.root):
            pytest.fail("must not be entered")
        with devices_locked(["sdb"], kernel.root):
            assert holder("sdb", kernel.root) is not None
    with devices_locked(["sda"], kernel.root), users_kept_out(["sda"], kernel.root):
        pass


@needs_root
def test_root_takes_its_device_while_users_are_kept_out(kernel):
    kernel.add_disk("sda")
    with users_kept_out(["sda"], kernel.root), devices_locked(["sda"], kernel.root):
        pass
