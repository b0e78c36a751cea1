"""An error, or the end of the process, at every system call of apply, revert, a switch, the clean-up and a guard: old or new whole, status true."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the shim that fails system calls")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-D_FORTIFY_SOURCE=0", "-U_FILE_OFFSET_BITS", "-o", str(library), str(HERE / "shim.c"), "-ldl"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def cases(shim: Path, operation: str, kind: str, first: int, step: int) -> dict:
    folder = Path(tempfile.mkdtemp(prefix="seekwise-faults-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / "driver.py"), str(folder / "m"), operation, kind, str(first), str(step)],
            capture_output=True, text=True, check=False, timeout=280, env={**os.environ, "LD_PRELOAD": str(shim)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout.splitlines()[-1]), "stderr": done.stderr[-3000:]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["errno", "kill"])
@pytest.mark.parametrize(
    "operation", ["apply", "revert", "switch", "scratch", pytest.param("guard", marks=pytest.mark.slow)]
)
def test_whatever_fails_it_is_as_before_or_as_asked_and_the_status_says_which(shim, operation, kind, step):
    found = cases(shim, operation, kind, 1, step)
    assert found["calls"] > 10
    assert not found["wrong"], json.dumps(found["wrong"][:20], indent=1) + found["stderr"]
