"""A write cache that is off on a lone hard disk, and one that the kernel no longer flushes."""

from collections.abc import Iterator

from seekwise.control import lines
from seekwise.settings.doctor.check import DoctorFinding, Machine, is_spinning

NAME = "write-cache"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Write caches that are off, or no longer flushed."""
    for device in machine.drives():
        kernel = device.queue.get("write_cache")
        address = device.details.get("scsi_address")
        inside = f"device/scsi_disk/{address}/cache_type" if address else "cache_type"
        file = f"/sys/block/{device.name}/{inside}"
        drive = machine.tree.word(file)
        if kernel == "write through" and drive in ("write back", "write back, no read (daft)"):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} caches writes, and the kernel has been told not to flush them",
                (f"/sys/block/{device.name}/queue/write_cache = {kernel}", f"{file} = {drive}"),
                (lines.echo("write back", f"/sys/block/{device.name}/queue/write_cache"),),
                "a power cut can lose data that fsync has promised",
            )
        elif is_spinning(device) and drive in ("write through", "none"):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"the write cache of the hard disk {device.name} is off",
                (f"{file} = {drive}",),
                (f"seekwise apply --device {device.name} --set write_cache='write back'",),
                "each write waits for the platter; right where nothing flushes, slow with file systems that do",
            )
