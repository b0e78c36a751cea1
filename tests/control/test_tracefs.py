"""Tracing instances of runs that were killed go with the next look, those of living ones stay."""

import os
import subprocess
from pathlib import Path

import pytest

from seekwise.control import recovery, tracefs


def named(pid: int) -> str:
    return f"seekwise-{pid}-{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"


@pytest.fixture
def instances(tmp_path, monkeypatch):
    folder = tmp_path / "instances"
    folder.mkdir()
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path, tmp_path / "elsewhere"))
    return folder


def test_instances_of_the_dead_are_removed_at_the_start_of_a_command(instances, tmp_path, monkeypatch):
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    ended = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    dead = instances / named(ended.pid)
    ended.communicate()
    # Its number may belong to another process by now.
    reused = instances / f"seekwise-{os.getpid()}-1"
    ours, foreign, odd = (instances / name for name in (named(os.getpid()), "trace-cmd", "seekwise-x"))
    # Recordings of programs of an earlier release had no start in their name.
    earlier, earlier_dead = (instances / f"seekwise-{pid}" for pid in (os.getpid(), ended.pid))
    for path in (ours, foreign, odd, instances / named(zombie.pid), dead, reused, earlier, earlier_dead):
        path.mkdir()
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    recovery.at_start(lambda sentence: None)
    zombie.wait()
    assert set(instances.iterdir()) == {ours, foreign, odd, earlier}


def test_a_machine_without_tracefs_has_nothing_to_remove(tmp_path, monkeypatch):
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path / "nowhere",))
    tracefs.remove_left_behind()
