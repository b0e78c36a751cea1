"""Hardware RAID controllers, known by their driver, and whether a disk is one of their logical units.

Behind such a controller Linux sees units, not drives: scheduler, depth and read-ahead act on the whole unit, and level,
chunk and members are known to the controller's own tool only. Many controllers also pass single drives through, so
each driver has its own way of telling a unit from a drive.

Sources, as facts: the drivers' own conventions in Linux v6.1, named per row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from seekwise.linux.pci import pci_folder
from seekwise.linux.tree import Tree


@dataclass(frozen=True)
class ScsiDisk:
    """What a rule may look at."""

    vendor: str
    model: str
    channel: int | None
    raid_level: str | None
    """The `raid_level` attribute that hpsa, smartpqi and aacraid give each of their disks."""


def _always(seen: ScsiDisk) -> bool:
    return True


def _channel_from_2(seen: ScsiDisk) -> bool:
    # drivers/scsi/megaraid/megaraid_sas.h: the first two channels carry physical drives (MEGASAS_MAX_PD_CHANNELS).
    return seen.channel is None or seen.channel >= 2


def _level_attribute(seen: ScsiDisk) -> bool:
    if seen.raid_level is not None:
        return seen.raid_level.upper() not in ("N/A", "")
    return "LOGICAL VOLUME" in seen.model.upper()


def _volume_model(seen: ScsiDisk) -> bool:
    return any(words in seen.model.upper() for words in ("LOGICAL VOLUME", "VIRTUAL DISK"))


def _fusion_volume(seen: ScsiDisk) -> bool:
    # drivers/scsi/mpt3sas/mpt3sas_base.h (RAID_CHANNEL) and drivers/message/fusion/mptsas.h (MPTSAS_RAID_CHANNEL):
    # volumes sit on channel 1, drives on 0.
    return seen.channel == 1 or _volume_model(seen)


def _container(seen: ScsiDisk) -> bool:
    # drivers/scsi/aacraid/aacraid.h: channel 0 carries containers (CONTAINER_CHANNEL), higher ones drives.
    return seen.channel in (None, 0)


def _named_volume(seen: ScsiDisk) -> bool:
    return "-VOL#" in seen.model or seen.vendor.lower() == "areca"


VOLUME_VENDORS = frozenset(
    ["BROADCOM", "AVAGO", "LSI", "DELL", "LENOVO", "FTS", "FUJITSU", "SUPERMICRO", "INTEL", "CISCO", "HPE", "IBM"]
)
"""Names that controller makers and those who sell their cards write on virtual disks; drives carry their own
maker's."""


def _maker_volume(seen: ScsiDisk) -> bool:
    return seen.vendor.upper() in VOLUME_VENDORS


@dataclass(frozen=True)
class Controller:
    driver: str
    family: str
    is_unit: Callable[[ScsiDisk], bool]
    tool: str


