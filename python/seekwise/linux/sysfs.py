"""Block devices as sysfs shows them: names, folders, and the files that every device has.

`/sys/block/NAME` is a link into `/sys/devices` (since 2.6.25, or a folder with CONFIG_SYSFS_DEPRECATED, and in older
kernels); partitions are folders inside it. A `!` in a name stands for `/` in `/dev`: `cciss!c0d0` is `/dev/cciss/c0d0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seekwise.linux.tree import Tree

SECTOR_BYTES = 512
"""`size` and `start` count 512-byte sectors whatever the device's own sector size."""

QUEUE_SKIPPED = frozenset({"iosched", "independent_access_ranges"})


@dataclass(frozen=True)
class Node:
    """Where one block device lies in the tree: `folder` is resolved as far as the tree allows."""

    name: str
    folder: str
    disk: str | None = None
    """The whole disk, for a partition."""

    def path(self, *parts: str) -> str:
        """A path within the tree, not on this machine: the tree may be a capture."""
        return "/".join((self.folder, *parts))


def device_path(name: str) -> str:
    """`/dev/cciss/c0d0` of `cciss!c0d0`."""
    return "/dev/" + name.replace("!", "/")


def block_nodes(tree: Tree) -> dict[str, Node]:
    """Every block device of the tree, whole disks and partitions."""
    nodes: dict[str, Node] = {}
    for top in ("/sys/block", "/sys/class/block", "/sys/dev/block"):
        for entry in tree.names(top):
            # The last folder names links by device number; what they lead to has the device's name.
            name = (tree.link(f"{top}/{entry}") or entry) if top == "/sys/dev/block" else entry
            if name in nodes or (folder := tree.resolve(f"{top}/{entry}")) is None or not tree.is_folder(folder):
                continue
            disk = _disk_of_partition(tree, folder)
            nodes[name] = Node(name, folder, disk)
            if disk is None:
                for child in _partitions(tree, name, folder):
                    nodes.setdefault(child, Node(child, f"{folder}/{child}", name))
    return nodes


def _disk_of_partition(tree: Tree, folder: str) -> str | None:
    if not tree.exists(f"{folder}/partition"):
        return None
    return folder.rpartition("/")[0].rpartition("/")[2]


def _partitions(tree: Tree, name: str, folder: str) -> list[str]:
    # `partition` came with 2.6.27; `start` has always told a partition from the other folders.
    return [
        child
        for child in tree.names(folder)
        if child.startswith(name)
        and child != name
        and (tree.exists(f"{folder}/{child}/partition") or tree.exists(f"{folder}/{child}/start"))
    ]


def size_bytes(tree: Tree, node: Node) -> int:
    """Capacity; 0 where the kernel names none."""
    return (tree.number(node.path("size")) or 0) * SECTOR_BYTES


LSBLK = "/sos_commands/block/lsblk_-O_-P"
"""What a sos report says of its disks, one a line as KEY="value"."""


def reported(tree: Tree, name: str) -> dict[str, str]:
    """What `lsblk` said of a device on the machine that a report is of."""
    rows = (dict(re.findall(r'([A-Z-]{1,20})="([^"]{0,200})"', line)) for line in (tree.text(LSBLK) or "").splitlines())
    return next((row for row in rows if row.get("KNAME") == name), {})


def lsblk_bytes(text: str) -> int:
    """`500107862016` of `lsblk --bytes`, and `61.9M` without it, in powers of 1024; 0 for anything else."""
    size = re.fullmatch(r"(\d{1,20}(?:\.\d)?)([BKMGTPE]?)", text)
    return int(float(size[1]) * 1024 ** "BKMGTPE".find(size[2] or "B")) if size else 0


def texts(tree: Tree, folder: str, skip: frozenset[str] = frozenset()) -> dict[str, str]:
    """Every readable file directly in a folder, as text."""
    texts_of = {}
    for name in tree.names(folder):
        if name not in skip and (text := tree.text(f"{folder}/{name}")) is not None:
            texts_of[name] = text
    return texts_of


def queue(tree: Tree, node: Node) -> dict[str, str]:
    """{file below queue/: text} of what can be read."""
    return texts(tree, node.path("queue"), QUEUE_SKIPPED)


def iosched(tree: Tree, node: Node) -> dict[str, str]:
    """{tunable: text} of the scheduler in force."""
    return {name: text for name, text in texts(tree, node.path("queue", "iosched")).items() if "\n" not in text}


def slaves(tree: Tree, node: Node) -> tuple[str, ...]:
    """Devices that this one is made of, as the kernel names them."""
    return tuple(tree.names(node.path("slaves")))


def hardware_path(tree: Tree, node: Node) -> str | None:
    """The folder of the hardware (or driver) device behind a disk, e.g. `…/ata1/host0/target0:0:0/0:0:0:0`."""
    return tree.resolve(node.path("device"))


def driver_above(tree: Tree, folder: str | None, skip: frozenset[str] = frozenset()) -> tuple[str, str] | None:
    """The nearest driver at or above a device folder, and that folder: `("ahci", "…/0000:00:1f.2")`."""
    while folder and folder.startswith("/sys/devices/"):
        if (driver := tree.link(f"{folder}/driver")) and driver not in skip:
            return driver, folder
        folder = folder.rpartition("/")[0]
    return None
