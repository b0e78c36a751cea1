"""Read-ahead of tens of MiB that a USB bridge, a virtual disk or an image's rule has brought about."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.facts import kernel_version
from seekwise.linux.members import drives_with_data, is_path
from seekwise.settings.doctor.check import DoctorFinding, Machine
from seekwise.settings.values import READ_AHEAD_KIB, read_ahead_kib, read_ahead_reason

NAME = "read-ahead-absurd"
MOST_KIB = 16 * 1024
"""A disk of 2026 reads 300 MB/s: 16 MiB take it 55 ms, four times a seek with its half revolution. More gains a stream
less than 20 % and makes other requests wait as long. Of an array, for each drive with data."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Devices whose read-ahead is above 16 MiB per drive with data, and who sets it."""
    stack = machine.stack
    for device in stack.devices.values():
        text = device.queue.get("read_ahead_kb", "")
        drives = drives_with_data(stack, device.name)
        # A partition, a path below multipath and a member read ahead by the device above them.
        if not text.isdigit() or int(text) <= MOST_KIB * drives or not device.size_bytes or device.kind == "partition":
            continue
        if is_path(stack, device):
            continue  # the map above reads ahead, and its paths lead to one drive
        own, version = int(text), kernel_version(stack.kernel)
        giving = [
            setter
            for setter in machine.who.setters
            if (setter.device, setter.attribute) == (device.name, "queue/read_ahead_kb") and setter.gives(text)
        ]
        usual = max(READ_AHEAD_KIB, read_ahead_kib(device, version))
        if giving:
            origin = f"set by {giving[-1].text}"
        elif usual == own:
            origin = f"the kernel's default: {read_ahead_reason(device, version)}"
        else:
            origin = f"none of the places that were read sets it; the kernel's default is {usual} KiB"
        better = READ_AHEAD_KIB if usual > MOST_KIB * drives else usual
        if device.rotational and better == READ_AHEAD_KIB:
            better = 4096
        yield DoctorFinding(
            NAME,
            (device.name,),
            "look",
            f"{device.name} reads {own // 1024} MiB ahead, more than any stream gains from; {origin}",
            (
                f"/sys/block/{device.name}/queue/read_ahead_kb = {own}",
                f"/sys/block/{device.name}/queue/optimal_io_size = {device.queue.get('optimal_io_size', '?')}",
            ),
            (f"seekwise apply --device {device.name} --set read_ahead_kb={better}",),
            "other programs wait for a request of that size, and pages of mapped files are read in such pieces",
        )
