"""The folder for test files: its room is checked before, and it is removed after, also after a crash.

    with scratch(Path("/srv"), need_bytes=8 << 30) as folder:
        (folder / "file").write_bytes(…)    # /proc/1234/fd/9/file
        print(folder.shown)                 # /srv/seekwise-scratch-3f2a…

The folder on the target may belong to another user, who can rename the scratch folder and put something else in its
place. So the path that loads get leads through an open descriptor (`/proc/PID/fd/N`) to the scratch folder itself,
wherever it is by now. Opening files there leads nowhere else: its owner is the user who runs Seekwise, its mode 0700.

Journalled before it is made; then with its device, inode and owner, and a manifest inside that holds the entry's
secret. Removed is only what carries all of these, relative to the open folder: never by path, never a link, never
through a mount.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path, PosixPath

from seekwise import files, invocation
from seekwise.control import interrupt, notice
from seekwise.control.journal import Entry, Item, Journal
from seekwise.control.process import machine, proc_folder, this_process
from seekwise.errors import FULL, RefusedError, SeekwiseError, UsageError, reason
from seekwise.linux import failure

PREFIX = "seekwise-scratch-"
MANIFEST = "seekwise-scratch.json"
SCHEMA = "seekwise.scratch/2"
MANIFEST_BYTES_MAX = 64 << 10
DEPTH_MAX = 64
RENAMES_MAX = 100
STORAGE_ERRNOS = (errno.EROFS, errno.EIO, errno.ENODEV, errno.ENXIO, errno.EUCLEAN)
"""What storage that fails ends in: once it is back, the folder can be removed."""

RESERVE_BYTES_MAX = 1 << 30
RESERVE_SHARE = 0.05
"""Left free for everybody else: 5 % of the filesystem, at most 1 GiB."""


class HeldFolder(PosixPath):
    """A path that leads through a descriptor; `shown` is the name to tell people."""

    shown: Path


def room_bytes(target: Path) -> int:
    """What scratch files may take here: free for ordinary users, less the reserve."""
    space = os.statvfs(target)
    reserve = min(RESERVE_BYTES_MAX, int(space.f_blocks * space.f_frsize * RESERVE_SHARE))
    return max(0, space.f_bavail * space.f_frsize - reserve)


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
            f"{target} is not writable for this user", f"choose a folder of your own, or {invocation.with_sudo()}"
        )
    if (user := _served_by_user(target)) not in (None, os.geteuid()):
        # Its server can answer every name with a link to anywhere.
        raise RefusedError(
            f"{target} is on a filesystem that a program of user {user} serves (FUSE)",
            "run it as that user, or choose another folder",
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
        self._pid = os.getpid()
        self._parent = self._folder = -1
        self._descriptors = contextlib.ExitStack()

    def __enter__(self) -> HeldFolder:
        interrupt.install()
        try:
            with interrupt.held():
                return self._make()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _make(self) -> HeldFolder:
        check_target(self.target, self.need_bytes)
        target = self.target.resolve()
        parent = self._parent = self._hold(files.open_folder(target))
        for orphan in _orphans(parent):
            _remove_known(parent, orphan)
        name, secret = f"{PREFIX}{secrets.token_hex(6)}", secrets.token_hex(16)
        item = {
            "path": str(target / name),
            "mount_point": str(mount_point(target)),
            "st_dev": os.fstat(parent).st_dev,
            "device": failure.identity(os.fstat(parent).st_dev),
            "secret": secret,
        }
        self._entry = self.journal.open("scratch", [item])
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            folder = self._folder = self._hold(files.open_folder(name, parent))
            status = _made_just_now(folder, os.fstat(parent).st_dev, target / name)
            self._entry = self.journal.update(self._entry, [{**item, "st_ino": status.st_ino, "st_uid": status.st_uid}])
            self._hold(_write_manifest(folder, secret, self.note))
        except OSError as error:
            raise _failed(self.target, error) from error
        held = HeldFolder(f"{proc_folder()}/fd/{folder}")
        held.shown = target / name
        return held

    def _hold(self, descriptor: int) -> int:
        self._descriptors.callback(os.close, descriptor)
        return descriptor

    def _leave(self) -> None:
        try:
            with interrupt.held(), self._descriptors:
                if self._entry is not None and self._pid == os.getpid():
                    entry, self._entry = self._entry, None
                    self._remove(entry.items[0])
                    notice.warn(self.journal.close(entry))
        finally:
            interrupt.uninstall()

    def _remove(self, item: Item) -> None:
        """By the descriptors that we hold: wherever target and folder have been moved meanwhile."""
        name = Path(item["path"]).name
        try:
            if "st_ino" in item:
                _remove_open(self._parent, self._folder, name, item)
            else:
                with contextlib.suppress(FileNotFoundError):
                    _remove_known(self._parent, name, item)
        except OSError as error:
            raise _cannot_be_removed(Path(item["path"]), error) from error


def _made_just_now(folder: int, st_dev: int, shown: Path) -> os.stat_result:
    """The open folder must be the one that we made: between making and opening somebody may have put another in its
    place."""
    status = os.fstat(folder)
    if (
        status.st_uid != os.geteuid()
        or stat.S_IMODE(status.st_mode) & 0o077
        or status.st_dev != st_dev
        or os.listdir(folder)
    ):
        raise RefusedError(f"somebody put another folder in the place of {shown}", "choose a folder of your own")
    return status


def _write_manifest(folder: int, secret: str, note: str) -> int:
    """Returns a descriptor that holds a lock on the manifest: so others see that its run lives."""
    owner = this_process()
    manifest = {
        "schema": SCHEMA,
        "what": "test files of seekwise; may be deleted when no seekwise runs",
        "note": note,
        "secret": secret,
        "pid": owner.pid,
        "start_ticks": owner.start_ticks,
        "boot_id": owner.boot_id,
        "machine": machine(),
    }
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(MANIFEST, flags, 0o600, dir_fd=folder)
    try:
        files.try_lock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, (json.dumps(manifest, indent=2) + "\n").encode())
        os.fsync(descriptor)
        os.fsync(folder)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def remove(item: Item) -> str:
    """Removes the scratch folder of a journal item and says so; refuses anything that is not that very folder."""
    path = Path(str(item["path"]))
    if not path.name.startswith(PREFIX):
        raise SeekwiseError(f"{path} is no scratch folder of seekwise and stays")
    gone = f"the scratch folder {path} is gone already"
    try:
        parent = files.open_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return gone
        raise SeekwiseError(f"{path.parent} cannot be opened ({error.strerror})") from error
    try:
        name = _name_of(parent, path.name, item.get("st_ino"))
        if name is None:
            return gone
        _remove_known(parent, name, item)
        return f"the scratch folder {path.with_name(name)} is removed"
    except FileNotFoundError:
        return gone
    except OSError as error:
        raise _cannot_be_removed(path, error) from error
    finally:
        os.close(parent)


def _cannot_be_removed(path: Path, error: OSError) -> SeekwiseError:
    hint = "the next command tries again" if error.errno in STORAGE_ERRNOS else "remove it by hand"
    return SeekwiseError(f"the scratch folder {path} cannot be removed ({reason(error)})", hint)


def _name_of(parent: int, name: str, inode: int | None) -> str | None:
    """Its name in `parent`: the one it was given, or another one under which somebody has put it."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if inode is None or status.st_ino == inode:
            return name
    with os.scandir(parent) as listing:
        return next((item.name for item in listing if inode is not None and item.inode() == inode), None)


