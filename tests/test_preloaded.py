"""A fork of the loaded Python is what a start of the command is: the same words, streams, status and folder."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests import preloaded


def started(words: list[str], environment: dict[str, str], folder) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", preloaded.MODULE, *words],
        capture_output=True, text=True, env=environment, cwd=folder, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "status"),
    [(["explain", "bfq"], 0), (["run", "here.toml"], 2), (["explain", "no such word", "--json"], 2), (["tune", "--help"], 0)],
)  # fmt: skip
def test_it_prints_and_ends_as_a_start_does(words, status, tmp_path):
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path), "COLUMNS": "70"}
    (tmp_path / "here.toml").write_text("nothing")
    fork, start = preloaded.run(words, environment, tmp_path), started(words, environment, tmp_path)
    assert (fork.returncode, fork.stdout, fork.stderr) == (start.returncode, start.stdout, start.stderr)
    assert fork.returncode == status and fork.stdout + fork.stderr


def test_a_command_that_takes_too_long_is_killed(tmp_path):
    words = ["run", "demo", "--db", str(tmp_path / "records.db")]
    with pytest.raises(subprocess.TimeoutExpired):
        preloaded.run(words, {**os.environ, "SEEKWISE_STATE": str(tmp_path)}, tmp_path, timeout_s=0.05)


def test_what_an_interpreter_reads_when_it_starts_makes_an_ordinary_start(tmp_path):
    usual = {**os.environ, "SEEKWISE_STATE": str(tmp_path)}
    assert "import 'click'" in preloaded.run(["explain", "bfq"], usual | {"PYTHONVERBOSE": "1"}, tmp_path).stderr
    assert "import 'click'" not in preloaded.run(["explain", "bfq"], usual, tmp_path).stderr
