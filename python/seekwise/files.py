"""Files and folders by descriptor, so that nobody can put another one in their place between two steps.

Everything that a command creates is created here: `write_product`, `new_product` and `fresh` for what a user asked for, `write_whole` and
`append` for what must survive a power cut, `make_folders` and `private_folder` for folders. `tools/created_files.py` finds
whatever creates a file in another way.

Root may be told to write where another user can: a link on the way is followed only if root or the user who called `sudo` made it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from seekwise.errors import RefusedError

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LINKS_MAX = 40
"""As many links as the kernel follows in one path (path_resolution(7))."""


def open_folder(path: Path | str, parent: int | None = None) -> int:
    """Descriptor of a folder; the last part of `path` must not be a link."""
    return os.open(path, FOLDER_FLAGS, dir_fd=parent)


def trusted_users() -> frozenset[int]:
    """Users whose links and folders cannot lead us astray: ourselves, root, and for root who called `sudo`."""
    caller = os.environ.get("SUDO_UID", "")
    asked = {int(caller)} if os.geteuid() == 0 and caller.isdecimal() else set()
    return frozenset({0, os.geteuid(), *asked})


def others_may_change(folder: Path) -> bool:
    """For root: whether another user can rename, remove or make files in this folder, or put another one in its place."""
    if os.geteuid() != 0:
        return False
    users = trusted_users()
    for each in (folder, *folder.parents):
        status = os.lstat(each)
        writable = stat.S_IWOTH | (stat.S_IWGRP if status.st_gid not in users else 0)
        if status.st_uid not in users or (status.st_mode & writable and not status.st_mode & stat.S_ISVTX):
            return True
    return False


@contextlib.contextmanager
def place(path: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """(descriptor of the folder of `path`, name in it), for the calls that take `dir_fd`. `make`: missing folders are made."""
    descriptor = _walk(path.parent, make=make)
    try:
        yield descriptor, path.name
    finally:
        os.close(descriptor)


def make_folders(path: Path) -> None:
    """Makes a folder and those above it, where they are not there, as `mkdir -p` does."""
    os.close(_walk(path, make=True))


_FIND = os.O_PATH | os.O_CLOEXEC


def _walk(folder: Path, *, make: bool) -> int:
    """Descriptor of a folder, opened part by part, so that no part is a link of somebody who may lead us elsewhere."""
    at = os.open("/" if folder.is_absolute() else ".", _FIND | os.O_DIRECTORY)
    left = [part for part in reversed(folder.parts) if part != folder.anchor]
    links = 0
    try:
        while left:
            part = left.pop()
            if make:
                with contextlib.suppress(FileExistsError):
                    _make(part, at)
            try:
                found = os.open(part, _FIND | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            except NotADirectoryError:
                links += 1
                if links > LINKS_MAX:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder)) from None
                found, further = _through(part, at, folder)
                left += further
            os.close(at)
            at = found
    except BaseException as error:
        os.close(at)
        if isinstance(error, OSError) and error.filename is not None:
            error.filename = str(folder)
        raise
    return at


def _make(part: str, parent: int) -> None:
    try:
        os.mkdir(part, dir_fd=parent)
    except OSError as error:
        # Below a read-only or foreign folder that is there, the parts that are there need no making.
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        os.stat(part, dir_fd=parent)


def _through(part: str, parent: int, whole: Path) -> tuple[int, list[str]]:
    """Where a link leads: the folder to go on from, and the parts that are left from there, the last one first."""
    link = os.open(part, _FIND | os.O_NOFOLLOW, dir_fd=parent)
    try:
        status = os.fstat(link)
        if not stat.S_ISLNK(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(whole))
        if status.st_dev == os.stat("/proc").st_dev:
            # The kernel's own, as `/proc/1/fd/3`: their text is not where they lead.
            return os.open(part, _FIND | os.O_DIRECTORY, dir_fd=parent), []
        if os.geteuid() == 0 and status.st_uid not in trusted_users():
            raise OSError(errno.ELOOP, f"{part} is a link of user {status.st_uid}", str(whole))
        target = Path(os.readlink("", dir_fd=link))
    finally:
        os.close(link)
    further = [each for each in reversed(target.parts) if each != target.anchor]
    return os.open("/" if target.is_absolute() else ".", _FIND | os.O_DIRECTORY, dir_fd=parent), further


def check_private(folder: Path) -> None:
    """Refuses a folder in which somebody else can make or replace files; closes it to readers if it is ours."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise RefusedError(f"{folder} is not a folder", "remove it, or choose SEEKWISE_STATE")
    if status.st_uid not in (0, os.geteuid()):
        raise RefusedError(f"{folder} belongs to user {status.st_uid}", "remove it, or choose SEEKWISE_STATE")
    if status.st_mode & 0o022:
        raise RefusedError(
            f"other users can write to {folder}, so its files may be forged",
            f"look through it, then `chmod 0700 {folder}`",
        )
    above = os.lstat(folder.parent)
    if above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX:
        raise RefusedError(
            f"other users can rename files in {folder.parent}, so {folder.name} may be forged",
            f"look through it, then `chmod go-w {folder.parent}`",
        )
    if status.st_mode & 0o077 and status.st_uid == os.geteuid():
        os.chmod(folder, 0o700)