def _remove_known(parent: int, name: str, item: Item | None = None) -> None:
    """Removes one folder by name. `item` None: an orphan, whose manifest was looked at."""
    try:
        folder = files.open_folder(name, parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise SeekwiseError(f"{name} is no scratch folder of seekwise and stays") from error
        raise
    try:
        _remove_open(parent, folder, name, item)
    finally:
        os.close(folder)


def _remove_open(parent: int, folder: int, name: str, item: Item | None) -> None:
    status = os.fstat(folder)
    if against := _against(status, os.fstat(parent), folder, item):
        raise SeekwiseError(f"the scratch folder {name} {against} and stays", "look at it, and remove it by hand")
    _check_no_mount(folder, status.st_dev)
    # The manifest goes last, so that a removal that is cut short can be taken up again.
    _remove_content(folder, keep=MANIFEST)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(MANIFEST, dir_fd=folder)
    # Its owner may rename it between two calls: what he puts in its place is only ever removed if it is an empty
    # folder, which he may remove himself.
    for _ in range(RENAMES_MAX):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            now = _name_of(parent, name, status.st_ino)
            if now is None:
                return
            try:
                os.rmdir(now, dir_fd=parent)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise


def _against(status: os.stat_result, parent: os.stat_result, folder: int, item: Item | None) -> str | None:
    """What speaks against a folder being the one of the journal."""
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}"
    if status.st_dev != parent.st_dev:
        return "is a mount of its own"
    if item is None:
        return None
    if "st_ino" in item and status.st_ino != item["st_ino"]:
        return "is another one than the journal's"
    if "st_uid" in item and status.st_uid != item["st_uid"]:
        return f"belonged to user {item['st_uid']}"
    content = os.listdir(folder)
    manifest = _manifest(folder)
    if content and manifest is None and MANIFEST in content:
        # Cut short while the manifest was written: it is ours then, and alone.
        return None if content == [MANIFEST] and "st_ino" in item else "has a manifest that is not seekwise's"
    if content and manifest is None:
        return "has no manifest of seekwise"
    if manifest is not None and "secret" in item and manifest.get("secret") != item["secret"]:
        return "is another one than the journal's"
    return None