CONTROLLERS = {
    row.driver.replace("-", "_"): row
    for row in (
        Controller("3w-xxxx", "3ware 6000 to 8000", _always, "tw_cli"),
        Controller("3w-9xxx", "3ware 9000", _always, "tw_cli"),
        Controller("3w-sas", "LSI 3ware 9750", _always, "tw_cli"),
        Controller("megaraid_sas", "LSI/Broadcom MegaRAID SAS", _channel_from_2, "storcli"),
        Controller("megaraid_mbox", "LSI MegaRAID (mailbox)", _always, "megarc"),
        Controller("megaraid_legacy", "AMI/LSI MegaRAID (legacy)", _always, "megarc"),
        Controller("megaraid", "AMI/LSI MegaRAID (legacy)", _always, "megarc"),
        Controller("mpi3mr", "Broadcom MegaRAID 9600", _maker_volume, "storcli2"),
        Controller("mpt3sas", "LSI/Broadcom Fusion-MPT SAS, integrated RAID", _fusion_volume, "sas3ircu"),
        Controller("mpt2sas", "LSI Fusion-MPT SAS 2, integrated RAID", _fusion_volume, "sas2ircu"),
        Controller("mptsas", "LSI Fusion-MPT SAS 1, integrated RAID", _fusion_volume, "mpt-status"),
        Controller("mptspi", "LSI Fusion-MPT SPI, integrated RAID", _volume_model, "mpt-status"),
        Controller("hpsa", "HP/HPE Smart Array", _level_attribute, "ssacli"),
        Controller("cciss", "HP Smart Array (block driver)", _always, "ssacli"),
        Controller("cpqarray", "Compaq Smart Array", _always, "ssacli"),
        Controller(
            "smartpqi", "Microchip/Adaptec SmartRAID, HPE Smart Array Gen10", _level_attribute, "arcconf or ssacli"
        ),
        Controller("aacraid", "Adaptec/Microsemi", _container, "arcconf"),
        Controller("arcmsr", "Areca", _named_volume, "areca-cli"),
        Controller("ips", "IBM ServeRAID", _always, "ipssend"),
        Controller("ipr", "IBM Power RAID", lambda seen: seen.model.upper().startswith("IPR-"), "iprconfig"),
        Controller("pmcraid", "PMC MaxRAID", _always, "pmcraid tools"),
        Controller("hptiop", "HighPoint RocketRAID 3xxx/4xxx", _always, "hptraidconf"),
        Controller("stex", "Promise SuperTrak", _always, "the maker's tool"),
        Controller("gdth", "ICP Vortex / Intel GDT", _always, "icpcon"),
        Controller("dpt_i2o", "Adaptec I2O / DPT", _always, "raidutil"),
        Controller("DAC960", "Mylex DAC960", _always, "the controller's BIOS"),
        Controller("myrb", "Mylex DAC960 (block interface)", _always, "the controller's BIOS"),
        Controller("myrs", "Mylex DAC960 (SCSI interface)", _always, "the controller's BIOS"),
        Controller("mvumi", "Marvell 88RC9580", _always, "mvcli"),
        Controller(
            "esas2r", "ATTO ExpressSAS RAID", lambda seen: seen.vendor.upper().startswith("ATTO"), "the maker's tool"
        ),
    )
}

AHCI_UNITS = re.compile(
    r"DELLBOSS|DELL BOSS|MARVELL (Virtual|Raid VD)|Marvell.*VD|ASMT.*(RAID|ASM10)|JMicron.*RAID", re.IGNORECASE
)
"""Small RAID chips that pretend to be one SATA drive; only the model string gives them away."""


def unit_of(
    tree: Tree, folder: str, address: str | None, driver: str | None, vendor: str | None, model: str | None
) -> dict[str, object] | None:
    """The controller and what hides behind it, when the disk is a logical unit of one; otherwise None."""
    level = tree.word(f"{folder}/raid_level")
    if driver in (None, "ahci") and AHCI_UNITS.search(model or ""):
        return _described("ahci", "RAID chip behind a SATA port", "the maker's tool", level)
    # Modules are named with `_`, their drivers and hosts often with `-`.
    row = CONTROLLERS.get((driver or "").replace("-", "_"))
    if row is None:
        return None
    channel = int(address.split(":")[1]) if address else None
    level = level or _raid_class_level(tree, address)
    seen = ScsiDisk(vendor or "", model or "", channel, level)
    # A level the kernel's raid class knows settles it: only volumes are in that class.
    if not row.is_unit(seen) and not _raid_class_level(tree, address):
        return None
    return _described(row.driver, row.family, row.tool, level)


def _raid_class_level(tree: Tree, address: str | None) -> str | None:
    return tree.word(f"/sys/class/raid_devices/{address}/level") if address else None


def _described(driver: str, family: str, tool: str, level: str | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "driver": driver,
        "family": family,
        "tool": tool,
        "members_hidden": True,
        "warning": f"hardware RAID ({family}, driver {driver}): its member drives are hidden, "
        f"settings act on the logical unit; level, chunk and members are known to {tool}",
    }
    if level:
        facts["level"] = level
    return facts


# Attributes of the SCSI host:
# drivers/scsi/{megaraid/megaraid_sas_base,hpsa,smartpqi/smartpqi_init,mpt3sas/mpt3sas_ctl,arcmsr/arcmsr_attr}.c
FIRMWARE = ("fw_version", "firmware_revision", "firmware_version", "version_fw", "host_fw_version")


def card_facts(tree: Tree, hardware: str | None, host: str | None, driver: str) -> dict[str, str]:
    """What a card says of itself in sysfs: `driver_version`, `firmware`, `bus`. Memory and mode are known
    to its own tool only."""
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
