"""Requests of 4 MiB on a SATA SSD, the default from 6.17 on, which some of them take badly."""

from collections.abc import Iterator

from seekwise.linux.facts import kernel_version
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "large-requests"
BEFORE_KIB = 1280
"""max_sectors_kb of kernels before 6.17, where the drive allows it."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """SATA SSDs whose kernel sends larger requests than those before it."""
    if kernel_version(machine.stack.kernel) < (6, 17):
        return
    for device in machine.drives():
        own = device.queue.get("max_sectors_kb", "")
        if device.transport == "sata" and not device.rotational and own.isdigit() and int(own) > BEFORE_KIB:
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"{device.name} gets requests of up to {own} KiB, since Linux 6.17; it was {BEFORE_KIB} KiB before",
                (f"/sys/block/{device.name}/queue/max_sectors_kb = {own}",),
                (f"seekwise apply --device {device.name} --set max_sectors_kb={BEFORE_KIB}",),
                "if large reads became slower with 6.17, try it: on one SATA SSD eight readers of 2 MiB fell from 266 to 108 a second "
                "(lkp 202508110626, August 2025); the simulator does not know this",
            )
