"""A shell script that sets the values now; the lines that take them back stand below as comments."""

from __future__ import annotations

import shlex
from pathlib import Path

from seekwise.control.lines import shell_lines
from seekwise.linux.block_device import Stack
from seekwise.settings.forms.file import File, Wanted, checked, ordered, path
from seekwise.settings.values import settings_of


def file(wanted: Wanted, stack: Stack) -> File:
    """A shell script that sets the values until the next start, with the lines that undo it as comments."""
    lines = ["#!/bin/sh", "# Sets I/O settings until the next restart. Run it as root.", "set -e"]
    for device, values in wanted.items():
        for name in ordered(values):
            value = checked(device, name, values[name])
            lines.append(f"echo {shlex.quote(value)} > {shlex.quote(path(name, device, stack))}")
    before = {name: settings_of(stack.devices[name]) for name in wanted if name in stack.devices}
    undo = shell_lines(wanted, before, sudo=False, root=Path("/nonexistent")).undo
    if undo:
        lines += ["", "# Undo:", *(f"# {line}" for line in undo)]
    return File(Path("seekwise.sh"), "\n".join(lines) + "\n", ("the values last until the next restart",))
