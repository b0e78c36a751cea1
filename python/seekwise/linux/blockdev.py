"""One block device: what every device has, and what its kind adds.

Each kind is a module with `read(tree, node)`, which gives fields of `BlockDevice` or None when the device is not its
own; the first that answers decides. A new kind is one file and one entry in `KINDS`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from seekwise.linux import bcache, dm, loop, md, nvme, scsi, simple, sysfs, virtio
from seekwise.linux.block_device import BlockDevice
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree
from seekwise.linux.udev import UdevEntry, read_udev

KINDS = (md, dm, loop, bcache, nvme, virtio, simple, scsi)

FIELD_NAMES = {field.name for field in fields(BlockDevice)}


def read_device(tree: Tree, node: Node) -> BlockDevice:
    """Everything that sysfs and udev say of one device: what every kind has, then the first reader of a kind that knows
    it."""
    major_minor = tree.word(node.path("dev")) or ""
    udev = read_udev(tree, node.name, major_minor)
    queue = {} if node.disk else sysfs.queue(tree, node)
    facts: dict[str, Any] = {
        "name": node.name,
        "kind": "disk",
        "size_bytes": sysfs.size_bytes(tree, node),
        "major_minor": major_minor,
        "below": sysfs.slaves(tree, node),
        "queue": queue,
        "iosched": {} if node.disk else sysfs.iosched(tree, node),
        "read_only": tree.number(node.path("ro")) == 1,
        "rotational": {"0": False, "1": True}.get(queue.get("rotational", "").strip()),
        "write_cache": queue.get("write_cache"),
        "details": {},
    }
    own = _partition(tree, node) if node.disk else next((read for kind in KINDS if (read := kind.read(tree, node))), {})
    # What the queue reports wins over a kind's older source for the same fact.
    facts.update(
        {key: value for key, value in own.items() if value is not None and facts.get(key) in (None, {}, (), "disk")}
    )
    if not node.disk:
        _from_udev(facts, udev)
    if not major_minor and queue and (row := sysfs.reported(tree, node.name)):
        said = {
            "size_bytes": sysfs.lsblk_bytes(row.get("SIZE", "")),
            "model": row.get("MODEL"),
            "transport": row.get("TRAN"),
        }
        facts.update({key: value for key, value in said.items() if value and not facts.get(key)})
        if row.get("TYPE") in ("lvm", "crypt", "mpath"):
            facts["details"]["dm_name"] = row["NAME"]
    _common_details(tree, node, udev, facts["details"], queue)
    return BlockDevice(**{key: value for key, value in facts.items() if key in FIELD_NAMES})


def _partition(tree: Tree, node: Node) -> dict[str, object]:
    start = tree.number(node.path("start"))
    details = {"partition_number": tree.number(node.path("partition"))}
    if start is not None:
        details["start_bytes"] = start * sysfs.SECTOR_BYTES
    return {"kind": "partition", "below": (node.disk,), "details": details}


def _from_udev(facts: dict[str, object], udev: UdevEntry) -> None:
    """Fills what sysfs does not tell. For SCSI, udev's short serial is an address; the unit's serial has its own
    key."""
    physical = facts["kind"] in ("disk", "nvme", "virtio", "mmc", "optical", "xen", "pmem", "dasd")
    if not physical:
        return
    bus = udev.properties.get("ID_BUS")
    keys = ("ID_SCSI_SERIAL",) if bus == "scsi" else ("ID_SERIAL_SHORT", "ID_SCSI_SERIAL")
    if not facts.get("serial"):
        facts["serial"] = udev.first(*keys)
    full = udev.decoded("ID_MODEL_ENC") or udev.first("ID_MODEL")
    if full and (not facts.get("model") or (bus == "ata" and len(full) > len(str(facts["model"])))):
        facts["model"] = full
    revision = udev.first("ID_REVISION")
    if revision and len(revision) > len(str(facts.get("firmware") or "")):
        facts["firmware"] = revision
    if not facts.get("transport") and bus in ("ata", "usb"):
        facts["transport"] = "sata" if udev.properties.get("ID_ATA_SATA") == "1" else bus


def _common_details(tree: Tree, node: Node, udev: UdevEntry, details: dict[str, object], queue: dict[str, str]) -> None:
    filesystem = {
        name: value
        for name, key in (
            ("type", "ID_FS_TYPE"),
            ("label", "ID_FS_LABEL"),
            ("uuid", "ID_FS_UUID"),
            ("usage", "ID_FS_USAGE"),
        )
        if (value := udev.properties.get(key))
    }
    if filesystem:
        details["signature"] = filesystem
    if udev.links:
        details["links"] = sorted(f"/dev/{link}" for link in udev.links)
    for name, key in (("logical_block_size", "logical_block_bytes"), ("physical_block_size", "physical_block_bytes")):
        text = queue.get(name) or (queue.get("hw_sector_size") if name == "logical_block_size" else None)
        if text and text.isdigit():
            details[key] = int(text)
    if queue.get("zoned", "none") != "none":
        details["zoned"] = queue["zoned"]
    if tree.number(node.path("removable")):
        details["removable"] = True
    if tree.number(node.path("hidden")):
        details["hidden"] = True
    if node.disk is None and (count := len(tree.names(node.path("mq")))):
        details["hardware_queue_count"] = count
        tags = tree.number(node.path("mq/0/nr_tags"))
        if tags:
            details["hardware_tags"] = tags
