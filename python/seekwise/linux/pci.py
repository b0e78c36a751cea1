"""The PCI device above a disk: address, IDs, and the driver by which a storage controller is known."""

from __future__ import annotations

import re

from seekwise.linux.tree import Tree

ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

RAID_CLASS = "0x0104"
"""PCI class code 01 (mass storage), subclass 04 (RAID): PCI Code and ID Assignment specification."""


def pci_folder(folder: str | None) -> str | None:
    """The nearest PCI device at or above a device folder."""
    while folder and folder.startswith("/sys/devices/"):
        if ADDRESS.fullmatch(folder.rpartition("/")[2]):
            return folder
        folder = folder.rpartition("/")[0]
    return None


def pci_facts(tree: Tree, folder: str | None) -> dict[str, str]:
    """`pci_address`, `pci_driver`, `pci_id`, `pci_class` of the controller above `folder`; empty where there is
    none."""
    function = pci_folder(folder)
    if function is None:
        return {}
    vendor, device = tree.word(f"{function}/vendor"), tree.word(f"{function}/device")
    facts = {
        "pci_address": function.rpartition("/")[2],
        "pci_driver": tree.link(f"{function}/driver"),
        "pci_id": f"{vendor.removeprefix('0x')}:{device.removeprefix('0x')}" if vendor and device else None,
        "pci_class": tree.word(f"{function}/class"),
    }
    return {key: value for key, value in facts.items() if value is not None}
