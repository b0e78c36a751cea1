"""How this program is called again: the words to type for it in a shell, and for root."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

IS_ROOT = os.geteuid() == 0
NAME = "seekwise"
SUDO = f"sudo {NAME}"
COMMAND = re.compile(rf"`((?:sudo )?{NAME} )(?=[^`\n]*`)")
SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where sudo looks for programs, whatever PATH says: `secure_path` in Debian's /etc/sudoers. Not even root's own can be read without root."""


def line(command: str) -> str:
    """COMMAND, which begins with `seekwise` or `sudo seekwise`, as it works when typed: with the program's path where it would not be found, without
    sudo for root."""
    if command.startswith(f"{SUDO} "):
        own = _named(os.environ.get("PATH", SECURE_PATH)) if IS_ROOT else f"sudo {_named(SECURE_PATH)}"
        return own + command.removeprefix(SUDO)
    return _named(os.environ.get("PATH", SECURE_PATH)) + command.removeprefix(NAME)


def in_text(text: str) -> str:
    """A sentence whose commands, `seekwise …` and `sudo seekwise …` between backticks, work when typed."""
    return COMMAND.sub(lambda match: f"`{line(match[1])}", text)


def _named(path: str) -> str:
    """The name where PATH has this very program under it, else where it lies."""
    own = Path(os.path.abspath(sys.argv[0]))
    if own.name != NAME or not own.exists():
        return NAME  # a test or a notebook
    found = shutil.which(NAME, path=path)
    return NAME if found is not None and os.path.samefile(found, own) else shlex.quote(str(own))
