"""A file tree as the kernel shows it: the running machine, a captured folder, or a captured tar archive.

Every reader in this package takes a `Tree` and names files as the kernel does (`/sys/block/sda/size`). What cannot be
read is `None`, never an exception: kernels differ in what they show, and captured trees have holes.

Symbolic links are followed inside the tree: an absolute target means the top of the tree, and `..` stops there, so a
captured machine cannot reach the files of the machine that reads it. An archive is read in memory, never unpacked.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path

from seekwise import bounds
from seekwise.errors import UsageError
from seekwise.linux.archive import Bounded, TooLarge, opened

LINKS_MAX = 40
"""Linux follows 40 symbolic links in one path and then gives up (path_resolution(7))."""


ATTRIBUTES = ("/sys/block/", "/sys/class/", "/sys/devices/")
ATTRIBUTE_BYTES = 4096
"""The kernel shows and takes a page of text at most (Linux Documentation/filesystems/sysfs.rst); more is forged."""


class Tree(ABC):
    """Files below one root. Paths are absolute strings within the tree."""

    root: Path
    denied: Collection[str] = ()
    """What is there and could not be read for lack of permission, so far."""
    _steps = bounds.CAPTURE_STEPS
    _read = bounds.CAPTURE_READ_BYTES

    @property
    def spent(self) -> str:
        """Why the rest of a captured tree is not read, as a sentence; empty while its budget lasts."""
        if self.live or (self._steps > 0 and self._read > 0):
            return ""
        most = f"{bounds.CAPTURE_READ_BYTES >> 20} MiB" if self._steps > 0 else f"{bounds.CAPTURE_STEPS:,} steps"
        return f"reading this tree takes more than {most}: its rest counts as missing"

    @property
    def live(self) -> bool:
        """Whether this is the running machine, whose `/dev` and folders can be asked as well."""
        return False

    @abstractmethod
    def _kind(self, path: str) -> str | None:
        """`file`, `folder` or `link` for a path whose parent folders are already resolved; None where nothing is."""

    @abstractmethod
    def _target(self, path: str) -> str: ...

    @abstractmethod
    def _bytes(self, path: str, most: int = bounds.CAPTURE_FILE_BYTES) -> bytes | None: ...

    @abstractmethod
    def _names(self, path: str) -> list[str]: ...

    def resolve(self, path: str) -> str | None:
        """The path with every symbolic link followed; None where it leads nowhere, and when the budget is spent."""
        if self.spent:
            return None
        todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        done: list[str] = []
        links = 0
        self._steps -= len(todo)
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if done:
                    done.pop()
                continue
            here = "/" + "/".join([*done, part])
            kind = self._kind(here)
            if kind is None:
                return None
            if kind == "link":
                links += 1
                if links > LINKS_MAX:
                    return None
                target = self._target(here)
                if target.startswith("/"):
                    done.clear()
                todo.extend(reversed(target.split("/")))
                self._steps -= len(todo)
                continue
            done.append(part)
        return "/" + "/".join(done)

    def link(self, path: str) -> str | None:
        """The last component of a symbolic link's target, e.g. the driver's name from `…/driver`."""
        parent, _, name = path.rpartition("/")
        resolved = self.resolve(parent or "/")
        if resolved is None:
            return None
        here = f"{resolved.rstrip('/')}/{name}"
        if self._kind(here) != "link":
            return None
        return self._target(here).rstrip("/").rpartition("/")[2] or None

    def bytes(self, path: str, most: int = bounds.CAPTURE_FILE_BYTES) -> bytes | None:
        """The first `most` bytes; None where no such file can be read."""
        resolved = self.resolve(path)
        content = None if resolved is None else self._bytes(resolved, most)
        self._read -= len(content or b"")
        return content

    def text(self, path: str) -> str | None:
        """The file's text without surrounding white space; None where it cannot be read."""
        content = self.bytes(path, ATTRIBUTE_BYTES if path.startswith(ATTRIBUTES) else bounds.CAPTURE_FILE_BYTES)
        return None if content is None else content.decode("utf-8", "replace").strip("\0 \t\r\n")

    def word(self, path: str) -> str | None:
        """Like `text`, but None for an empty file too."""
        return self.text(path) or None

    def number(self, path: str) -> int | None:
        """The first word as an integer, decimal or with `0x`; None where the file is missing or holds no number."""
        text = self.text(path)
        try:
            return None if text is None else int(text.split()[0], 0)
        except (ValueError, IndexError):
            return None

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty where there is none."""
        resolved = self.resolve(path)
        names = [] if resolved is None else sorted(self._names(resolved))
        self._steps -= len(names)
        return names

    def is_executable(self, path: str) -> bool:
        """Whether a file may be started; true where the tree does not keep that."""
        return self._is_executable(self.resolve(path) or path)

    def _is_executable(self, path: str) -> bool:
        return True

    def exists(self, path: str) -> bool:
        """Follows links: False for a link whose target is missing."""
        return self.resolve(path) is not None

    def is_folder(self, path: str) -> bool:
        """Follows links; False where nothing is there."""
        resolved = self.resolve(path)
        return resolved is not None and self._kind(resolved) == "folder"


class FolderTree(Tree):
    """A folder on disk; `/` is the running machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.denied: dict[str, None] = {}
        self._prefix = "" if str(root) == "/" else str(root)

    @property
    def live(self) -> bool:
        """Whether this is the running machine, not a captured folder."""
        return self._prefix == ""

    def _kind(self, path: str) -> str | None:
        try:
            mode = os.lstat(self._prefix + path).st_mode
        except (OSError, ValueError) as error:
            self._unread(path, error)
            return None
        return "link" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode) else "file"

    def _target(self, path: str) -> str:
        return os.readlink(self._prefix + path)

    def _bytes(self, path: str, most: int = bounds.CAPTURE_FILE_BYTES) -> bytes | None:
        try:
            # A capture may hold a FIFO or a device node by mistake: opening those could hang or have effects.
            if not stat.S_ISREG(os.lstat(self._prefix + path).st_mode):
                return None
            with open(self._prefix + path, "rb", buffering=0) as file:
                content = b""
                while len(content) < most and (piece := file.read(most - len(content))):
                    content += piece
                return content
        except (OSError, ValueError) as error:
            self._unread(path, error)
            return None

    def _is_executable(self, path: str) -> bool:
        try:
            return bool(os.lstat(self._prefix + path).st_mode & 0o111)
        except (OSError, ValueError):
            return True

    def _names(self, path: str) -> list[str]:
        try:
            return os.listdir(self._prefix + path)
        except OSError as error:
            self._unread(path, error)
            return []

    def _unread(self, path: str, error: Exception) -> None:
        if isinstance(error, PermissionError):
            self.denied[path] = None

    def resolve(self, path: str) -> str | None:
        """The path with all links followed, None where its target is missing. A captured folder never leads out of
        itself."""
        if not self.live:
            return super().resolve(path)
        try:
            return os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            return None


