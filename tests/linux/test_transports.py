"""How a drive is attached is read from its place below /sys/devices, or from its driver where the place does not tell."""

from __future__ import annotations

import pytest

from seekwise.linux.stack import read_stack

from .conftest import reconstruct

PCI = "pci0000:00/0000:00:1f.2"


@pytest.mark.parametrize(
    ("place", "driver", "vendor", "transport"),
    [
        (f"{PCI}/ata1/host0/target0:0:0/0:0:0:0", "ahci", "ATA", "sata"),
        (f"{PCI}/host0/target0:0:0/0:0:0:0", "ahci", "ATA", "sata"),
        (f"{PCI}/ata1/host0/target0:0:0/0:0:0:0", "ata_piix", "ATA", "ata"),
        (f"{PCI}/host4/port-4:0/end_device-4:0/target4:0:0/4:0:0:0", "mpt3sas", "SEAGATE", "sas"),
        (f"{PCI}/host4/port-4:0/expander-4:0/port-4:0:3/end_device-4:0:3/target4:0:3/4:0:3:0", "mpt3sas", "ATA", "sas"),
        (f"{PCI}/host7/rport-7:0-2/target7:0:0/7:0:0:1", "qla2xxx", "NETAPP", "fc"),
        ("platform/host9/session1/target9:0:0/9:0:0:1", "iscsi_tcp", "LIO-ORG", "iscsi"),
        (f"{PCI}/usb2/2-1/2-1:1.0/host8/target8:0:0/8:0:0:0", "usb-storage", "Generic", "usb"),
        (f"{PCI}/virtio2/host6/target6:0:0/6:0:0:0", "virtio_scsi", "QEMU", "virtio-scsi"),
        ("pseudo_0/adapter0/host5/target5:0:0/5:0:0:0", "scsi_debug", "Linux", "scsi-debug"),
        (f"{PCI}/host3/target3:0:0/3:0:0:0", "vmw_pvscsi", "VMware", "vmware"),
        (f"{PCI}/host2/target2:0:1/2:0:1:0", "megaraid_sas", "ATA", "sata"),
    ],
)
def test_transport(builder, place, driver, vendor, transport):
    address = place.rpartition("/")[2]
    above = place.split("/host")[0]
    builder.files(f"sys/devices/{place}", {"vendor": vendor, "model": "MODEL", "rev": "1", "queue_depth": "31"})
    builder.file(f"sys/bus/x/drivers/{driver}/bind", "")
    builder.link(f"sys/devices/{above}/driver", f"sys/bus/x/drivers/{driver}")
    builder.disk("sda", place, "8:0", 1000, reconstruct.QUEUE_MQ)
    device = read_stack(builder.root).devices["sda"]
    assert (device.transport, device.driver) == (transport, driver)
    assert device.details["scsi_address"] == address
    assert device.details.get("protocol") == ("sata" if vendor == "ATA" and transport == "sas" else None)
    assert ("ncq" in device.details) == (vendor == "ATA")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("xvda", "xen"),
        ("mmcblk0", "mmc"),
        ("drbd0", "drbd"),
        ("nbd3", "nbd"),
        ("rbd0", "rbd"),
        ("pmem0", "pmem"),
        ("zd16", "zvol"),
        ("dasda", "dasd"),
        ("hda", "disk"),
        ("sr0", "optical"),
        ("ram3", "ram"),
    ],
)
def test_kinds_that_a_name_tells(builder, name, kind):
    builder.disk(name, f"virtual/{name}", "250:0", 1000, {"scheduler": "none"})
    assert read_stack(builder.root).devices[name].kind == kind


def test_drbd_stands_on_its_disk(builder):
    builder.disk("sda", PCI, "8:0", 1000, reconstruct.QUEUE_MQ)
    place = builder.disk("drbd0", "virtual", "147:0", 1000, {})
    builder.link(f"{place}/slaves/sda", "sys/block/sda")
    assert [leaf.name for leaf in read_stack(builder.root).leaves("drbd0")] == ["sda"]


def test_nvme_of_an_old_kernel_has_its_controller_below_the_pci_device(builder):
    pci = "pci0000:00/0000:01:00.0"
    builder.pci(pci, "nvme", "0x144d", "0xa804", "0x010802")
    builder.files(f"sys/devices/{pci}/nvme/nvme0", {"model": "SSD 960", "serial": "S1", "firmware_rev": "2B6Q"})
    builder.disk("nvme0n1", pci, "259:0", 1000, {"scheduler": "none"})
    drive = read_stack(builder.root).devices["nvme0n1"]
    assert (drive.model, drive.serial, drive.firmware, drive.driver) == ("SSD 960", "S1", "2B6Q", "nvme")
    assert drive.details["pci_address"] == "0000:01:00.0"
