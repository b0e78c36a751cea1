"""Zoned drives (host-managed SMR) under a scheduler that does not keep writes of a zone in order."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.facts import kernel_version
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "zoned-without-order"
ZONE_WRITE_PLUGS = (6, 10)
"""Since Linux 6.10 the block layer itself keeps the writes of a zone in order (commit dd291d77cc90, zone write
plugging)."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Host-managed drives that need mq-deadline and do not have it."""
    version = kernel_version(machine.stack.kernel)
    if not version or version >= ZONE_WRITE_PLUGS:
        return
    for device in machine.drives():
        if device.queue.get("zoned") != "host-managed" or device.scheduler in (None, "mq-deadline"):
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
