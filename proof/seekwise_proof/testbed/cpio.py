"""A newc archive with nothing in it that changes from build to build: owners, times and inode numbers are fixed.

Bytes matter: an initramfs that differs by a few bytes boots some nanoseconds differently, and a near-tie may fall the
other way.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass


@dataclass(frozen=True)
class CpioEntry:
    mode: int
    data: bytes = b""

    @classmethod
    def file(cls, data: bytes, executable: bool = False) -> CpioEntry:
        """A regular file of mode 0644, or 0755 if `executable`."""
        return cls(stat.S_IFREG | (0o755 if executable else 0o644), data)

    @classmethod
    def link(cls, target: str) -> CpioEntry:
        """A symbolic link; the target need not exist."""
        return cls(stat.S_IFLNK | 0o777, target.encode())

    @classmethod
    def folder(cls) -> CpioEntry:
        """Mode 0755."""
        return cls(stat.S_IFDIR | 0o755)


def pack(entries: dict[str, CpioEntry]) -> bytes:
    """The archive; folders on the way to an entry are made."""
    whole: dict[str, CpioEntry] = {}
    for name, entry in sorted(entries.items()):
        parts = name.split("/")
        for depth in range(1, len(parts)):
            whole.setdefault("/".join(parts[:depth]), CpioEntry.folder())
        whole[name] = entry
    out = bytearray()
    for number, (name, entry) in enumerate(whole.items(), 1):
        _member(out, number, name, entry)
    _member(out, 0, "TRAILER!!!", CpioEntry(0))
    return bytes(out)


def _member(out: bytearray, inode: int, name: str, entry: CpioEntry) -> None:
    # Linux Documentation/driver-api/early-userspace/buffer-format.rst: magic and 13 fields of 8 hexadecimal digits.
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    path = name.encode() + b"\0"
    fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, 0, 0, len(path), 0)
    out += b"070701" + b"".join(b"%08X" % field for field in fields) + path
    out += b"\0" * (-len(out) % 4)
    out += entry.data
    out += b"\0" * (-len(out) % 4)
