"""`pip install .` where Rust is missing or too old: one sentence says so and how to get it, whichever step pip begins with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("maturin", reason="the build needs maturin, which `make install` brings")


def said(words: list[str], folder: Path, cargo: str | None) -> str:
    """What a command that fails prints, where the folders of PATH hold no cargo but the one given."""
    if cargo:
        program = folder / "cargo"
        program.write_text(f"#!/bin/sh\necho cargo {cargo} '(0123456 2026-01-01)'\n")
        program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, "PATH": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    return done.stdout


@pytest.mark.parametrize(("cargo", "lack", "editable"), [(None, "missing", []), ("1.84.1", "too old", ["--editable"])])
def test_pip_prints_one_sentence_and_no_trace(cargo, lack, editable, tmp_path):
    pip = ["-m", "pip", "install", "--no-deps", "--no-build-isolation", "--quiet", *editable, str(ROOT)]
    shown = said(pip, tmp_path, cargo)
    sentences = [line.strip() for line in shown.splitlines() if line.strip().startswith("error: cargo")]
    expected = (
        f"error: cargo is {lack}: building Seekwise needs Rust 1.85 or newer (Debian 13: apt install cargo;"
        " Debian 12: apt install cargo-web; elsewhere: https://rustup.rs); its wheel needs none"
    )
    assert sentences == [expected], shown
    assert "Traceback" not in shown and "ownload" not in shown, shown


HOOKS = """
import sys
sys.path.insert(0, sys.argv[1])
import build_backend
for name in sys.argv[2:]:
    try:
        getattr(build_backend, name)(*["."] * name.startswith("build"))
    except SystemExit as end:
        print(end)
sys.exit(1)
"""


def test_no_hook_downloads_a_rust(tmp_path):
    hooks = [
        f"{step}_{kind}" for step in ("get_requires_for_build", "build") for kind in ("wheel", "editable", "sdist")
    ]
    shown = said(["-c", HOOKS, str(ROOT / "packaging"), *hooks], tmp_path, None)
    assert [line.partition(": building")[0] for line in shown.splitlines()] == ["error: cargo is missing"] * len(hooks)
