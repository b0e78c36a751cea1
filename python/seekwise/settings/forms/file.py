"""What a form produces, and where an attribute's file lies on the machine that a `Stack` describes."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from seekwise.control import attributes, sysfs
from seekwise.errors import UsageError
from seekwise.linux.block_device import Stack
from seekwise.linux.tree import FolderTree, Tree, open_tree

HEAD = "# Written by seekwise; `seekwise revert` takes it back.\n"

Wanted = dict[str, dict[str, str]]
"""{device: {attribute: value}}, attributes as in `control.attributes` (`queue/scheduler`)."""

SAFE_VALUE = re.compile(r"[A-Za-z0-9_ .,:+-]+")
"""Every value that a setting of the kernel takes; anything else would need quoting that the readers do not agree on."""


@dataclass(frozen=True)
class File:
    """A configuration file. `notes` say what else is needed; `merged_with`: what was there, None if the file was not
    read."""

    HIDDEN: ClassVar = ("merged_with",)

    path: Path
    text: str
    notes: tuple[str, ...] = ()
    merged_with: str | None = None


def ordered(values: Mapping[str, str]) -> list[str]:
    """Attributes in the order in which the kernel needs them."""
    return sorted(values, key=attributes.order)


def checked(device: str, name: str, value: str) -> str:
    """The value, if a shell and a configuration file can take it as it is. UsageError otherwise."""
    if not SAFE_VALUE.fullmatch(value):
        raise UsageError(f"{device} {name}: {value!r} is no value of a kernel setting")
    return value


def relative(name: str, device: str, stack: Stack) -> str:
    """The file of an attribute below /sys/block/DEVICE.

    The write cache is switched at the drive where that is possible: telling only the kernel would stop its flushes
    while the drive goes on caching.
    """
    if name in ("queue/write_cache", attributes.CACHE_TYPE) and (known := stack.devices.get(device)):
        if address := known.details.get("scsi_address"):
            return f"device/scsi_disk/{address}/cache_type"
        if known.kind == "virtio":
            return "cache_type"
    return name


def path(name: str, device: str, stack: Stack) -> str:
    """`/sys/block/sda/queue/scheduler` on that machine."""
    if device == sysfs.SYSTEM:
        return f"/{sysfs.SYSTEM_FOLDER}/{name}"
    return f"/sys/block/{device.replace('/', '!')}/{relative(name, device, stack)}"


@functools.lru_cache(maxsize=1)
def _archive(archive: Path, mtime_ns: int, size: int) -> Tree:
    """An archive is unpacked once for all drives of a machine, and again when the file is another."""
    return open_tree(archive)


def tree_of(stack: Stack) -> Tree:
    """The files of the machine that a stack was read from."""
    try:
        if stack.root.is_file():
            state = stack.root.stat()
            return _archive(stack.root, state.st_mtime_ns, state.st_size)
        return open_tree(stack.root)
    except (OSError, UsageError):
        return FolderTree(stack.root)
