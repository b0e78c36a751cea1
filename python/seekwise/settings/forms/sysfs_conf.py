"""A file for sysfsutils: one line per value, by kernel name."""

from __future__ import annotations

from pathlib import Path

from seekwise.linux.block_device import Stack
from seekwise.settings.forms.file import HEAD, File, Wanted, checked, ordered, relative


def file(wanted: Wanted, stack: Stack) -> File:
    """Lines for sysfsutils, by kernel names of devices."""
    lines = [
        f"block/{device}/{relative(name, device, stack)} = {checked(device, name, values[name])}\n"
        for device, values in wanted.items()
        for name in ordered(values)
    ]
    notes = ("needs the package sysfsutils", "goes by kernel names, which may move between drives: udev is safer")
    return File(Path("/etc/sysfs.d/seekwise.conf"), HEAD + "".join(lines), notes)
