"""What is made of virtual drives on this machine, and how it goes away again: mount, array, queue settings, folder.

One journal entry per build, written before the first change, so that whatever ends the run, the supervisor of the drives' server
(at once) or the next start takes down what is left. The drives themselves need no entry: their server cannot outlive its
run (`child`), and the kernel closes the nbd devices with it.

    item = {"folder": "/tmp/seekwise-virtual-…", "mount": …, "array": "md99", "members": ["nbd0", …], "old": {"nbd0": {"queue/scheduler": "none"}}}

Taken down is only what the entry describes: an array of the entry's nbd devices, a mount in the entry's folder. By system calls and
sysfs alone: the supervisor can start no program any more (`supervise.put_back`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from seekwise.control import sysfs
from seekwise.errors import SeekwiseError

PREFIX = "seekwise-virtual-"
BUSY_WAIT_S = 10.0
"""So long an array or a mount may be held by somebody who looks at new devices, as udev does."""
# Linux v6.1 include/linux/fs.h
MNT_DETACH = 2

Unmount = Callable[[str, int], None]


def new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def free_array(root: Path = Path("/")) -> str:
    """A name that no array has."""
    taken = {path.name for path in (root / "sys/block").glob("md*")}
    return next(name for number in range(99, 0, -1) if (name := f"md{number}") not in taken)


def unmount(place: str, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(place), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def take_down(
    item: dict, root: Path = Path("/"), umount: Unmount = unmount, pause: Callable[[float], None] = time.sleep
) -> None:
    """Undoes everything of an item that is still there; raises if something does not go."""
    failures = [*_unmounted(item, umount, pause), *_stopped(item, root, pause)]
    for device, old in item["old"].items():
        for name, value in old.items():
            # A device that went away took its settings along.
            with contextlib.suppress(OSError):
                sysfs.write(root / "sys/block" / device / name, value)
    folder = Path(item["folder"])
    if not failures and folder.name.startswith(PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
    if failures:
        raise SeekwiseError("; ".join(failures), hint="`seekwise revert` tries again")


def _unmounted(item: dict, umount: Unmount, pause: Callable[[float], None]) -> list[str]:
    place = item.get("mount")
    if not place:
        return []
    error = _until_free(lambda: umount(place, 0), pause)
    if error is not None:
        # Its drives may be dead: then nobody can write to it any more, and it may go when its last user has gone.
        with contextlib.suppress(OSError):
            umount(place, MNT_DETACH)
            return []
    return [] if error is None else [f"{place} cannot be unmounted ({error.strerror})"]


def _stopped(item: dict, root: Path, pause: Callable[[float], None]) -> list[str]:
    name = item.get("array")
    folder = root / "sys/block" / str(name)
    state = folder / "md/array_state"
    if not name or (sysfs.read(state) or "clear") == "clear":
        return []
    if not {path.name for path in (folder / "slaves").glob("*")} <= set(item["members"]):
        # The name is another array's by now.
        return []
    # Linux Documentation/admin-guide/md.rst: writing `clear` is the ioctl STOP_ARRAY.
    error = _until_free(lambda: sysfs.write(state, "clear"), pause)
    return [] if error is None else [f"/dev/{name} cannot be stopped ({error.strerror})"]


def _until_free(act: Callable[[], None], pause: Callable[[float], None]) -> OSError | None:
    """Repeats while somebody holds the thing; the last error if it stays. What is not there is gone."""
    waited = 0.0
    while True:
        try:
            act()
            return None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENODEV):
                return None
            if error.errno != errno.EBUSY or waited >= BUSY_WAIT_S:
                return error
        pause(0.2)
        waited += 0.2


def describe(item: dict) -> str:
    parts = [f"/dev/{item['array']} is stopped"] if item.get("array") else []
    parts += [f"{item['mount']} is unmounted"] if item.get("mount") else []
    return f"virtual drives on {', '.join(item['members'])}: {', '.join(parts) or 'queue settings as before'}"
