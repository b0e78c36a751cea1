"""What `make` does first: everything that the build needs is there and new enough, or one line says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BOOTSTRAP = Path(__file__).parents[2] / "tools" / "bootstrap.sh"


@pytest.mark.parametrize(
    ("cargo", "status"), [("1.63.0", 4), ("1.84.1", 4), ("1.85.0", 0), ("1.100.0", 0), ("2.0.0-nightly", 0)]
)
def test_a_cargo_that_is_too_old_is_named_before_anything_is_built(cargo, status, tmp_path):
    for name in ("fio", "cc", "qemu-system-x86_64", "cargo"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} {cargo} '(0123456 2026-01-01)'\n")
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable}
    done = subprocess.run(["sh", BOOTSTRAP], env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    assert done.stderr.count("\n") == (1 if status else 0)
    assert not status or f"cargo {cargo} is too old; Rust 1.85 or newer is needed" in done.stderr
