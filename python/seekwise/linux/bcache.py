"""bcache: `/sys/block/bcacheN`, made of a backing device and, when attached, a cache set
(Documentation/admin-guide/bcache.rst)."""

from __future__ import annotations

import re

from seekwise.linux import sysfs
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """A bcache device, its backing device and its caches; None for a device of another kind. Facts as `BlockDevice`
    takes them."""
    if node.disk or not re.fullmatch(r"bcache\d+", node.name):
        return None
    below = sysfs.slaves(tree, node)
    details: dict[str, object] = {}
    # `bcache` in the disk's folder leads to the backing device's own bcache folder.
    for key in ("state", "cache_mode", "writeback_percent", "sequential_cutoff", "dirty_data"):
        if (value := tree.word(node.path("bcache", key))) is not None:
            details[key] = _chosen(value)
    backing = tree.resolve(node.path("bcache"))
    if backing:
        details["backing_device"] = backing.rpartition("/")[0].rpartition("/")[2]
    details["cache_devices"] = [name for name in below if name != details.get("backing_device")] if backing else []
    return {"kind": "bcache", "below": below, "details": details}


def _chosen(value: str) -> str:
    """`writethrough [writeback] none` → `writeback`."""
    match = re.search(r"\[([^\]]+)\]", value)
    return match[1] if match else value