class _Archive(tarfile.TarFile):
    members: list[tarfile.TarInfo]


class ArchiveTree(Tree):
    """A tar archive, compressed or not, held in memory."""

    def __init__(self, archive: Path) -> None:
        self.root = archive
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, set[str]] = {"/": set()}
        self._names_bytes = 0
        try:
            with opened(archive) as stream, _Archive.open(fileobj=stream, mode="r:") as tar:
                for count, member in enumerate(tar):
                    if count >= bounds.CAPTURE_MEMBERS:
                        raise TooLarge(f"it has more than {bounds.CAPTURE_MEMBERS} members")
                    self._add(tar, member, stream)
                    # The library keeps what it has read; nothing asks for it again.
                    tar.members.clear()
                    stream.next_member()
        except TooLarge as error:
            raise UsageError(
                f"{archive} is no captured machine: {error}", hint="make one with `seekwise capture FILE.tar.gz`"
            ) from None
        except (tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, KeyError, IndexError,
                RecursionError, OverflowError, AttributeError, TypeError) as error:  # fmt: skip
            reason = getattr(error, "strerror", None)
            raise UsageError(
                f"{archive} is no captured machine: it cannot be read as a tar archive{f' ({reason})' if reason else ''}",
                hint="make one with `seekwise capture FILE.tar.gz`",
            ) from error

    def _add(self, tar: tarfile.TarFile, member: tarfile.TarInfo, stream: Bounded) -> None:
        parts = _parts(member.name)
        if not parts:
            return
        if max(len(member.name), len(member.linkname)) > bounds.CAPTURE_NAME_BYTES:
            raise TooLarge(f"a name has more than {bounds.CAPTURE_NAME_BYTES} characters")
        path = "/" + "/".join(parts)
        # From the file upwards, to the first folder that is known: that one's own parents are, too.
        for depth in range(len(parts) - 1, -1, -1):
            parent = "/" + "/".join(parts[:depth])
            known = parent in self._folders
            if not known:
                self._folders[parent] = set()
                self._names_bytes += len(parent)
            self._folders[parent].add(parts[depth])
            if known:
                break
        self._names_bytes += len(path) + len(member.linkname)
        if self._names_bytes > bounds.CAPTURE_NAMES_BYTES:
            raise TooLarge(f"its names have more than {bounds.CAPTURE_NAMES_BYTES >> 20} MiB")
        if member.isdir():
            self._folders.setdefault(path, set())
        elif member.issym():
            self._links[path] = member.linkname
        elif member.islnk():
            # tar stores the second of two equal inodes as a hard link to the first, which came before.
            self._files[path] = self._files.get("/" + "/".join(_parts(member.linkname)), b"")
        elif member.isfile():
            with stream.content():
                content = tar.extractfile(member)
                self._files[path] = b"" if content is None else content.read(bounds.CAPTURE_FILE_BYTES)

    def _kind(self, path: str) -> str | None:
        if path in self._links:
            return "link"
        if path in self._folders:
            return "folder"
        return "file" if path in self._files else None

    def _target(self, path: str) -> str:
        return self._links[path]

    def _bytes(self, path: str, most: int = bounds.CAPTURE_FILE_BYTES) -> bytes | None:
        content = self._files.get(path)
        return None if content is None else content[:most]

    def _names(self, path: str) -> list[str]:
        return list(self._folders.get(path, ()))


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".", "..")]


