"""Files and folders by descriptor, so that nobody can put another one in their place between two steps.

`private_folder` makes or checks a folder that only its owner may enter; `write_whole` writes a file completely or not at all.
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


def open_folder(path: Path | str, parent: int | None = None) -> int:
    """Descriptor of a folder; the last part of `path` must not be a link."""
    return os.open(path, FOLDER_FLAGS, dir_fd=parent)


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


def write_whole(path: Path, data: bytes, mode: int = 0o600, *, owner: tuple[int, int] | None = None,
                xattrs: Mapping[str, bytes] | None = None, locked: bool = False) -> int | None:  # fmt: skip
    """The file has all of `data` after a power cut, or is as before. `locked`: returns a descriptor that holds a `flock` on it.

    The lock is taken before the file has its name, so nobody ever sees it without.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if locked:
            try_lock(descriptor, fcntl.LOCK_EX)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if owner is not None and owner != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, *owner)
        os.fchmod(descriptor, mode)  # whatever the umask
        for name, value in (xattrs or {}).items():
            os.setxattr(descriptor, name, value)
        os.fsync(descriptor)
        os.replace(draft, path)
        sync_folder(path.parent)
    except BaseException:
        os.close(descriptor)
        draft.unlink(missing_ok=True)
        raise
    if locked:
        return descriptor
    os.close(descriptor)
    return None


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
    if _is_special(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, "wb") as file:
            yield file
        return
    # A random name, so that no link can be planted under it, and O_EXCL, which follows none.
    draft = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def fresh(path: Path) -> BinaryIO:
    """A new file of that name, to be written bit by bit; what was there goes, and no link is followed."""
    if _is_special(path):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "wb")


def _is_special(path: Path) -> bool:
    """A device, a pipe, a socket, or what stands in /dev: `/dev/stdout` may lead to a file, and stays what it is."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    in_dev = path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
    return in_dev or not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode))


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


def read_text(path: Path, most_bytes: int = TEXT_BYTES_MAX, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Text of a file that a user names; OSError, with words, for a pipe, a device, a folder and what is larger."""
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
