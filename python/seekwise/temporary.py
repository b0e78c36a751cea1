"""Temporary folders that no other user can reach into, and their removal after whatever ended the process that made
them.

Libraries and programs put files under predictable names into the temporary folder, so they get a
folder of their own: mode 0700, locked for as long as its process lives, below folders that only root or this user can
change.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from seekwise import files

PREFIX = "seekwise-"
SHARED_MEMORY = Path("/dev/shm")
PLACES = (Path("/tmp"), Path("/var/tmp"))
"""Where temporary files go if `TMPDIR` names no safe folder (FHS 3.0, 3.18 and 5.15)."""
KINDS = ("record", "whatif", "library", "verify", "lab", "submit", "fio")
"""Only folders of these names are removed: others may call theirs `seekwise-…`, too."""


def is_safe(folder: Path) -> bool:
    """Whether no other user can put something else in the place of what we make in it."""
    try:
        return not files.others_may_change(folder)
    except OSError:
        return False


def settle() -> None:
    """Makes `TMPDIR` a safe folder, for this process and its children."""
    os.environ["TMPDIR"] = str(_place())


def _place() -> Path:
    named = os.environ.get("TMPDIR")
    for parent in (*((Path(named),) if named else ()), *PLACES):
        if os.access(parent, os.W_OK | os.X_OK) and is_safe(parent):
            return Path(os.path.realpath(parent))
    return Path("/tmp")


@contextlib.contextmanager
def private(kind: str, below: Path | None = None) -> Iterator[Path]:
    """A folder of our own until the block is left, below `below` (`TMPDIR`)."""
    parent = below or _place()
    if not is_safe(parent):
        parent = _place()
    folder, lock = _new_folder(parent, kind)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _new_folder(parent: Path, kind: str) -> tuple[Path, int]:
    """A new folder and the descriptor that locks it."""
    import tempfile  # takes a tenth of the start of a command

    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=parent))
        # A clean-up may have seen it before it was locked: then it is gone, or about to go.
        with contextlib.suppress(FileNotFoundError):
            descriptor = files.open_folder(folder)
            if files.try_lock(descriptor, fcntl.LOCK_EX) is not False and folder.exists():
                return folder, descriptor
            os.close(descriptor)


def remove_left_behind() -> None:
    """Removes the folders of processes that were killed. Those of the living are locked; those of other users are not
    ours."""
    for parent in {_place(), *PLACES, SHARED_MEMORY}:
        try:
            names = os.listdir(parent)
        except OSError:
            continue
        for name in names:
            if name.startswith(tuple(f"{PREFIX}{kind}-" for kind in KINDS)):
                _remove_if_free(parent / name)


def _remove_if_free(folder: Path) -> None:
    try:
        descriptor = files.open_folder(folder)
    except OSError:
        return
    try:
        status = os.fstat(descriptor)
        is_ours = status.st_uid == os.geteuid() and not status.st_mode & 0o077
        if is_ours and files.try_lock(descriptor, fcntl.LOCK_EX):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
