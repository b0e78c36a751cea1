"""Device mapper: `/sys/block/dm-N/dm/`. Who made a mapping is told by the prefix of its UUID.

sysfs does not show a mapping's table, so `striped` or `cache` inside LVM is not known here; the devices it stands on
are.
"""

from __future__ import annotations

import re

from seekwise.linux import sysfs
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree

SUBSYSTEMS = {
    "LVM": "lvm",
    "CRYPT": "crypt",
    "mpath": "multipath",
    "DMRAID": "dmraid",
    "VDO": "vdo",
    "stratis": "stratis",
}


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """A mapping of the device mapper: LVM, dm-crypt, multipath, a partition of one; None for a device of another kind.
    Facts as `BlockDevice` takes them."""
    if node.disk or not (re.fullmatch(r"dm-\d+", node.name) or tree.is_folder(node.path("dm"))):
        return None
    name = tree.word(node.path("dm", "name"))
    uuid = tree.word(node.path("dm", "uuid"))
    details: dict[str, object] = {"dm_name": name, "dm_uuid": uuid}
    kind = kind_of(uuid)
    if uuid and (part := re.match(r"part(\d+)-", uuid)):
        # kpartx and udev make partitions of a mapping as mappings of their own: part1-mpath-…
        kind, details["partition_number"] = "partition", int(part[1])
    if tree.number(node.path("dm", "suspended")):
        details["suspended"] = True
    if kind == "lvm" and name and uuid:
        details.update(_lvm(name, uuid))
    if kind == "crypt" and uuid:
        details["crypt_type"] = uuid.split("-")[1] if "-" in uuid else None
    if kind == "multipath":
        details["wwid"] = (uuid or "").removeprefix("mpath-") or None
        details["request_based"] = request_based(tree, node)
    if kind == "dmraid":
        details["firmware_raid"] = "dmraid: " + (uuid or "").removeprefix("DMRAID-").split("_")[0]
    return {
        "kind": kind,
        "below": sysfs.slaves(tree, node),
        "details": {key: value for key, value in details.items() if value is not None},
    }


def kind_of(uuid: str | None) -> str:
    """Which subsystem made a mapping, by the prefix of its UUID; `dm` for one that is not known."""
    prefix = (uuid or "").split("-")[0]
    return SUBSYSTEMS.get(prefix, "dm")


def request_based(tree: Tree, node: Node) -> bool:
    """Whether the mapping takes whole requests and so has a scheduler of its own; then its paths' schedulers see
    nothing.

    Such a queue shows `mq/` (or, before blk-mq, more than one scheduler); a mapping that passes bios on shows only
    `none`.
    """
    offered = (tree.text(node.path("queue", "scheduler")) or "").split()
    return tree.is_folder(node.path("mq")) or len(offered) > 1


def _lvm(name: str, uuid: str) -> dict[str, object]:
    """Volume group and logical volume from `vg-lv`, where a hyphen inside a name is doubled."""
    parts = re.split(r"(?<!-)-(?!-)", name, maxsplit=1)
    if len(parts) != 2:
        return {}
    group, volume = (part.replace("--", "-") for part in parts)
    # LVM-<32 chars group><32 chars volume>[-layer]: a layer marks an inner volume such as tpool, real, cow.
    layer = re.fullmatch(r"LVM-\w{64}-(\w+)", uuid)
    return {"volume_group": group, "logical_volume": volume, **({"lvm_layer": layer[1]} if layer else {})}
