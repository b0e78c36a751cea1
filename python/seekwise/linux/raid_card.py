"""What a RAID card says of itself in sysfs: driver version, firmware, host bus. Memory and mode are known to its own
tool only."""

from __future__ import annotations

from seekwise.linux.pci import pci_folder
from seekwise.linux.tree import Tree

# Attributes of the SCSI host:
# drivers/scsi/{megaraid/megaraid_sas_base,hpsa,smartpqi/smartpqi_init,mpt3sas/mpt3sas_ctl,arcmsr/arcmsr_attr}.c
FIRMWARE = ("fw_version", "firmware_revision", "firmware_version", "version_fw", "host_fw_version")


def card_facts(tree: Tree, hardware: str | None, host: str | None, driver: str) -> dict[str, str]:
    """`driver_version`, `firmware`, `bus` where they can be read."""
    module = driver.replace("-", "_")
    facts = {"driver_version": tree.word(f"/sys/module/{module}/version"), "bus": _bus(tree, hardware)}
    if host:
        facts["firmware"] = next(filter(None, (tree.word(f"{host}/{name}") for name in FIRMWARE)), None)
    return {name: value for name, value in facts.items() if value}


def _bus(tree: Tree, hardware: str | None) -> str | None:
    """`PCI Express, 4 lanes of 8, 8.0 GT/s`: current of possible lanes."""
    card = pci_folder(hardware)
    if card is None:
        return None
    width, widest = (tree.word(f"{card}/{name}_link_width") for name in ("current", "max"))
    speed = tree.word(f"{card}/current_link_speed")
    if not width or width == "0":
        return None
    lanes = f"{width} lanes of {widest}" if widest and widest != width else f"{width} lane{'s' if width != '1' else ''}"
    # The attribute reads `8.0 GT/s PCIe` since 5.x and `8 GT/s` before (drivers/pci/pci-sysfs.c).
    return f"PCI Express, {lanes}" + (f", {speed.removesuffix(' PCIe')}" if speed and speed != "Unknown" else "")
