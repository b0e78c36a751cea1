"""The folder for test files: its room is checked before, and it is removed after, also after a crash.

    with scratch(Path("/srv"), need_bytes=8 << 30) as folder:
        ...     # /srv/seekwise-scratch-3f2a…

Journalled before it is made, with a manifest inside. Removed is only what carries the name and the manifest of its entry,
on the filesystem where it was made: never a link, never through a mount.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from pathlib import Path

from seekwise.control import interrupt
from seekwise.control.journal import Entry, Journal, write_durably
from seekwise.control.process import ProcessIdentity, this_process
from seekwise.errors import RefusedError, SeekwiseError, UsageError

PREFIX = "seekwise-scratch-"
MANIFEST = "seekwise-scratch.json"
SCHEMA = "seekwise.scratch/1"

RESERVE_BYTES_MAX = 1 << 30
RESERVE_SHARE = 0.05
"""Left free for everybody else: 5 % of the filesystem, at most 1 GiB."""


def room_bytes(target: Path) -> int:
    """What scratch files may take here: free for ordinary users, less the reserve."""
    found = os.statvfs(target)
    reserve = min(RESERVE_BYTES_MAX, int(found.f_blocks * found.f_frsize * RESERVE_SHARE))
    return max(0, found.f_bavail * found.f_frsize - reserve)


def check_target(target: Path, need_bytes: int) -> None:
    """Refuses, before anything is made, a folder in which the test files cannot be."""
    if not target.exists():
        raise UsageError(f"there is no folder {target}", "name a folder on the storage to be tested")
    if not target.is_dir():
        raise UsageError(f"{target} is not a folder", "name a folder, or a block device")
    if os.statvfs(target).f_flag & os.ST_RDONLY:
        raise RefusedError(
            f"{target} is on a read-only mount",
            f"`mount -o remount,rw` makes it writable, if it should be: {mount_point(target)}",
        )
    if not os.access(target, os.W_OK | os.X_OK):
        raise RefusedError(
            f"{target} is not writable for this user", "choose a folder of your own, or run it with sudo"
        )
    room = room_bytes(target)
    if need_bytes > room:
        raise RefusedError(
            f"the test files need {_amount(need_bytes)} and {target} has room for {_amount(room)}",
            "a reserve stays free for everybody else; choose a smaller file size, or another folder",
        )
    inodes = os.statvfs(target)
    if inodes.f_files and inodes.f_favail < 16:
        raise RefusedError(f"{target} has no room for more files (inodes)", "remove some, or choose another folder")


class scratch:
    """Context manager; yields the folder."""

    def __init__(self, target: Path, need_bytes: int, journal: Journal | None = None, note: str = "") -> None:
        self.target = Path(target)
        self.need_bytes = need_bytes
        self.journal = journal if journal is not None else Journal()
        self.note = note
        self._entry: Entry | None = None

    def __enter__(self) -> Path:
        interrupt.install_if_possible()
        try:
            with interrupt.held():
                return self._make()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _make(self) -> Path:
        check_target(self.target, self.need_bytes)
        remove_orphans(self.target)
        target = self.target.resolve()
        folder = target / f"{PREFIX}{secrets.token_hex(6)}"
        item = {"path": str(folder), "mount_point": str(mount_point(target)), "st_dev": os.stat(target).st_dev}
        self._entry = self.journal.open("scratch", [item])
        owner = this_process()
        manifest = {
            "schema": SCHEMA,
            "what": "test files of seekwise; may be deleted when no seekwise runs",
            "note": self.note,
            "pid": owner.pid,
            "start_ticks": owner.start_ticks,
            "boot_id": owner.boot_id,
        }
        try:
            folder.mkdir(mode=0o700)
            write_durably(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
        except OSError as error:
            raise _failed(self.target, error) from error
        return folder

    def _leave(self) -> None:
        try:
            with interrupt.held():
                if self._entry is not None:
                    entry, self._entry = self._entry, None
                    remove(Path(entry.items[0]["path"]))
                    self.journal.close(entry)
        finally:
            interrupt.uninstall_if_installed()


def remove(folder: Path) -> None:
    """Removes a scratch folder, and refuses anything that is not one."""
    if folder.is_symlink() or not folder.name.startswith(PREFIX):
        raise SeekwiseError(f"{folder} is no scratch folder of seekwise and stays")
    if not folder.exists():
        return
    content = os.listdir(folder)
    if content and MANIFEST not in content and not all(name.startswith(f".{MANIFEST}.") for name in content):
        raise SeekwiseError(f"{folder} has no manifest of seekwise and stays", "look at it, and remove it by hand")
    device = os.lstat(folder).st_dev
    for path, folders, _ in os.walk(folder):
        for name in folders:
            if os.lstat(os.path.join(path, name)).st_dev != device:
                raise SeekwiseError(
                    f"something is mounted in {folder}: it stays", f"unmount {os.path.join(path, name)}"
                )
    try:
        # The manifest goes last, so that a removal that is cut short can be taken up again.
        for name in content:
            if name != MANIFEST:
                path = folder / name
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        raise SeekwiseError(
            f"the scratch folder {folder} cannot be removed ({error.strerror})", "remove it by hand"
        ) from error


def remove_orphans(target: Path) -> list[Path]:
    """Removes scratch folders of dead processes in `target` whose journal was lost. Only this user's own."""
    removed = []
    for folder in sorted(target.glob(f"{PREFIX}*")):
        try:
            if folder.is_symlink() or folder.lstat().st_uid != os.geteuid():
                continue
            manifest = json.loads((folder / MANIFEST).read_text())
            owner = ProcessIdentity(int(manifest["pid"]), int(manifest["start_ticks"]), str(manifest["boot_id"]))
            if manifest["schema"] != SCHEMA or owner.alive:
                continue
        except (OSError, ValueError, KeyError, TypeError):
            continue
        remove(folder)
        removed.append(folder)
    return removed


def remove_left_behind(item: dict) -> str:
    """What recovery does with one journalled folder: a sentence, or an error that keeps the entry."""
    folder = Path(str(item["path"]))
    if not folder.exists() and not folder.is_symlink():
        now = mount_point(folder.parent)
        if str(now) != item["mount_point"]:
            raise SeekwiseError(f"{folder} will be removed once {item['mount_point']} is mounted again")
        return f"the scratch folder {folder} is gone already"
    remove(folder)
    return f"the scratch folder {folder} is removed"


def mount_point(path: Path) -> Path:
    """The mount that a path lies on; of a path that does not exist, the nearest parent's."""
    path = path.resolve()
    while not os.path.ismount(path):
        path = path.parent
    return path


def _failed(target: Path, error: OSError) -> SeekwiseError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RefusedError(f"{target} is full ({error.strerror})", "make room, or choose another folder")
    return RefusedError(f"no scratch folder can be made in {target} ({error.strerror})", "choose another folder")


def _amount(size_bytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f} {name}"
    return f"{size_bytes / 1024:.0f} KiB"
