"""Loop devices: `/sys/block/loopN/loop/`. A loop stands on a file, and the file on a device found through the mounts.

A loop has a queue and a scheduler of its own, so for settings it is the bottom: `Stack.leaves` stops there, and the
drive that holds the file is left alone. `Stack.drives` goes on.
"""

from __future__ import annotations

import re

from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree

DELETED = " (deleted)"
"""The kernel's d_path marks a file that has no name any more."""


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """A loop device and the file behind it; None for a device of another kind. Facts as `BlockDevice` takes them."""
    if node.disk or not re.fullmatch(r"loop\d+", node.name):
        return None
    # A path may end in a space, so only the newline that sysfs adds is taken off.
    content = tree.bytes(node.path("loop", "backing_file"))
    backing = content.decode("utf-8", "replace").rstrip("\n") if content else None
    details: dict[str, object] = {"bound": bool(backing)}
    if backing and backing.endswith(DELETED):
        backing, details["deleted"] = backing.removesuffix(DELETED), True
    for name, key in (("offset", "offset_bytes"), ("sizelimit", "size_limit_bytes")):
        if value := tree.number(node.path("loop", name)):
            details[key] = value
    if (direct := tree.number(node.path("loop", "dio"))) is not None:
        details["direct_io"] = bool(direct)
    return {"kind": "loop", "backing_file": backing, "details": details}
