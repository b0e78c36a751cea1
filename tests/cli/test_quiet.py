"""`--quiet`: no progress on standard error; results, warnings and errors stay."""

from __future__ import annotations

import re
from pathlib import Path

import seekwise

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = Path(seekwise.__file__).parent / "cli"
STUDY = """
name = "small"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "2.6.24"
[settings]
scheduler = ["noop", "cfq"]
[[workload]]
operations = ["rand_read"]
direct = true
size = "16m"
runtime = "300ms"
[design]
blocks = 3
"""


def test_a_run_says_how_far_it_is_unless_told_to_be_quiet(seekwise, tmp_path):
    (seekwise.folder / "small.toml").write_text(STUDY)
    told = seekwise("run", "small.toml", "--backend", "simulated")
    assert "repetition 1 of 3" in told.stderr
    quiet = seekwise("--quiet", "run", "small.toml", "--backend", "simulated")
    assert quiet.stderr == "" and "random read" in quiet.stdout


def test_errors_stay(seekwise):
    failed = seekwise("--quiet", "explain", "quxzplon", status=2)
    assert failed.stderr.startswith("error: no entry")


def test_progress_goes_through_the_one_function_that_knows_of_quiet():
    """Whoever writes `measuring …` or `… left` straight to standard error would be heard with --quiet."""
    loud = []
    for path in COMMANDS.glob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if (
                "err=True" in line
                and re.search(r"\bleft\b|measuring|recording|run \{done\}", line)
                and path.name != "_output.py"
            ):
                loud.append(f"{path.name}:{number}")
    assert not loud
