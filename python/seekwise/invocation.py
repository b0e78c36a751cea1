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


def again(*without: str) -> str | None:
    """The line as it was typed, for root and less the words WITHOUT; None where none was typed."""
    words = [word for word in sys.argv[1:] if word not in without]
    return line(f"{SUDO} {shlex.join(words)}") if _own() else None


def with_sudo() -> str:
    """A hint for what only root may do."""
    typed = again()
    return f"run it with sudo: `{typed}`" if typed else "run it with sudo"


def _named(path: str) -> str:
    """The name where PATH has this very program under it, else where it lies."""
    own, found = _own(), shutil.which(NAME, path=path)
    if own is None or (found is not None and os.path.samefile(found, own)):
        return NAME
    return shlex.quote(str(own))


def _own() -> Path | None:
    """Where this program lies; None in a test or a notebook."""
    own = Path(os.path.abspath(sys.argv[0]))
    return own if own.name == NAME and own.exists() else None
