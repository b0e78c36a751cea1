"""Zoned drives (host-managed SMR) under a scheduler that does not keep writes of a zone in order."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.facts import kernel_version
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "zoned-without-order"
ZONE_WRITE_PLUGS = (6, 10)
"""Since Linux 6.10 the block layer itself keeps the writes of a zone in order (commit dd291d77cc90, zone write
plugging)."""


def is_disordered(device: BlockDevice, kernel: str | None) -> bool:
    """Whether neither the scheduler nor this kernel keeps the writes of a zone in order."""
    version = kernel_version(kernel)
    return (
        bool(version)
        and version < ZONE_WRITE_PLUGS
        and device.queue.get("zoned") == "host-managed"
        and device.scheduler not in (None, "mq-deadline")
    )


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Host-managed drives that need mq-deadline and do not have it."""
    for device in machine.drives():
        if not is_disordered(device, machine.stack.kernel):
            continue
        yield DoctorFinding(
            NAME,
            (device.name,),
            "wrong",
            f"{device.name} is host-managed SMR, and {device.scheduler} does not keep the writes of a zone in order",
            (f"/sys/block/{device.name}/queue/zoned = host-managed", f"/sys/block/{device.name}/queue/scheduler = {device.queue.get('scheduler', '')}"),
            (f"seekwise apply --device {device.name} --set scheduler=mq-deadline",),
            "writes out of order are refused by the drive (kernels before 6.10)",
        )  # fmt: skip
