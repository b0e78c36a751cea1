"""SCSI disks, which SATA, SAS, USB, FC and iSCSI drives, hypervisor disks and RAID controllers' units all are to Linux.

`/sys/block/sdX/device` leads to `H:C:T:L`. The transport is read from the way there through `/sys/devices`, because
the disk itself does not know it. Depth is `queue_depth`: for a SATA drive, 1 means that NCQ is not used and 31 or 32
that it is (31 on kernels before 4.19, whose libata kept one tag for itself).
"""

from __future__ import annotations

import re

from seekwise import drive_names
from seekwise.linux import ata, raid_controllers, sysfs
from seekwise.linux.pci import RAID_CLASS, pci_facts
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree

ADDRESS = re.compile(r"\d+:\d+:\d+:\d+")
UPPER_DRIVERS = frozenset({"sd", "sr", "st", "ses", "ch"})
"""Drivers of the SCSI device itself; the controller's is further up."""

TRANSPORTS = (
    (r"/ata\d+/", "sata"),
    (r"/usb\d+/", "usb"),
    (r"/rport-\d+:", "fc"),
    (r"/session\d+/", "iscsi"),
    (r"/(end_device|expander|sas_device|port)-\d+:", "sas"),
    (r"/virtio\d+/host\d+", "virtio-scsi"),
    (r"/adapter\d+/host\d+", "scsi-debug"),
    (r"/(vmbus|VMBUS)[^/]*/|/vmbus_\d+/", "hyper-v"),
    (r"/vbd-\d+|/xen/", "xen"),
    (r"/fw\d+", "firewire"),
)

TRANSPORT_OF_HOST = {
    # Hosts by their own name, for trees whose links are gone and for drivers without a transport class.
    "ahci": "sata", "ata_piix": "ata", "sata_nv": "sata", "sata_sil": "sata", "sata_sil24": "sata", "sata_mv": "sata",
    "sata_via": "sata", "sata_svw": "sata", "virtio_scsi": "virtio-scsi", "Virtio SCSI HBA": "virtio-scsi",
    "scsi_debug": "scsi-debug", "usb-storage": "usb", "uas": "usb", "iscsi_tcp": "iscsi", "storvsc": "hyper-v",
    "qla2xxx": "fc", "lpfc": "fc", "mpt2sas": "sas", "mpt3sas": "sas", "mptsas": "sas", "mptspi": "parallel-scsi",
    "sym53c8xx": "parallel-scsi", "aic79xx": "parallel-scsi", "aic7xxx": "parallel-scsi", "vmw_pvscsi": "vmware",
    "mptfc": "fc", "isci": "sas", "pm80xx": "sas", "mvsas": "sas",
}  # fmt: skip

PATA_DRIVERS = re.compile(r"pata_|ata_piix|ata_generic")


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """A SCSI or ATA disk, or the unit of a RAID controller; None for a device of another kind. Facts as `BlockDevice`
    takes them."""
    hardware = sysfs.hardware_path(tree, node)
    address = _address(tree, node, hardware)
    if node.disk or not (re.fullmatch(r"(sd[a-z]+|sr\d+)", node.name) or address):
        return None
    here = hardware or node.path("device")

    vendor, model, firmware = (tree.word(f"{here}/{name}") for name in ("vendor", "model", "rev"))
    host = f"/sys/class/scsi_host/host{address.split(':')[0]}" if address else None
    host_name = tree.word(f"{host}/proc_name") if host else None
    host_name = None if host_name == "<NULL>" else host_name
    above = sysfs.driver_above(tree, hardware, skip=UPPER_DRIVERS)
    driver = above[0] if above else host_name
    pci = pci_facts(tree, hardware)

    details: dict[str, object] = {"scsi_address": address, "scsi_host": host_name, **pci}
    is_ata = vendor == "ATA"
    transport = _transport(hardware, driver, host_name, is_ata)
    serial = vpd_serial(tree.bytes(f"{here}/vpd_pg80"))
    rpm = None
    if words := ata.identify(tree, hardware, address or ""):
        own = ata.identity(words)
        model, firmware, serial = own.model or model, own.firmware or firmware, own.serial or serial
        rpm = own.rotation_rpm
        details |= {"ncq_supported": own.ncq_supported, "ncq_depth": own.ncq_depth, "look_ahead": own.look_ahead}
        details["shingled"] = own.shingled
    elif vendor and not is_ata:
        model = f"{vendor} {model or ''}".strip()
    details["shingled"] = details.get("shingled") or drive_names.is_shingled(model) or None
    details["rotation_rpm"] = rpm
    details["protocol"] = "sata" if is_ata and transport not in ("sata", "ata") else None
    details["wwid"] = tree.word(f"{here}/wwid")
    details["device_state"] = tree.word(f"{here}/state")
    details["queue_type"] = tree.word(f"{here}/queue_type")
    details["cache_type"] = _cache_type(tree, here)

    depth = tree.number(f"{here}/queue_depth")
    facts: dict[str, object] = {
        "kind": "optical" if node.name.startswith("sr") else "disk",
        "driver": driver,
        "transport": transport,
        "queue_depth": depth,
        "model": model,
        "firmware": firmware,
        "serial": serial,
        "write_cache": details["cache_type"],
    }
    unit = raid_controllers.unit_of(tree, here, address, driver or host_name, vendor, model)
    if is_ata and unit is None and depth is not None:
        details["ncq"] = ncq(depth, details.get("ncq_supported"), details.get("ncq_depth"), driver)
    if port := re.search(r"/(ata\d+)/", hardware or ""):
        details["ata_port"] = port[1]
    if unit is not None:
        details["controller"] = {**unit, **raid_controllers.card_facts(tree, hardware, host, str(unit["driver"]))}
    elif pci.get("pci_class", "").startswith(RAID_CLASS) and driver == "ahci":
        details["raid_mode"] = "the SATA controller is set to RAID in its firmware; members are still seen one by one"
    return {**facts, "details": {key: value for key, value in details.items() if value is not None}}


