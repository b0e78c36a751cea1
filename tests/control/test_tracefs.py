"""Tracing instances of runs that were killed go with the next look, those of living ones stay."""

import os
import subprocess

import pytest

from seekwise.control import recovery, tracefs


@pytest.fixture
def instances(tmp_path, monkeypatch):
    folder = tmp_path / "instances"
    folder.mkdir()
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path, tmp_path / "elsewhere"))
    return folder


def test_instances_of_the_dead_are_removed_at_the_start_of_a_command(instances, tmp_path, monkeypatch):
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    ended = subprocess.Popen(["true"])
    ended.wait()
    ours, foreign, odd = (instances / name for name in (f"seekwise-{os.getpid()}", "trace-cmd", "seekwise-x"))
    for path in (ours, foreign, odd, instances / f"seekwise-{zombie.pid}", instances / f"seekwise-{ended.pid}"):
        path.mkdir()
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    recovery.at_start(lambda sentence: None)
    zombie.wait()
    assert set(instances.iterdir()) == {ours, foreign, odd}


def test_a_machine_without_tracefs_has_nothing_to_remove(tmp_path, monkeypatch):
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path / "nowhere",))
    tracefs.remove_left_behind()
