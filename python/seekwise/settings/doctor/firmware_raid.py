"""Firmware ("fake") RAID: who thinks it is hardware tunes the wrong place, or loses it with the mainboard."""

from collections.abc import Iterator

from seekwise.linux.warn import FIRMWARE_MEMBERS
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "firmware-raid"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Arrays of firmware RAID."""
    for device in machine.stack.devices.values():
        if "firmware_raid" in device.details and "container_of" not in device.details:
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"{device.name} is firmware RAID ({device.details['firmware_raid']}): Linux md moves the data",
                (f"/sys/block/{device.name}/md/metadata_version = {device.details.get('metadata')}",),
                (f"seekwise devices /dev/{device.name}",),
                "no cache and no processor of its own; tune its members like those of software RAID",
            )
        signature = device.details.get("signature")
        member = FIRMWARE_MEMBERS.get(str(signature.get("type"))) if isinstance(signature, dict) else None
        if member and not any(above.kind in ("md", "dmraid") for above in machine.stack.above(device.name)):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} carries metadata of firmware RAID ({member}), and no array is assembled from it",
                (f"udev: ID_FS_TYPE={signature['type']}",),  # type: ignore[index]
                ("mdadm --assemble --scan",),
                "writes to one member alone tear the mirror apart",
            )
