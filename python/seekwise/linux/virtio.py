"""virtio-blk disks: `/sys/block/vdX`, `device` leads to `virtioN`. The host behind it has a scheduler and cache of its
own."""

from __future__ import annotations

import re

from seekwise.linux import sysfs
from seekwise.linux.pci import pci_facts
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """A virtio disk of a virtual machine; None for a device of another kind. Facts as `BlockDevice` takes them."""
    hardware = sysfs.hardware_path(tree, node)
    driver = tree.link(f"{hardware}/driver") if hardware else None
    if node.disk or not (driver == "virtio_blk" or re.fullmatch(r"vd[a-z]+", node.name)):
        return None
    cache_type = tree.word(node.path("cache_type"))
    return {
        "kind": "virtio",
        "driver": driver or "virtio_blk",
        "transport": "virtio",
        "serial": tree.word(node.path("serial")),
        "write_cache": cache_type,
        "details": {"virtual": True, "cache_type": cache_type, **pci_facts(tree, hardware)},
    }
