"""Files and folders by descriptor, so that no other one can be put in their place between two steps.

Everything that a command creates is created here: `write_product`, `new_product` and `fresh` for what a user asked for,
`write_whole` and `append` for what must survive a power cut, `make_folders` and `make_private` for folders.
`tools/created_files.py` finds whatever creates a file in another way.

Root may be told to write where another user can. From the first part of a path that is not root's, a child opens, makes
and renames with the rights of that part's owner, and hands the descriptor over: where the owner may not write, nothing
is written, whatever links are there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from seekwise.errors import RefusedError, UsageError

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(path: Path | str, parent: int | None = None) -> int:
    """Descriptor of a folder; the last part of `path` must not be a link."""
    return os.open(path, FOLDER_FLAGS, dir_fd=parent)


ANYBODY = -1
"""In place of a user: a folder in which many users can rename."""
NO_GROUP = 65534
"""The group of users who are in no list of users: the kernel's overflow group (Linux v6.12 include/linux/highuid.h)."""
_FIND = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def _decider(path: Path, *trusted: int) -> tuple[int, Path, Path]:
    """(user, part, path): which other user decides where a path leads, from which part on; user 0, and all of it, where
    none does.

    Links above that part are resolved; only root can change what lies above it, so looking at names is no race. Trusted
    are root and the owner of `/`, another one in a user namespace that maps a single user.
    """
    for part in reversed((path, *path.parents)):
        status = os.lstat(part)
        if stat.S_ISLNK(status.st_mode) and status.st_dev == os.stat("/proc").st_dev:
            # The kernel's own, as `/proc/1/fd/3`: their text is not where they lead.
            status = os.stat(part)
        if status.st_uid not in (0, os.stat("/").st_uid, *trusted):
            return status.st_uid, part, path
        if stat.S_ISLNK(status.st_mode):
            os.stat(part)  # ELOOP
            return _decider(part.parent / os.readlink(part) / path.relative_to(part), *trusted)
        if stat.S_ISDIR(status.st_mode) and _others_rename_in(part, status):
            return ANYBODY, part, path
    return 0, path, path


def _others_rename_in(folder: Path, status: os.stat_result) -> bool:
    """Whether users besides root and the owner may rename in it. With an access control list the group's bits are its
    mask, and the group may be root's: acl(5)."""
    if status.st_mode & stat.S_ISVTX or not status.st_mode & (stat.S_IWOTH | stat.S_IWGRP):
        return False
    if status.st_mode & stat.S_IWOTH or status.st_gid != 0:
        return True
    try:
        return bool(os.getxattr(folder, "system.posix_acl_access", follow_symlinks=False))
    except OSError:
        return False


def others_may_change(path: Path, *but: int) -> bool:
    """Whether anybody but root, ourselves and `but` owns a file or folder, or can put another in its place. OSError if
    it is missing."""
    return _decider(path.absolute(), os.geteuid(), *but)[0] != 0


