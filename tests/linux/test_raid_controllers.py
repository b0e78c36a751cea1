"""Hardware RAID: each controller by its driver, and units told from drives that are passed through."""

from __future__ import annotations

import pytest

from seekwise.linux.stack import read_stack

from .conftest import reconstruct

CARD = "pci0000:00/0000:00:03.0/0000:02:00.0"


@pytest.fixture
def controller_of(builder):
    def build(driver, address, vendor, model, **extra):
        builder.pci(CARD, driver, "0x1000", "0x005d", "0x010400")
        facts = {"vendor": vendor, "model": model, "rev": "1.0", "queue_depth": "64", "state": "running", **extra}
        place = builder.scsi(CARD, address, facts, driver.replace("-", "_") if driver.startswith("smart") else driver)
        builder.disk("sda", place, "8:0", 1000, reconstruct.QUEUE_MQ)
        return read_stack(builder.root).devices["sda"]

    return build


@pytest.mark.parametrize(
    ("driver", "address", "vendor", "model", "extra"),
    [
        ("3w-xxxx", "0:0:0:0", "3ware", "Logical Disk 0", {}),
        ("3w-9xxx", "0:0:0:0", "AMCC", "9550SX-8LP DISK", {}),
        ("3w-sas", "0:0:0:0", "LSI", "9750-4i    DISK", {}),
        ("megaraid_sas", "0:2:0:0", "DELL", "PERC H730P Mini", {}),
        ("megaraid_mbox", "0:4:0:0", "MegaRAID", "LD 0 RAID5  419G", {}),
        ("mpt3sas", "0:1:0:0", "LSI", "Logical Volume", {}),
        ("mptsas", "0:1:0:0", "Dell", "VIRTUAL DISK", {}),
        ("mpi3mr", "0:1:0:0", "BROADCOM", "MR9660-16i", {}),
        ("mptspi", "0:0:0:0", "LSILOGIC", "Logical Volume", {}),
        ("hpsa", "0:1:0:0", "HP", "LOGICAL VOLUME", {"raid_level": "RAID 1(+0)"}),
        ("hpsa", "0:0:0:1", "HP", "LOGICAL VOLUME", {}),
        ("smartpqi", "1:1:0:0", "ADAPTEC", "vol1", {"raid_level": "RAID-5"}),
        ("aacraid", "0:0:0:0", "Adaptec", "array1", {}),
        ("arcmsr", "0:0:0:0", "Areca", "ARC-1680-VOL#00", {}),
        ("ips", "0:0:0:0", "IBM", "SERVERAID", {}),
    ],
)
def test_logical_units_are_told_and_warned_about(controller_of, driver, address, vendor, model, extra):
    unit = controller_of(driver, address, vendor, model, **extra)
    assert unit.driver == driver
    assert unit.details["controller"]["driver"] == driver
    assert "hidden" in unit.details["controller"]["warning"]
    assert driver in unit.details["controller"]["warning"]


@pytest.mark.parametrize(
    ("driver", "address", "vendor", "model", "extra"),
    [
        ("megaraid_sas", "0:0:7:0", "ATA", "ST4000NM0033-9ZM", {}),
        ("mpt3sas", "0:0:3:0", "SEAGATE", "ST4000NM0023", {}),
        ("mpi3mr", "0:0:3:0", "SEAGATE", "ST18000NM004J", {}),
        ("hpsa", "0:0:5:0", "ATA", "MB4000GCWDC", {"raid_level": "N/A"}),
        ("smartpqi", "1:0:2:0", "ATA", "MB008000GWWQU", {"raid_level": "N/A"}),
        ("aacraid", "0:1:4:0", "ATA", "ST4000NM0033", {}),
        ("ahci", "0:0:0:0", "ATA", "ST4000NM0033", {}),
    ],
)
def test_drives_passed_through_are_not_called_units(controller_of, driver, address, vendor, model, extra):
    drive = controller_of(driver, address, vendor, model, **extra)
    assert "controller" not in drive.details
    assert drive.driver == driver


def test_the_raid_class_of_the_kernel_settles_it(builder):
    builder.pci(CARD, "mpt3sas", "0x1000", "0x0072", "0x010700")
    facts = {"vendor": "DELL", "model": "Virtual Disk", "rev": "1028", "queue_depth": "64"}
    place = builder.scsi(CARD, "2:1:0:0", facts, "mpt3sas")
    builder.disk("sdb", place, "8:16", 1000, reconstruct.QUEUE_MQ)
    builder.file("sys/class/raid_devices/2:1:0:0/level", "raid1")
    unit = read_stack(builder.root).devices["sdb"]
    assert unit.details["controller"]["level"] == "raid1"


def test_a_raid_chip_behind_a_sata_port_is_known_by_its_model(controller_of):
    unit = controller_of("ahci", "0:0:0:0", "ATA", "DELLBOSS VD")
    assert unit.details["controller"]["driver"] == "ahci"


def test_ahci_in_raid_mode_is_noted_but_hides_nothing(controller_of):
    drive = controller_of("ahci", "0:0:0:0", "ATA", "ST1000DM003")
    assert "one by one" in drive.details["raid_mode"]
