"""maturin, which without Rust downloads one or ends in a trace: here that is one sentence instead. What `pip install .` and the sdist are built by."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403 (the hooks)

ROOT = Path(__file__).resolve().parents[1]


def _need_rust() -> None:
    stated = re.search(
        r'^rust-version = "(\d+)\.(\d+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    least = tuple(map(int, stated.groups())) if stated else (0, 0)
    have = None
    if shutil.which("cargo"):
        said = subprocess.run(["cargo", "--version"], capture_output=True, text=True, check=False).stdout
        have = re.match(r"cargo (\d+)\.(\d+)", said)
    if have is None or tuple(map(int, have.groups())) < least:
        sys.exit(
            f"error: {'cargo is too old' if have else 'cargo is missing'}: building Seekwise needs Rust {least[0]}.{least[1]} or newer"
            " (Debian 13: apt install cargo; Debian 12: apt install cargo-web; elsewhere: https://rustup.rs); its wheel needs none"
        )


def _with_rust(hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(hook)
    def checked(*words: Any, **options: Any) -> Any:
        _need_rust()
        return hook(*words, **options)

    return checked


# Every hook: pip begins with another one for an editable install, and with `--no-build-isolation`.
for _name in (f"{_step}_{_kind}" for _step in ("get_requires_for_build", "prepare_metadata_for_build", "build")
              for _kind in ("wheel", "editable", "sdist")):  # fmt: skip
    if hasattr(maturin, _name):
        globals()[_name] = _with_rust(getattr(maturin, _name))
