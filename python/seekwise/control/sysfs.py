"""Reads and writes single attribute files of a block device. The one place of this package that writes to sysfs."""

from __future__ import annotations

import errno
import os
import signal
import time
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
    # These say no, too, where a path is longer than the kernel takes.
    if os.path.isdir(folder):
        return folder
    if os.path.exists(root / "sys/class/block" / name / "partition"):
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


WRITE_MOST_S = 60.0
"""A full queue of a slow disk takes seconds to drain; after so long the drive counts as one that does not answer."""
LIVE = Path("/sys")
locks: set[int] = set()
"""Descriptors of the devices' locks."""
_waiting: dict[Path, int] = {}
"""{device's folder: process that still waits in the kernel for a write there}"""


def write(path: Path, value: str) -> None:
    """One write(2) with the whole value, as the kernel expects. Raises OSError with the kernel's answer.

    Most of them freeze the queue, which waits for every request in flight, without limit, and no signal ends it. So on
    a live machine a child writes: where that waits for ever, this process goes on and says so.
    """
    if not path.is_relative_to(LIVE):
        _write(path, value)
        return
    folder = _device_of(path)
    check_answers(folder)
    mask = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        pid = os.fork()
    except OSError:
        # No memory, or the supervisor of a load, whose PID namespace has ended.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _write(path, value)
        return
    if pid == 0:
        try:
            os._exit(_written(path, value))
        finally:
            os._exit(errno.EIO)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _waiting[folder] = pid
    status = _status_of(pid, WRITE_MOST_S)
    if status is None:
        raise _no_answer(folder, pid)
    del _waiting[folder]
    if status:
        raise OSError(status, os.strerror(status))


def waits(folder: Path) -> bool:
    """Whether a write to this device, by the folder that holds `queue`, still waits in the kernel."""
    return folder in _waiting and _status_of(_waiting[folder], 0) is None


def check_answers(folder: Path) -> None:
    """TimeoutError while `waits`."""
    if waits(folder):
        raise _no_answer(folder, _waiting[folder])


def _written(path: Path, value: str) -> int:
    """In the child: 0 or the kernel's answer. It keeps the locks of the device alone: nobody may believe the drive
    restored while the write may yet be taken."""
    try:
        least = 0
        for kept in sorted(locks):
            os.closerange(least, kept)
            least = kept + 1
        os.closerange(least, os.sysconf("SC_OPEN_MAX"))
        _write(path, value)
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _status_of(pid: int, seconds: float) -> int | None:
    """Exit status of a child, errno of EIO if something killed it; None if it still runs after so long."""
    until, pause_s = time.monotonic() + seconds, 0.0002
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        if done:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else errno.EIO
        if time.monotonic() >= until:
            return None
        time.sleep(pause_s)
        pause_s = min(0.05, pause_s * 1.5)


def _device_of(path: Path) -> Path:
    """The device's folder above an attribute: `/sys/block/sda` of `/sys/block/sda/queue/iosched/fifo_batch`."""
    return next((parent for parent in path.parents if parent.parent.name == "block"), path.parent)


def _no_answer(folder: Path, pid: int) -> OSError:
    text = f"{folder.name} does not answer: the kernel waits for its requests in flight, process {pid} with it"
    return OSError(errno.ETIMEDOUT, text)


def _write(path: Path, value: str) -> None:
    # O_TRUNC means nothing to sysfs; a captured tree of plain files needs it.
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        text = f"{value}\n".encode()
        if os.write(descriptor, text) != len(text):
            raise OSError(errno.EIO, "only a part was taken")
    finally:
        os.close(descriptor)
