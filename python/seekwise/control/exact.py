"""A file's whole state, and the way back to it: content to the byte, mode, owner, times, extended attributes, or the
link it is."""

from __future__ import annotations

import base64
import contextlib
import os
import stat
from pathlib import Path
from typing import Any

from seekwise import files
from seekwise.errors import RefusedError, SeekwiseError

BYTES_MAX = 4 << 20

FileState = dict[str, Any]
"""`uid`, `gid` and `mtime_ns`; of a link its `link`, of a file `bytes`, `mode` and `xattrs`; bytes in Base64."""


def state(path: Path) -> FileState | None:
    """What a path is, as the journal keeps it; None: it does not exist. Refuses what is neither file nor link."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    document = {"uid": status.st_uid, "gid": status.st_gid, "mtime_ns": status.st_mtime_ns}
    if stat.S_ISLNK(status.st_mode):
        return {**document, "link": encoded(os.fsencode(os.readlink(path)))}
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError(f"{path} is neither a file nor a link", "move it away")
    if status.st_size > BYTES_MAX:
        raise RefusedError(f"{path} is larger than {BYTES_MAX >> 20} MiB", "move it away")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        content = files.read_limited(descriptor, BYTES_MAX)
        xattrs = {}
        with contextlib.suppress(OSError):  # a filesystem without them
            xattrs = {name: encoded(os.getxattr(descriptor, name)) for name in os.listxattr(descriptor)}
    finally:
        os.close(descriptor)
    return {**document, "bytes": encoded(content), "mode": stat.S_IMODE(status.st_mode), "xattrs": xattrs}


def restore(path: Path, before: FileState) -> None:
    """Makes `path` what `state` said it was, whole or not at all."""
    if "link" in before:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        os.symlink(os.fsdecode(decoded(before["link"])), draft)
        if (before["uid"], before["gid"]) != (os.geteuid(), os.getegid()):
            os.chown(draft, before["uid"], before["gid"], follow_symlinks=False)
        os.utime(draft, ns=(before["mtime_ns"], before["mtime_ns"]), follow_symlinks=False)
        os.replace(draft, path)
        files.sync_folder(path.parent)
        return
    files.write_whole(
        path,
        decoded(before["bytes"]),
        before["mode"],
        owner=(before["uid"], before["gid"]),
        xattrs={name: decoded(value) for name, value in before["xattrs"].items()},
    )
    os.utime(path, ns=(before["mtime_ns"], before["mtime_ns"]))


def content(state_of_file: FileState | None) -> bytes | None:
    """The bytes of a file's state; None of a link, or of nothing."""
    return decoded(state_of_file["bytes"]) if state_of_file is not None and "bytes" in state_of_file else None


def text(path: Path) -> str:
    """Text of a file that may be absent or a link; an error if it is no text."""
    try:
        data = path.read_bytes() if path.is_file() else b""
        return data.decode()
    except UnicodeDecodeError as error:
        raise SeekwiseError(
            f"{path} is not UTF-8, so nothing can be added to it", "move it away, or mend it"
        ) from error
    except OSError as error:
        raise SeekwiseError(f"{path} cannot be read ({error.strerror})") from error


def same(one: FileState | None, other: FileState | None) -> bool:
    """Whether two states are the same but for their times."""
    if one is None or other is None:
        return one is other
    return {**one, "mtime_ns": 0} == {**other, "mtime_ns": 0}


def encoded(data: bytes) -> str:
    """Bytes as text, for the journal."""
    return base64.b64encode(data).decode("ascii")


def decoded(data: str) -> bytes:
    """The bytes of `encoded`."""
    return base64.b64decode(data)
