"""Kinds that need no more than their name: memory, network and test devices, and controllers' own block drivers.

One row per kind. Names are the kernel's (Documentation/admin-guide/devices.txt).
"""

from __future__ import annotations

import re

from seekwise.linux import raid_controllers, sysfs
from seekwise.linux.pci import pci_facts
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree

KINDS = (
    # pattern, kind, transport, driver
    (r"zram\d+", "zram", "memory", "zram"),
    (r"ram\d+", "ram", "memory", "brd"),
    (r"pmem\d+s?", "pmem", "memory", "nd_pmem"),
    (r"nbd\d+", "nbd", "network", "nbd"),
    (r"rbd\d+", "rbd", "network", "rbd"),
    (r"drbd\d+", "drbd", "network", "drbd"),
    (r"nullb\d+", "null", "memory", "null_blk"),
    (r"ublkb\d+", "ublk", None, "ublk_drv"),
    (r"zd\d+", "zvol", None, "zfs"),
    (r"xvd[a-z]+", "xen", "xen", "xen-blkfront"),
    (r"mmcblk\d+(boot\d+|rpmb|gp\d+)?", "mmc", "mmc", "mmcblk"),
    (r"mtdblock\d+", "mtd", None, "mtdblock"),
    (r"dasd[a-z]+", "dasd", "ccw", "dasd"),
    (r"hd[a-z]", "disk", "ata", "ide"),
    (r"fd\d+", "floppy", None, "floppy"),
    (r"aoe|etherd!e.*", "aoe", "network", "aoe"),
    (r"cciss!c\d+d\d+", "disk", None, "cciss"),
    (r"ida!c\d+d\d+", "disk", None, "cpqarray"),
    (r"rd!c\d+d\d+", "disk", None, "DAC960"),
    (r"i2o!hd[a-z]+", "disk", None, "i2o_block"),
)


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """Devices that a name alone tells: zram, nbd, rbd, eMMC, floppy, units of old RAID controllers; None for a device
    of another kind. Facts as `BlockDevice` takes them."""
    row = next((row for row in KINDS if re.fullmatch(row[0], node.name)), None)
    if node.disk or row is None:
        return None
    _, kind, transport, driver = row
    hardware = sysfs.hardware_path(tree, node)
    here = hardware or node.path("device")
    vendor, model = tree.word(f"{here}/vendor"), tree.word(f"{here}/model") or tree.word(f"{here}/name")
    details: dict[str, object] = dict(pci_facts(tree, hardware))
    if unit := raid_controllers.unit_of(tree, here, None, driver, vendor, model):
        details["controller"] = unit
    for name in ("comp_algorithm", "backing_dev", "pid", "pool", "image"):
        if value := tree.word(node.path(name)):
            details[name] = value
    return {
        "kind": kind,
        "transport": transport,
        "driver": driver,
        "below": sysfs.slaves(tree, node),
        "model": f"{vendor or ''} {model}".strip() if model and not (vendor or "").startswith("0x") else model,
        "firmware": tree.word(f"{here}/rev") or tree.word(f"{here}/fwrev"),
        "serial": tree.word(f"{here}/serial") or tree.word(f"{here}/unique_id"),
        "details": details,
    }
