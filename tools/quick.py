"""After a change, within a minute: formatting and types of the changed files, and the tests nearest to them: `make quick`.

Changed is what differs from HEAD, or HEAD's own commit where nothing does. A test is near by the imports between it and a changed module
(`tools/imports.py`); the nearest run first, until the time is over. `make test` runs all of them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import imports
import pytest

ROOT = Path(__file__).parents[1]
TESTS_S = 45
"""Of a minute; formatting and types are checked beside the tests."""


def changed() -> list[str]:
    """Files that differ from HEAD, or that HEAD changed."""

    def listed(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]

    found = listed("diff", "--name-only", "HEAD") + listed("ls-files", "--others", "--exclude-standard")
    return found or listed("diff", "--name-only", "HEAD~1", "HEAD")


def distances(modules: Iterable[str], graph: imports.Graph) -> dict[str, int]:
    """{module: imports between it and the nearest of these modules}, of those that reach one."""
    found = dict.fromkeys(modules, 0)
    border = set(found)
    while border:
        new = {name for name, used in graph.items() if name not in found and used & border}
        found |= dict.fromkeys(new, found[next(iter(border))] + 1)
        border = new
    return found


def tests_near(files: Iterable[str]) -> list[str]:
    """Test files by distance: changed ones, then those that import a changed module, then those that reach one."""
    files = list(files)
    by_path = {str(path.relative_to(ROOT)): module for module, path in imports.files().items()}
    near = distances([by_path[name] for name in files if name in by_path], imports.graph())
    rooms = {name.split("/")[2] for name in files if name.startswith("python/seekwise/") and name.count("/") > 2}
    known = set(imports.files())
    found: list[tuple[int, str]] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = str(path.relative_to(ROOT))
        uses = imports.imported(path.read_text(encoding="utf-8"), known)
        away = [near[module] for module in uses if module in near]
        # A test that starts the program imports nothing of it: the folder of its room says what it is about.
        away += [0] if name.split("/")[1] in rooms and not uses else []
        if name in files or away:
            found.append((-1 if name in files else min(away), name))
    return [name for _, name in sorted(found)]


class Clock:
    """Ends the tests when their time is over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self._end:
            pytest.exit(f"{TESTS_S} s are over: `make test` runs the rest", returncode=0 if not self.failed else 1)

    failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed


def python_files(names: Iterable[str]) -> list[str]:
    """Those that can be checked."""
    return [name for name in names if name.endswith(".py") and ast.parse((ROOT / name).read_text(encoding="utf-8"))]


def main() -> int:
    files = changed()
    sources = python_files(files)
    typed = [name for name in sources if name.startswith(("python/", "proof/seekwise", "papers/seekwise"))]
    programs = [["ruff", "check", *sources], ["ruff", "format", "--check", *sources]] if sources else []
    programs += [["mypy", *typed]] if typed else []
    if any(name.endswith(".rs") for name in files):
        programs.append(["cargo", "fmt", "--check"])
    own = str(Path(sys.executable).parent)
    beside = [
        subprocess.Popen([f"{own}/{words[0]}" if words[0] != "cargo" else "cargo", *words[1:]], cwd=ROOT)
        for words in programs
    ]
    tests = tests_near(files)
    print(f"{len(files)} changed files, {len(tests)} test files near them")
    status = pytest.main(["-q", "-m", "not slow", "-x", *tests], plugins=[Clock(TESTS_S)]) if tests else 0
    return int(
        max(
            [
                0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else int(status),
                *(process.wait() for process in beside),
            ]
        )
    )


if __name__ == "__main__":
    sys.exit(main())
