"""maturin, which without Rust downloads one: here that is one sentence instead. What `pip install .` and the sdist are built by."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403 (the hooks)

ROOT = Path(__file__).resolve().parents[1]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What else is needed to build."""
    _need_rust()
    found: list[str] = maturin.get_requires_for_build_wheel(config_settings)
    return found


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What else is needed to build."""
    _need_rust()
    found: list[str] = maturin.get_requires_for_build_editable(config_settings)
    return found


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
            " (Debian 13: apt install cargo; Debian 12: apt install cargo-web); its wheel needs none"
        )