def make_private(folder: Path) -> bool:
    """Makes a folder with mode 0700 whatever the umask, and its parents with 0755; True if it is new."""
    if os.path.lexists(folder):
        return False
    for parent in reversed(folder.parents):
        try:
            os.mkdir(parent, 0o755)
        except FileExistsError:
            continue
        except OSError as error:
            # Somewhere above: a read-only or foreign folder that is there.
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM) or not parent.is_dir():
                raise
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return False
    return True


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_whole(path: Path, data: bytes, mode: int = 0o600, *, owner: tuple[int, int] | None = None,
                xattrs: Mapping[str, bytes] | None = None, locked: bool = False) -> int | None:  # fmt: skip
    """The file has all of `data` after a power cut, or is as before. `locked`: returns a descriptor that holds a `flock` on it.

    The lock is taken before the file has its name, so nobody ever sees it without.
    """
    with place(path) as (folder, name):
        draft = f"{draft_prefix(name)}{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        descriptor = os.open(draft, _NEW, 0o600, dir_fd=folder)
        try:
            if locked:
                try_lock(descriptor, fcntl.LOCK_EX)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, *owner)
            os.fchmod(descriptor, mode)  # whatever the umask
            for key, value in (xattrs or {}).items():
                os.setxattr(descriptor, key, value)
            os.fsync(descriptor)
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            sync_folder(path.parent)
        except BaseException:
            os.close(descriptor)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise
    if locked:
        return descriptor
    os.close(descriptor)
    return None


def draft_prefix(name: str) -> str:
    """How the drafts of a file are called, before the number of the process."""
    return f".{name}."


def append(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Adds to a file, made if it is not there, and returns when the disk has it. A link under that name is not followed."""
    with place(path, make=True) as (folder, name):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, mode, dir_fd=folder)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_product(path: Path, data: bytes | str) -> Path:
    """Writes a report, a figure, a model … that a user asked for: whole or not at all, never through somebody else's link.

    Root writes into folders of others (`sudo seekwise report` in a home): a link that waits there under the name is replaced, not
    followed. What is neither file nor link (`/dev/stdout`, a pipe) is written to as it is.
    """
    content = data.encode("utf-8", errors="backslashreplace") if isinstance(data, str) else data
    with new_product(path) as file:
        file.write(content)
    return path


@contextlib.contextmanager
def new_product(path: Path) -> Iterator[BinaryIO]:
    """The same as a stream: the file has its name once the block is left without an error."""
    with place(path) as (folder, name):
        if _is_special(path, folder, name):
            with os.fdopen(_open_special(path, folder, name), "wb") as file:
                yield file
            return
        # A random name, so that no link can be planted under it, and O_EXCL, which follows none.
        draft = f".{name[:200]}.{secrets.token_hex(8)}"
        descriptor = os.open(draft, _NEW, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(path)
            raise


def fresh(path: Path) -> BinaryIO:
    """A new file of that name, to be written bit by bit; what was there goes, and no link is followed."""
    with place(path) as (folder, name):
        if _is_special(path, folder, name):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return os.fdopen(os.open(name, _NEW, 0o666, dir_fd=folder), "wb")


def claim(path: Path, mode: int = 0o666) -> bool:
    """Makes an empty file where none is, without following a link; True if it is new.

    What is there already must be an ordinary file, of a user who may not lead us astray and without a second name.
    """
    with place(path) as (folder, name):
        try:
            os.close(os.open(name, _NEW, mode, dir_fd=folder))
            return True
        except FileExistsError:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    is_foreign = os.geteuid() == 0 and status.st_uid not in trusted_users()
    if stat.S_ISLNK(status.st_mode) and not is_foreign and path.exists():
        return False
    if not stat.S_ISREG(status.st_mode) or is_foreign or (os.geteuid() == 0 and status.st_nlink > 1):
        raise RefusedError(
            f"{path} is a link, belongs to user {status.st_uid}, or has another name, too", "look at it, and remove it"
        )
    return False


_IN_DEV = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


def _is_special(path: Path, folder: int, name: str) -> bool:
    """A device, a pipe, a socket, or what stands in /dev: `/dev/stdout` may lead to a file, and stays what it is."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return path.parent in _IN_DEV or not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode))


def _open_special(path: Path, folder: int, name: str) -> int:
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    if path.parent not in _IN_DEV:
        # By now a link may have taken its place.
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path if path.parent in _IN_DEV else name, flags, dir_fd=folder)
    os.set_blocking(descriptor, True)
    return descriptor


ROOM_LEAST_BYTES = 1 << 20
"""With less than this a file system counts as full: programs write larger pieces."""


def is_full(folder: Path) -> bool:
    """Whether programs find no room there."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < ROOM_LEAST_BYTES


def try_lock(descriptor: int, kind: int) -> bool | None:
    """Takes a `flock` without waiting: False if somebody holds it, None where the filesystem has no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable. OSError where that fails."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some filesystems have nothing to sync for a folder (fsync(2)).
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Content of an ordinary file; ValueError for anything else, and OSError. A pipe is never waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            raise ValueError("it is a folder" if stat.S_ISDIR(kind) else "it is no ordinary file")
        return read_limited(descriptor, most_bytes)
    finally:
        os.close(descriptor)


TEXT_BYTES_MAX = 16 << 20


def read_text(path: Path, most_bytes: int = TEXT_BYTES_MAX, encoding: str = "utf-8-sig", errors: str = "strict") -> str:
    """Text of a file that a user names, without a byte order mark; OSError, with words, for a pipe, a device, a folder and what is larger."""
    try:
        return read_regular(path, most_bytes).decode(encoding, errors)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error), str(path)) from None


def read_limited(descriptor: int, most_bytes: int) -> bytes:
    """What a descriptor holds, up to `most_bytes`; ValueError if there is more."""
    parts, left = [], most_bytes + 1
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise ValueError(f"is larger than {most_bytes} bytes")
    return b"".join(parts)
