"""Reads and writes single attribute files of a block device. The one place of this package that writes to sysfs."""

from __future__ import annotations

import os
from pathlib import Path

from seekwise.errors import UsageError


def device_folder(device: str, root: Path = Path("/")) -> Path:
    """Folder of a whole device. Kernel names with a slash appear with `!` in sysfs (cciss/c0d0)."""
    name = device.removeprefix("/dev/").replace("/", "!")
    folder = root / "sys/block" / name
    if folder.is_dir():
        return folder
    if (root / "sys/class/block" / name / "partition").exists():
        raise UsageError(
            f"{device} is a partition: settings belong to the whole disk",
            "name the disk, or a path: seekwise resolves it to the disks below",
        )
    raise UsageError(f"no block device is called {device}", "`seekwise devices` lists them")


def read(path: Path) -> str | None:
    """Text without the final newline, or None if there is no such file or the kernel has nothing to say."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        # A few attributes exist but cannot be read: wbt_lat_usec without write-back throttling answers EINVAL.
        return None


def write(path: Path, value: str) -> None:
    """One write(2) with the whole value, as the kernel expects. Raises OSError with the kernel's answer."""
    # O_TRUNC means nothing to sysfs; a captured tree of plain files needs it.
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, f"{value}\n".encode())
    finally:
        os.close(descriptor)
