"""Several systems: the first screen names what every setting reaches on each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli

STUDY = """
name = "two-machines"
question = "Which scheduler?"
backend = "simulated"

[[system]]
name = "one core, slow"
drive = "samsung_980_pro_1tb"
kernel = "6.3"
options = { cores = 1, whole_drive = true }

[[system]]
name = "four cores"
drive = "samsung_980_pro_1tb"
kernel = "6.3"
options = { cores = 4, whole_drive = true }

[settings]
scheduler = ["none", "bfq"]

[[workload]]
name = "readers"
operations = ["rand_read"]
threads = [4]
iodepth = [1, 64]
block_bytes = "4k"
direct = true
runtime = "10ms"

[[workload]]
name = "readers next to writers"
operations = ["rand_read"]
threads = [4]
block_bytes = "4k"
direct = true
runtime = "40ms"
beside = [{ name = "writers", operation = "rand_write", threads = 2, iodepth = 8, block_bytes = "64k", size = "1g" }]

[design]
blocks = 3
control = false
sentinel = false
"""


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("systems")
    study = Path(folder, "two-machines.toml")
    study.write_text(STUDY)
    db = ["--db", str(folder / "runs.db")]
    runner = CliRunner()
    shown = {}
    for name, words in {
        "run": ["run", str(study), *db],
        "results": ["results", "last", *db],
        "all": ["results", "last", "--all", *db],
        "advise": ["advise", "last", *db],
    }.items():
        done = runner.invoke(cli, words)
        assert done.exit_code == 0, done.output
        shown[name] = done.stdout
    return shown


@pytest.mark.parametrize("name", ["run", "results"])
def test_the_first_screen_has_a_value_for_each_setting_on_each_system(screens: dict[str, str], name: str) -> None:
    screen = screens[name]
    assert "Readers, random read, highest IOPS" in screen
    for system in ("one core, slow", "four cores"):
        row = next(line for line in screen.splitlines() if line.startswith(f"  {system}  "))
        assert len(re.findall(r"[\d.]+ k\b", row)) == 2, row
    assert "Readers next to writers, random read, mean latency in ms" in " ".join(screen.split()), (
        "a load with a background job is weighed by what it waits"
    )


def test_the_answer_is_the_same_sentence_everywhere(screens: dict[str, str]) -> None:
    headline = next(line for line in screens["results"].splitlines()[1:] if line)
    assert all(headline in screens[name] for name in ("run", "all", "advise"))


def test_no_line_is_wider_than_a_terminal_and_no_name_is_cut(screens: dict[str, str]) -> None:
    for screen in screens.values():
        assert "…" not in screen
        tables = screen.partition("Insights")[0]
        # Commands name the database and are never wrapped.
        assert max(len(line) for line in tables.splitlines() if not line.startswith(("=", "next: "))) <= 80
    words = " ".join(screens["all"].split())
    assert "one core, slow" in words
