"""Slow tests: files of minutes begin first, and after SLOW_TESTS_UNTIL none begins."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """\
import pytest
from pathlib import Path

@pytest.mark.slow
@pytest.mark.parametrize("number", range({count}))
def test_one(number):
    with (Path(__file__).parent / "begun").open("a") as file:
        file.write(Path(__file__).name + "\\n")
"""


@pytest.mark.parametrize(("until", "begun"), [(3600, ["test_packages.py", "test_many.py", "test_many.py"]), (-1, [])])
def test_a_file_of_minutes_begins_before_one_of_more_tests(until, begun, tmp_path):
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    for name, count in (("test_many.py", 2), ("test_packages.py", 1)):
        (tmp_path / name).write_text(TESTS.format(count=count))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "slow",
        "-n",
        "1",
        "--dist",
        "loadfile",
        "-p",
        "no:cacheprovider",
    ]
    environment = {**os.environ, "SLOW_TESTS_UNTIL": str(time.time() + until)}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = tmp_path / "begun"
    assert (found.read_text().splitlines() if found.exists() else []) == begun, done.stdout
