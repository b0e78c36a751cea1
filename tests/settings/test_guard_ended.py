"""A revert ends the guard, at every moment of its life, whatever state its process is in: nothing is set afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from control.conftest import needs_root
from seekwise.control.journal import Journal
from seekwise.control.settings import read_settings
from seekwise.settings import guard_log

MOMENTS = ("just begun", "process noted", "watching before", "watching after")
STATES = {"runs": None, "is killed": signal.SIGKILL, "is stopped": signal.SIGSTOP}


def command(*words: str, state) -> list[str]:
    return [sys.executable, "-P", "-m", "seekwise.cli.main", *words]


def until(moment: str, state) -> dict:
    """The guard's document once it has come so far."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for document in guard_log.undecided(state):
            has_come = {"just begun": True, "process noted": "process" in document}
            if has_come.get(moment, document["outcome"] == moment):
                return document
        time.sleep(0.002)
    raise AssertionError(f"no guard is at: {moment}")


@needs_root
@pytest.mark.root
@pytest.mark.parametrize(
    ("moment", "its_process"),
    [
        pytest.param(moment, state, marks=() if (moment, state) == ("watching after", "runs") else pytest.mark.slow)
        for moment in MOMENTS
        for state in STATES
    ],
)
def test_a_revert_ends_a_guard(loop, tmp_path, moment, its_process):
    before = read_settings(loop)
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path)}
    words = command("apply", "--device", f"/dev/{loop}", "--set", "read_ahead_kb=64", "--guard", "10s", state=tmp_path)
    asked = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        document = until(moment, tmp_path)
        process = guard_log.process_of(document["id"], tmp_path)
        if process is not None and (number := STATES[its_process]):
            # The command that waits would settle it before we do.
            asked.kill()
            os.kill(process.pid, number)
        done = subprocess.run(
            command("revert", state=tmp_path), env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "guard of " in done.stdout and "still runs" not in done.stdout, done.stdout
        assert read_settings(loop) == before
        last = guard_log.process_of(document["id"], tmp_path)
        # A worker that had not begun may still begin: then it sees that it was ended.
        time.sleep(3 if moment == "just begun" else 0.5)
        last = guard_log.process_of(document["id"], tmp_path) or last
        assert last is None or not last.alive
        assert read_settings(loop) == before
        assert Journal(tmp_path).is_empty()
        assert guard_log.undecided(tmp_path) == []
        again = subprocess.run(
            command("revert", state=tmp_path), env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert again.stdout == "nothing to restore\n"
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            asked.wait(20)
        asked.kill()
        asked.wait()


@needs_root
@pytest.mark.root
def test_a_dry_run_says_that_the_guard_would_end_and_leaves_it(loop, tmp_path):
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path)}
    words = command("apply", "--device", f"/dev/{loop}", "--set", "read_ahead_kb=64", "--guard", "10s", state=tmp_path)
    asked = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    document = until("watching before", tmp_path)
    for words in (("revert", "--dry-run"), ("revert",)):
        done = subprocess.run(
            command(*words, state=tmp_path), env=environment, capture_output=True, text=True, check=True
        )
        assert f"guard of {loop}" in done.stdout
        process = guard_log.process_of(document["id"], tmp_path)
        assert process.alive is (words != ("revert",))
    asked.wait(30)