def _address(tree: Tree, node: Node, hardware: str | None) -> str | None:
    name = (hardware or "").rpartition("/")[2]
    if ADDRESS.fullmatch(name):
        return name
    # A tree copied without its links still has the address as a folder's name.
    for folder in ("device/scsi_disk", "device/scsi_device"):
        for entry in tree.names(node.path(folder)):
            if ADDRESS.fullmatch(entry):
                return entry
    for entry in tree.names(node.path("device")):
        if match := re.fullmatch(r"scsi_(?:disk|device):(\d+:\d+:\d+:\d+)", entry):
            return match[1]
    return None


def _transport(hardware: str | None, driver: str | None, host_name: str | None, is_ata: bool) -> str | None:
    for pattern, transport in TRANSPORTS:
        if re.search(pattern, f"{hardware or ''}/"):
            if transport == "sata" and PATA_DRIVERS.match(driver or ""):
                # ata_piix drives both parallel and serial ports and sysfs does not say which.
                return "ata"
            return transport
    for name in (driver, host_name):
        if name in TRANSPORT_OF_HOST:
            return TRANSPORT_OF_HOST[name]
    if not is_ata:
        return None
    return "ata" if PATA_DRIVERS.match(driver or "") else "sata"


NO_NCQ_DRIVERS = {
    # libata drivers without ATA_FLAG_NCQ (Linux v6.1 drivers/ata), and what it takes to get NCQ.
    "ata_piix": "ata_piix runs the controller in IDE mode, which has no NCQ: choose AHCI in the firmware setup",
    "ata_generic": "ata_generic runs the controller in IDE mode, which has no NCQ: choose AHCI in the firmware setup",
    "sata_sil": "the controller of sata_sil (SiI 3112/3114) has no NCQ",
    "sata_via": "the controller of sata_via has no NCQ",
    "sata_svw": "the driver sata_svw has no NCQ",
    "sata_uli": "the driver sata_uli has no NCQ",
    "sata_sis": "the driver sata_sis has no NCQ",
    "sata_promise": "the driver sata_promise has no NCQ",
}


def ncq(depth: int, supported: object, offered: object = None, driver: str | None = None) -> dict[str, object]:
    """Whether the drive is given several commands at once, and why not.

    `used_of_offered` in the kernel's own form: `31/32` in use, `0/32` offered and off, `none` not offered.
    """
    most = offered if isinstance(offered, int) else None
    if depth > 1:
        of = f"{depth}/{most}" if most else str(depth)
        return {"state": "on", "text": f"NCQ on, up to {depth} commands at the drive", "used_of_offered": of}
    if supported is False:
        return {"state": "unsupported", "text": "no NCQ: the drive does not offer it", "used_of_offered": "none"}
    cause = NO_NCQ_DRIVERS.get(driver or "") or (
        f"the driver {driver} is for parallel ATA, which has no NCQ" if PATA_DRIVERS.match(driver or "") else None
    )
    state: dict[str, object] = {"state": "off", "used_of_offered": f"0/{most}" if most else "0"}
    if cause:
        state |= {"text": f"NCQ off: {cause}", "cause": cause}
    elif supported:
        state["text"] = "NCQ off: the drive could take more, queue_depth is 1"
    else:
        state["text"] = "one command at a time: NCQ is switched off, or drive or controller lacks it"
    return state


def vpd_serial(page: bytes | None) -> str | None:
    """Unit serial number, vital product data page 80h (SPC-4): four bytes of header, then text."""
    if not page or len(page) < 5 or page[1] != 0x80:
        return None
    length = int.from_bytes(page[2:4], "big")
    return page[4 : 4 + length].decode("ascii", "replace").strip("\0 ") or None


def _cache_type(tree: Tree, here: str) -> str | None:
    """`cache_type` of the sd driver, as the drive reports it; kernels before 4.7 have no `queue/write_cache`."""
    for entry in tree.names(f"{here}/scsi_disk"):
        if text := tree.word(f"{here}/scsi_disk/{entry}/cache_type"):
            return text
    for entry in tree.names(here):
        if entry.startswith("scsi_disk:") and (text := tree.word(f"{here}/{entry}/cache_type")):
            return text
    return None
