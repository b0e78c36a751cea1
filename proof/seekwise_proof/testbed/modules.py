"""Kernel modules of a package, each with what it needs, in an order in which they can be loaded one by one."""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable

from seekwise import schedulers
from seekwise.errors import SeekwiseError

# What else a module asks for at run time, which its `depends` does not say.
SOFT = {
    "libcrc32c": ("crc32c_generic",),
    "ext4": ("crc32c_generic",),
    "xfs": ("crc32c_generic",),
    "btrfs": ("crc32c_generic",),
}

Content = Callable[[], bytes]


class Modules:
    """The modules of one kernel package by name (`-` and `_` are the same)."""

    def __init__(self, files: dict[str, Content], builtin: str) -> None:
        self.files = files
        self.builtin = {_plain(line) for line in builtin.split()}
        self.read: dict[str, bytes] = {}

    def ordered(self, wanted: tuple[str, ...]) -> list[str]:
        """`wanted` and everything they need, what is needed first; nothing that is built in."""
        order: list[str] = []
        for name in wanted:
            self._add(name, order, ())
        return order

    def _add(self, name: str, order: list[str], above: tuple[str, ...]) -> None:
        if name in order or name in self.builtin or name in above:
            return
        if name not in self.files:
            needed = f", which {above[-1]} needs" if above else ""
            raise SeekwiseError(f"the kernel package has no module {name}{needed}")
        for other in (*self.depends(name), *SOFT.get(name, ())):
            self._add(other, order, (*above, name))
        order.append(name)

    def content(self, name: str) -> bytes:
        """The module as insmod takes it: not compressed, with its signature."""
        if name not in self.read:
            data = self.files[name]()
            self.read[name] = lzma.decompress(data) if data[:6] == b"\xfd7zXZ\0" else data
        return self.read[name]

    def depends(self, name: str) -> list[str]:
        """Direct dependencies alone, from `.modinfo`; names with `_`."""
        # Section .modinfo: strings KEY=VALUE, each with a zero at its end.
        match = re.search(rb"\0depends=([^\0]*)\0", self.content(name))
        return [_plain(word) for word in match[1].decode().split(",") if word] if match else []


def _plain(path: str) -> str:
    return re.sub(r"\.ko(\.\w+)?$", "", path.rsplit("/", 1)[-1]).replace("-", "_")


def of_package(entries: dict[str, Content]) -> Modules:
    """`entries`: everything in the package below lib/modules, by path."""
    builtin = next((get().decode() for path, get in entries.items() if path.endswith("/modules.builtin")), "")
    return Modules({_plain(path): get for path, get in entries.items() if re.search(r"\.ko(\.\w+)?$", path)}, builtin)


def of_scheduler(name: str) -> list[str]:
    """Modules that a guest has to load for a scheduler, as the kernel spells loaded modules."""
    known = schedulers.registry().get(name)
    if known is None or not known.module or not known.loaded_by_testbed:
        return []
    return [known.module.replace("-", "_")]
