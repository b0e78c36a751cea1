"""One run per device.

Root's lock is a `flock` on a file in a folder of root's own (`/run/seekwise`, or the state folder where there is no
/run), which no other user can open: so none can keep root from measuring or restoring. An ordinary user takes the
device's own folder in sysfs, which needs no file and is the same for every user; root takes it too, where it is free,
so that users see that root measures. Either is released by the kernel when its holder dies in whatever way, and neither
disturbs udev, which locks the node in /dev.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from seekwise import files
from seekwise.control import sysfs
from seekwise.control.state import runtime_folder
from seekwise.errors import MissingError, RefusedError


class DeviceBusy(RefusedError):
    """Another process has the device for the moment."""


_held: dict[str, tuple[contextlib.ExitStack, int]] = {}
"""{folder: (what is held, how often this process took it)}: a second `flock` of our own would refuse itself."""


@contextlib.contextmanager
def devices_locked(devices: Iterable[str], root: Path = Path("/")) -> Iterator[None]:
    """Holds every device for this process, or refuses with the holder's pid. Order of names avoids deadlock."""
    with contextlib.ExitStack() as stack:
        for device in sorted(set(devices)):
            folder = sysfs.device_folder(device, root)
            stack.callback(_release, _take(device, folder))
        yield


@contextlib.contextmanager
def users_kept_out(devices: Iterable[str], root: Path = Path("/")) -> Iterator[None]:
    """While root's change of these devices waits for its confirmation, or its guard decides, no user measures them: what
    is in force may go back at any moment, and a user cannot read root's journal. Root itself is kept by the journal."""
    with contextlib.ExitStack() as held:
        for device in devices if os.geteuid() == 0 else ():
            folder = sysfs.device_folder(device, root)
            _locked(held, folder, folder, fcntl.LOCK_SH)
        yield


def holder(device: str, root: Path = Path("/")) -> int | None:
    """Pid of the seekwise process that measures or sets this device now, for every user; None where none does."""
    return _holder(root / "sys/block" / device.removeprefix("/dev/").replace("/", "!"))


def _take(device: str, folder: Path) -> str:
    key = str(folder.resolve())
    if key in _held:
        held, count = _held[key]
        _held[key] = (held, count + 1)
        return key
    with contextlib.ExitStack() as held:
        if os.geteuid() == 0:
            if not _locked(held, _root_file(device, folder), folder):
                raise _busy(device, _root_file(device, folder))
            _locked(held, folder, folder)
        elif not _locked(held, folder, folder):
            raise _busy(device, folder)
        _held[key] = (held.pop_all(), 1)
    return key


def _locked(held: contextlib.ExitStack, path: Path, folder: Path, kind: int = fcntl.LOCK_EX) -> bool:
    flags = os.O_RDONLY | os.O_DIRECTORY if path == folder else os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    sysfs.locks.add(descriptor)
    held.callback(_let_go, descriptor)
    return files.try_lock(descriptor, kind) is not False


def _let_go(descriptor: int) -> None:
    sysfs.locks.discard(descriptor)
    os.close(descriptor)


def _root_file(device: str, folder: Path) -> Path:
    """A file per device; of a captured tree, per folder."""
    name = device.removeprefix("/dev/").replace("/", "!")
    if folder.parent != Path("/sys/block"):
        name = f"{name}-{hashlib.sha256(bytes(folder.resolve())).hexdigest()[:16]}"
    try:
        return runtime_folder() / f"{name}.lock"
    except OSError as error:
        raise MissingError(
            f"no folder for locks can be made ({error})", "make /run or the state folder writable"
        ) from error


def _busy(device: str, path: Path) -> DeviceBusy:
    if waiting := _holder(path, "READ"):
        return DeviceBusy(
            f"{device}: a change by root waits for its confirmation or the end of its guard (process {waiting})",
            "what is in force may go back at any moment: try again once it is decided",
        )
    holder = _holder(path)
    who = f" (process {holder})" if holder else ""
    return DeviceBusy(
        f"{device} is in use by another seekwise run{who}",
        "two runs on one device would measure each other: wait for the other, or end it",
    )


def _release(key: str) -> None:
    held, count = _held.pop(key)
    if count > 1:
        _held[key] = (held, count - 1)
    else:
        held.close()


def _holder(path: Path, kind: str = "WRITE") -> int | None:
    """Pid of a process that holds an exclusive flock on this file, or with READ a shared one, from /proc/locks
    (proc(5))."""
    try:
        inode = os.stat(path).st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) >= 6 and words[1:4:2] == ["FLOCK", kind] and words[5].rpartition(":")[2] == str(inode):
            return int(words[4])
    return None
