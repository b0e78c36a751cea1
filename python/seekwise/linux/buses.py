"""What the buses of drives carry at most."""

from __future__ import annotations

from collections.abc import Mapping

BUS_BYTES_PER_S: Mapping[str, tuple[float, str]] = {
    "sata": (600e6, "SATA 6 Gb/s"),
    "ata": (600e6, "SATA 6 Gb/s"),
    "sas": (2.4e9, "SAS 22.5 Gb/s"),
    "usb": (4.8e9, "USB 40 Gb/s"),
    "nvme": (15.8e9, "PCIe 5.0 x4"),
}
"""{transport: (bytes/s of its fastest generation, its name)}: 8b/10b and 128b/130b coding taken off."""
FASTEST = (15.8e9, "PCIe 5.0 x4, the fastest bus of one drive")
