"""Kinds of storage where settings mean something else, and what a RAID card says of itself."""

from __future__ import annotations

import pytest

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.document import devices_document
from seekwise.linux.stack import read_stack
from seekwise.linux.storage_kind import storage_kind
from seekwise.linux.warn import device_warnings

from .conftest import reconstruct

CARD = "pci0000:00/0000:00:03.0/0000:02:00.0"


@pytest.mark.parametrize(
    ("kind", "transport", "details", "expected"),
    [
        ("disk", "sata", {}, "local"),
        ("nvme", "nvme", {}, "local"),
        ("disk", "iscsi", {}, "san"),
        ("disk", "fc", {}, "san"),
        ("nvme", "nvme-tcp", {}, "san"),
        ("nbd", None, {}, "san"),
        ("disk", None, {"controller": {"driver": "3w-9xxx", "warning": "hidden"}}, "controller"),
        ("loop", None, {}, None),
    ],
)
def test_a_device_is_local_a_unit_of_a_controller_or_a_volume_of_a_san(kind, transport, details, expected):
    device = BlockDevice(name="sda", kind=kind, size_bytes=0, major_minor="8:0", transport=transport, details=details)
    assert storage_kind(device) == expected
    assert any("another machine (SAN" in text for text in (each.line for each in device_warnings(device))) == (
        expected == "san"
    )


def test_a_card_tells_driver_firmware_and_bus(builder):
    builder.pci(CARD, "megaraid_sas", "0x1000", "0x005d", "0x010400")
    for name, value in {
        "current_link_width": "4",
        "max_link_width": "8",
        "current_link_speed": "8.0 GT/s PCIe",
    }.items():
        path = builder.root / "sys/devices" / CARD / name
        path.write_text(value + "\n")
    facts = {"vendor": "AVAGO", "model": "MR9361-8i", "rev": "4.68", "queue_depth": "256", "state": "running"}
    place = builder.scsi(CARD, "0:2:0:0", facts, "megaraid_sas")
    builder.disk("sda", place, "8:0", 1000, reconstruct.QUEUE_MQ)
    module = builder.root / "sys/module/megaraid_sas"
    module.mkdir(parents=True)
    (module / "version").write_text("07.714.04.00-rc1\n")
    stack = read_stack(builder.root)
    unit = stack.devices["sda"].details["controller"]
    assert unit["bus"] == "PCI Express, 4 lanes of 8, 8.0 GT/s"
    assert unit["driver_version"] == "07.714.04.00-rc1"
    (row,) = [row for row in devices_document(stack).devices if row.name == "sda"]
    assert row.storage_kind == "controller"
