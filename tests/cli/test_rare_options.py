"""Options that few use: each does what its line says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import simulated_study

from seekwise.cli.main import cli

FOREIGN = Path(__file__).parents[1] / "store/foreign"


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Calls `seekwise` on a database of its own; what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))

    def call(*words: str) -> str:
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_the_threshold_of_tune_is_that_of_rates_and_twice_that_of_times(called):
    words = ("tune", "model:wd2500ys", "--for", "queries-and-log", "--seed", "1", "--threshold", "20%", "--json")
    uses = json.loads(called(*words))["uses"]
    found = {(each["metric"], each["threshold"]) for each in uses if each["role"] == "foreground"}
    assert {("rate", 0.2), ("p99", 0.4)} <= found


def test_figures_of_a_run_are_a_line_per_operation_threads_and_setting(called, tmp_path):
    (tmp_path / "small.toml").write_text(simulated_study.text(ios=20, blocks=3))
    called("run", "small.toml")
    lines = [
        line
        for line in called("results", "last", "--figures").splitlines()
        if line.startswith("Random read ") and "bfq" in line
    ]
    assert len(lines) == 2 and all(" to " in line for line in lines)


def test_files_of_another_tool_get_the_names_that_are_given(called):
    files = [str(FOREIGN / name) for name in ("fio-none.1.json", "fio-bfq.1.json")]
    called("import", *files, "--setting", "left", "--setting", "right")
    records = json.loads(called("results", "last", "--json"))["records"]
    assert {each["setting"] for each in records} == {"left", "right"}
