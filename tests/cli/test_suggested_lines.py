"""Each line that a command suggests is typed in a shell in which `seekwise` is not in the path, as after `pipx install` or from a virtual environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.environment import VARIABLES
from seekwise.invocation import SECURE_PATH

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "seekwise"
MACHINE = ROOT / "tests" / "machines" / "sata-ncq-off.tar.gz"
RESULTS = [
    ROOT / "tests" / "importing" / "files" / f"fio-{name}.json" for name in ("none.1", "none.2", "bfq.1", "bfq.2")
]
TRACE = ROOT / "tests" / "trace" / "cases" / "biosnoop.txt"
SUGGESTED = re.compile(r"(?:next: |`)((?:sudo )?\S*seekwise [^`#\n]+)")
PLACE = re.compile(r"\b(?:PATH|DEVICE|FILE|NAME|N|PROGRAM|DIR|VALUE)\b|…")
"""What the reader must fill in."""

pytestmark = [
    pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not installed beside this Python"),
    pytest.mark.skipif(shutil.which("seekwise", path=SECURE_PATH) is not None, reason="seekwise is in sudo's path"),
]


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES and name != "PATH"}
    kept |= {"PATH": SECURE_PATH, "SEEKWISE_DB": str(folder / "runs.db"), "SEEKWISE_STATE": str(folder / "state")}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=120
    )


def suggested(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines without the words that a reader fills in; a terminal's wrapping does not cut them here."""
    return [each.strip() for each in SUGGESTED.findall(done.stdout + done.stderr)]


@pytest.mark.parametrize(
    ("words", "fewest"),
    [
        (f"import {' '.join(map(str, RESULTS))}", 1),
        ("results nothing-of-this-name", 1),
        (f"trace show {TRACE}", 1),
        (f"trace show {MACHINE}", 0),
        (f"status --root {MACHINE}", 1),
        ("doctor --root /nothing", 0),
        ("explain nothing-of-this-name", 1),
        ("tune model:nothing-of-this-name", 1),
        ("devices --ncq nothing-of-this-name", 1),
        ("whatif nothing.swtrace", 1),
        ("compare one two", 0),
        ("frobnicate", 1),
    ],
)
def test_what_is_suggested_is_found_by_a_shell_with_sudos_path(words, fewest, tmp_path):
    done = typed(f"{PROGRAM} {words}", tmp_path)
    assert "Traceback" not in done.stderr
    lines = suggested(done)
    assert len(lines) >= fewest, done.stdout + done.stderr
    for line in lines:
        command = line.removeprefix("sudo ")
        assert command.startswith(f"{PROGRAM} "), f"{words}: {line}"
        again = typed(f"{command.split()[0]} --version" if PLACE.search(command) else command, tmp_path)
        assert again.returncode not in (126, 127), f"{line}: {again.stderr}"


def test_the_demo_suggests_commands_for_the_path_that_its_user_has():
    """make itself looks into the environment first, the shell that it was typed in does not."""
    path = "/usr/bin:/bin"
    recipe = subprocess.run(
        ["make", "-n", "demo"], cwd=ROOT, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert f"export PATH='{path}';" in recipe.stdout.splitlines()[-1]
