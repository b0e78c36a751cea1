"""Reads and writes single attribute files of a block device. The one place of this package that writes to sysfs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from seekwise.errors import SeekwiseError, UsageError

NAME_LONGEST = 255
SYSTEM = "vm"
"""Stands for the whole machine where devices have their names: its settings lie in /proc/sys/vm."""
SYSTEM_FOLDER = "proc/sys/vm"


def device_folder(device: str, root: Path = Path("/")) -> Path:
    """Folder of a whole device. Kernel names with a slash appear with `!` in sysfs (cciss/c0d0)."""
    if device == SYSTEM:
        return root / SYSTEM_FOLDER
    name = device.removeprefix("/dev/").replace("/", "!")
    folder = root / "sys/block" / name
    if not name or name in (".", "..") or "\0" in name or len(name) > NAME_LONGEST:
        raise UsageError(f"no block device is called {device[:NAME_LONGEST]!r}", "`seekwise devices` lists them")
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


NOTHING_TO_SAY = frozenset({
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO, errno.EACCES, errno.EPERM,
})  # fmt: skip
"""Answers that mean that there is no value; any other is a read that failed."""


def read_or_raise(
    path: Path, otherwise: str = "nothing was changed", no_value: frozenset[int] = frozenset()
) -> str | None:
    """Like `read`, but a read that failed (EIO, no memory, too many open files) is an error and not the absence of a
    value.

    `no_value`: further answers that mean, for this attribute, that there is no value.
    """
    try:
        return path.read_text(errors="replace").strip()
    except OSError as error:
        if error.errno in NOTHING_TO_SAY | no_value:
            return None
        raise SeekwiseError(
            f"{path} cannot be read ({error.strerror}), so it could not be restored", otherwise
        ) from error


def write(path: Path, value: str) -> None:
    """One write(2) with the whole value, as the kernel expects. Raises OSError with the kernel's answer."""
    # O_TRUNC means nothing to sysfs; a captured tree of plain files needs it.
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        text = f"{value}\n".encode()
        if os.write(descriptor, text) != len(text):
            raise OSError(errno.EIO, "only a part was taken")
    finally:
        os.close(descriptor)
