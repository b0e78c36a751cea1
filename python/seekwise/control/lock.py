"""One run per device.

The lock is a `flock` on the device's own folder in sysfs. It needs no file of ours, is the same for every user and every
state folder, is released by the kernel when its holder dies in whatever way, and does not disturb udev, which locks the
node in /dev.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from seekwise.control import sysfs
from seekwise.errors import RefusedError

_held: dict[str, tuple[int, int]] = {}
"""{folder: (descriptor, how often this process took it)}: a second `flock` of our own would refuse itself."""


@contextlib.contextmanager
def devices_locked(devices: Iterable[str], root: Path = Path("/")) -> Iterator[None]:
    """Holds every device for this process, or refuses with the holder's pid. Order of names avoids deadlock."""
    with contextlib.ExitStack() as stack:
        for device in sorted(set(devices)):
            folder = sysfs.device_folder(device, root)
            _take(device, folder)
            stack.callback(_release, folder)
        yield


def _take(device: str, folder: Path) -> None:
    key = str(folder.resolve())
    if key in _held:
        descriptor, count = _held[key]
        _held[key] = (descriptor, count + 1)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = _holder(descriptor)
        os.close(descriptor)
        who = f" (process {holder})" if holder else ""
        raise RefusedError(
            f"{device} is in use by another seekwise run{who}",
            "two runs on one device would measure each other: wait for the other, or end it",
        ) from None
    _held[key] = (descriptor, 1)


def _release(folder: Path) -> None:
    key = str(folder.resolve()) if folder.exists() else str(folder)
    if key not in _held:
        # The device went away meanwhile: its path no longer resolves the way it did.
        key = next((held for held in _held if held.endswith("/" + folder.name)), key)
    descriptor, count = _held.pop(key)
    if count > 1:
        _held[key] = (descriptor, count - 1)
    else:
        os.close(descriptor)


def _holder(descriptor: int) -> int | None:
    """Pid of the process that holds a flock on this file, from /proc/locks (proc(5))."""
    inode = os.fstat(descriptor).st_ino
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(inode):
            return int(words[4])
    return None