def _manifest(folder: int) -> Item | None:
    """The manifest in an open folder, if it is a file of ours; None where there is none or it is damaged. OSError where
    the storage fails."""
    try:
        descriptor = os.open(MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in STORAGE_ERRNOS:
            raise
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return None
        document = json.loads(files.read_limited(descriptor, MANIFEST_BYTES_MAX))
        return document if isinstance(document, dict) else None
    except OSError as error:
        if error.errno in STORAGE_ERRNOS:
            raise
        return None
    except (ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)


def _check_no_mount(folder: int, st_dev: int, depth: int = 0) -> None:
    for name in _folders(folder):
        child = files.open_folder(name, folder)
        try:
            if os.fstat(child).st_dev != st_dev:
                raise SeekwiseError(f"something is mounted in the scratch folder, at {name}: it stays", "unmount it")
            if depth < DEPTH_MAX:
                _check_no_mount(child, st_dev, depth + 1)
        finally:
            os.close(child)


def _folders(folder: int) -> Iterator[str]:
    with os.scandir(folder) as listing:
        names = [item.name for item in listing if item.is_dir(follow_symlinks=False)]
    yield from names


def _remove_content(folder: int, keep: str | None = None) -> None:
    """Everything in an open folder, without following anything."""
    with os.scandir(folder) as listing:
        content = [(item.name, item.is_dir(follow_symlinks=False)) for item in listing if item.name != keep]
    for name, is_folder in content:
        with contextlib.suppress(FileNotFoundError):
            if not is_folder:
                os.unlink(name, dir_fd=folder)
                continue
            child = files.open_folder(name, folder)
            try:
                _remove_content(child)
            finally:
                os.close(child)
            os.rmdir(name, dir_fd=folder)


def _orphans(parent: int) -> list[str]:
    with os.scandir(parent) as listing:
        names = sorted(item.name for item in listing if item.name.startswith(PREFIX))
    return [name for name in names if _is_orphan(parent, name)]


def _is_orphan(parent: int, name: str) -> bool:
    """Whether its run is dead: no process holds the lock on its manifest, in whatever PID namespace or on whatever
    machine."""
    try:
        folder = files.open_folder(name, parent)
    except OSError:
        return False
    try:
        status, manifest = os.fstat(folder), _manifest(folder)
        if status.st_uid != os.geteuid() or manifest is None or manifest.get("schema") != SCHEMA:
            return False
        if manifest.get("machine") != machine():
            return False
        descriptor = os.open(MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            return files.try_lock(descriptor, fcntl.LOCK_SH) is True
        finally:
            os.close(descriptor)
    except OSError:
        return False
    finally:
        os.close(folder)


def remove_left_behind(item: Item, *, same_boot: bool) -> str:
    """What recovery does with one journalled folder: a sentence, or an error that keeps the entry.

    A device that is there no more took the folder along; should it come back, the next run on it removes the folder as
    an orphan.
    """
    folder = Path(str(item["path"]))
    device = item.get("device")
    if isinstance(device, dict) and failure.is_gone(device, same_boot=same_boot):
        return f"the scratch folder {folder} is gone with its device"
    if not os.path.lexists(folder):
        now = mount_point(folder.parent)
        if str(now) != item["mount_point"]:
            raise SeekwiseError(f"{folder} will be removed once {item['mount_point']} is mounted again")
    return remove(item)


def mount_point(path: Path) -> Path:
    """The mount that a path lies on; of a path that does not exist, the nearest parent's."""
    path = path.resolve()
    while not os.path.ismount(path):
        path = path.parent
    return path


def _served_by_user(target: Path) -> int | None:
    """The user whose program serves a FUSE filesystem (its mount option `user_id`); None for any other, and for
    root's."""
    device = os.stat(target).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) > 6 and words[2] == wanted:
            kind, _, options = words[words.index("-") + 1 :][:3] if "-" in words else ("", "", "")
            users = [word.removeprefix("user_id=") for word in options.split(",") if word.startswith("user_id=")]
            if kind.startswith("fuse") and users and users[0].isdecimal() and int(users[0]) != 0:
                return int(users[0])
    return None


def _failed(target: Path, error: OSError) -> SeekwiseError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RefusedError(f"{FULL}: {target}", "make room, or choose another folder")
    return RefusedError(f"no scratch folder can be made in {target} ({reason(error)})", "choose another folder")


def _amount(size_bytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f} {name}"
    return f"{size_bytes / 1024:.0f} KiB"