class BelowTree(Tree):
    """A folder of another tree as a tree of its own: for archives that hold one folder with everything in it."""

    def __init__(self, tree: Tree, folder: str) -> None:
        self.root = tree.root
        self._tree = tree
        self._folder = folder
        self.denied = tree.denied

    def _kind(self, path: str) -> str | None:
        return self._tree._kind(self._folder + path)

    def _target(self, path: str) -> str:
        return self._tree._target(self._folder + path)

    def _bytes(self, path: str, most: int = bounds.CAPTURE_FILE_BYTES) -> bytes | None:
        return self._tree._bytes(self._folder + path, most)

    def _names(self, path: str) -> list[str]:
        return self._tree._names(self._folder + path)


def open_tree(root: Path | Tree = Path("/")) -> Tree:
    """The tree at `root`: `/`, a captured folder, or a tar archive."""
    if isinstance(root, Tree):
        return root
    root = Path(root)
    if root.is_dir():
        tree: Tree = FolderTree(Path(os.path.realpath(root)))
    elif root.is_file():
        tree = ArchiveTree(root)
    else:
        raise UsageError(f"{root} does not exist", hint="give `/`, a captured folder, or a captured .tar.gz")
    if tree.exists("/sys") or tree.exists("/proc"):
        return tree
    for name in tree.names("/"):
        folder = tree.resolve(f"/{name}")
        if folder and tree.is_folder(f"{folder}/sys"):
            return BelowTree(tree, folder)
    texts = [folder for folder in ("", *tree.names("/")) if tree.exists(f"/{folder}/basic-environment.txt")]
    if texts:
        raise UsageError(
            f"{root} is a supportconfig report: texts of commands, without the settings as files",
            hint=f"unpacked, its kernel log is read: `seekwise devices --ncq {Path(texts[0]) / 'boot.txt'}`; on that machine: `seekwise capture FILE.tar.gz`",
        )
    raise UsageError(
        f"{root} holds no sys folder, so it is not a captured machine",
        hint="make one with `seekwise capture FILE.tar.gz`",
    )