def _within(path: Path, call: Callable[[int], Any]) -> Any:
    """Calls with a descriptor of the folder of `path` and returns the result, a descriptor or None. OSErrors name
    `path`.

    Root does so with the rights of the user who decides where the folder is; where many users do, without following
    links.
    """
    user, part, folder = _decider(path.parent.absolute()) if os.geteuid() == 0 else (0, path.parent, path.parent)
    # A link is followed from where it is, a folder used though it may stand where only root comes.
    above = part.parent if user > 0 and part.is_symlink() else part
    below = folder.relative_to(above)
    at = os.open(above, _FIND | (os.O_NOFOLLOW if user > 0 else 0))
    try:
        if user > 0:
            return _as_user(user, lambda: call(os.open(below, _FIND, dir_fd=at)))
        for name in below.parts:
            descriptor = os.open(name, _FIND | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = descriptor
        return call(at)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(at)


def _as_user(user: int, call: Callable[[], Any]) -> int | None:
    """What `call` returns, a descriptor or nothing, from a child that has the rights of this user and no others."""
    import array  # noqa: F401 (for `send_fds`, where this user may not be able to read it)
    import pwd
    import socket

    try:
        entry = pwd.getpwuid(user)
        group, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
    except KeyError:
        group, groups = NO_GROUP, []
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if (child := os.fork()) == 0:
            code = errno.EIO
            try:
                os.setgroups(groups)
                os.setegid(group)
                os.seteuid(user)  # the effective one alone: a user may stop and kill what is theirs in full
                result = call()
                socket.send_fds(theirs, [b"0"], [] if result is None else [result])
                code = 0
            except OSError as error:
                code = error.errno or code
            finally:
                os._exit(code)
        theirs.close()
        try:
            descriptors = socket.recv_fds(ours, 1, 1)[1]
        finally:
            status = os.waitpid(child, 0)[1]
    if status:
        code = os.WEXITSTATUS(status) or errno.EIO
        whose = f" for user {user}, to whom a part of the path belongs" if code in (errno.EACCES, errno.EPERM) else ""
        raise OSError(code, os.strerror(code) + whose)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return descriptors[0] if descriptors else None


def make_folders(path: Path) -> None:
    """Makes a folder and those above it, where they are not there, as `mkdir -p` does."""
    for folder in reversed((path, *path.parents)):
        if not os.path.exists(folder):
            with contextlib.suppress(FileExistsError):
                _within(folder, lambda at: os.mkdir(folder.name, dir_fd=at))  # noqa: B023 (called at once)


def check_private(folder: Path, mode: int = 0o700) -> None:
    """Refuses a folder in which somebody else can make or replace files; if it is ours, takes the rights that `mode`
    lacks from it."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise RefusedError(f"{folder} is not a folder", "remove it, or choose SEEKWISE_STATE")
    if status.st_uid not in (0, os.geteuid()):
        raise RefusedError(f"{folder} belongs to user {status.st_uid}", "remove it, or choose SEEKWISE_STATE")
    if status.st_mode & stat.S_ISVTX and status.st_mode & 0o022 or _others_rename_in(folder, status):
        raise RefusedError(
            f"other users can write to {folder}, so its files may be forged",
            f"look through it, then `chmod {mode:04o} {folder}`",
        )
    if _others_rename_in(folder.parent, os.lstat(folder.parent)):
        raise RefusedError(
            f"other users can rename files in {folder.parent}, so {folder.name} may be forged",
            f"look through it, then `chmod go-w {folder.parent}`",
        )
    if status.st_mode & 0o777 & ~mode and status.st_uid == os.geteuid():
        os.chmod(folder, stat.S_IMODE(status.st_mode) & mode)


def _close_if_empty(folder: Path) -> None:
    """Takes the right to write from others, where the folder is ours and nothing in it can be forged yet: it was made
    by hand, or under a wide umask."""
    with contextlib.suppress(OSError):
        descriptor = open_folder(folder)
        try:
            status = os.fstat(descriptor)
            is_open = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
            if is_open and status.st_uid == os.geteuid() and not os.listdir(descriptor):
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~0o022)
                if os.listdir(descriptor):
                    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        finally:
            os.close(descriptor)


def make_private(folder: Path, mode: int = 0o700) -> bool:
    """Makes a folder with at most this mode whatever the umask, and its parents with 0755; True if it is new. One that is
    there and empty is closed to writers."""
    if os.path.lexists(folder):
        _close_if_empty(folder)
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
        os.mkdir(folder, mode)
    except FileExistsError:
        return False
    return True


def _open(path: Path, name: str, flags: int, mode: int) -> int:
    descriptor: int = _within(path, lambda at: os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at))
    return descriptor


def _rename(path: Path, draft: str) -> None:
    _within(path, lambda at: os.replace(draft, path.name, src_dir_fd=at, dst_dir_fd=at))


def _remove(path: Path, draft: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        _within(path, lambda at: os.unlink(draft, dir_fd=at))


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL


def write_whole(path: Path, data: bytes, mode: int = 0o600, *, owner: tuple[int, int] | None = None,
                xattrs: Mapping[str, bytes] | None = None, locked: bool = False) -> int | None:  # fmt: skip
    """The file has all of `data` after a power cut, or is as before. `locked`: returns a descriptor that holds a
    `flock` on it.

    The lock is taken before the file has its name, so nobody ever sees it without.
    """
    draft = f".{path.name}.{os.getpid()}"
    _remove(path, draft)
    descriptor = _open(path, draft, _NEW, 0o600)
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
        _rename(path, draft)
        sync_folder(path.parent)
    except BaseException:
        os.close(descriptor)
        _remove(path, draft)
        raise
    if locked:
        return descriptor
    os.close(descriptor)
    return None


def append(path: Path, data: bytes) -> None:
    """Adds to a file, made if it is not there, and returns when the disk has it. A link under that name is not
    followed."""
    make_folders(path.parent)
    # Without waiting for the reader of a pipe that somebody has put there.
    descriptor = _open(path, path.name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o644)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_product(path: Path, data: bytes | str) -> Path:
    """Writes a report, a figure, a model … that a user asked for: whole or not at all, and never elsewhere.

    A link that waits under the name is replaced, not followed. What is neither file nor link (`/dev/stdout`, a pipe) is
    written to as it is.
    """
    content = data.encode("utf-8", errors="backslashreplace") if isinstance(data, str) else data
    with new_product(path) as file:
        file.write(content)
    return path


@contextlib.contextmanager
def new_product(path: Path) -> Iterator[BinaryIO]:
    """The same as a stream: the file has its name once the block is left without an error."""
    if _is_special(path):
        with os.fdopen(_open_special(path), "wb") as file:
            yield file
        return
    # A random name, so that no link can be planted under it, and O_EXCL, which follows none.
    draft = f".{path.name[:200]}.{secrets.token_hex(8)}"
    descriptor = _open(path, draft, _NEW, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        _rename(path, draft)
    except BaseException as error:
        _remove(path, draft)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise


def fresh(path: Path) -> BinaryIO:
    """A new file of that name, to be written bit by bit; what was there goes, and no link is followed."""
    refuse_special(path)

    def replace(at: int) -> int:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=at)
        return os.open(path.name, _NEW | os.O_CLOEXEC, 0o666, dir_fd=at)

    return os.fdopen(_within(path, replace), "wb")


def refuse_special(path: Path) -> None:
    """UsageError where `fresh` would not write: asked before what takes long."""
    if _is_special(path):
        raise UsageError(f"{path} is no ordinary file", ANOTHER)


def claim(path: Path) -> None:
    """Makes an empty file where none is, without following a link."""
    with contextlib.suppress(FileExistsError):
        os.close(_open(path, path.name, _NEW, 0o666))


ANOTHER = "name another file"
_IN_DEV = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


def _is_special(path: Path) -> bool:
    """A device, a pipe, a socket, or what stands in /dev: `/dev/stdout` may lead to a file, and stays what it is."""
    try:
        kind = os.lstat(path).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(kind):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return path.parent in _IN_DEV or not (stat.S_ISREG(kind) or stat.S_ISLNK(kind))


def _open_special(path: Path) -> int:
    """UsageError where what is written would destroy a drive's data, or nobody would read it."""
    if stat.S_ISBLK(os.stat(path).st_mode):
        raise UsageError(f"{path} is a drive, not a file", ANOTHER)
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        # Elsewhere a link may have taken its place by now.
        descriptor = os.open(path, flags) if path.parent in _IN_DEV else _open(path, path.name, flags, 0)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise UsageError(f"{path} is a socket, or a pipe that no program reads", ANOTHER) from None
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
    """Text of a file that a user names, without a byte order mark; OSError, with words, for a pipe, a device, a folder
    and what is larger."""
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
