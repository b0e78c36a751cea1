"""`udevadm verify`, which came with systemd 254: this machine's, or that of a Debian 13 which `.ci/run` unpacks beside the testbed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

LAB = Path(os.environ.get("SEEKWISE_LAB") or Path.home() / ".cache" / "seekwise" / "lab")
UNPACKED = LAB / "roots" / "udev"
VERIFIES_FROM = 254


def verified(rules: Path) -> None:
    """Fails with what udev says of RULES. Skips where no udev is there that verifies."""
    done = subprocess.run([*_program(), "verify", str(rules)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _program() -> list[str]:
    libraries = UNPACKED / "usr/lib/x86_64-linux-gnu"
    unpacked = [str(UNPACKED / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", f"{libraries}:{libraries}/systemd",
                str(UNPACKED / "usr/bin/udevadm")]  # fmt: skip
    for words in (["udevadm"], unpacked):
        if shutil.which(words[-1]) is None or shutil.which(words[0]) is None:
            continue
        version = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False).stdout
        if int(re.match(r"\d*", version)[0] or 0) >= VERIFIES_FROM:
            return words
    pytest.skip(f"no udev {VERIFIES_FROM} or newer, on this machine or in {UNPACKED}")
