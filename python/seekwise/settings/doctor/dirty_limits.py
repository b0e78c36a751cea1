"""How much a copy may leave unwritten in memory, beside what the drive writes in that time: the first suspect when a
desktop freezes."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.facts import available_memory_bytes
from seekwise.linux.resolve import devices_of_mount
from seekwise.linux.tree import Tree
from seekwise.settings.doctor.check import DoctorFinding, Machine, is_local_disk, is_spinning

NAME = "dirty-limits"
WRITES_BYTES_PER_S = {"disk": 150e6, "usb": 30e6}
"""Sequential writing, roughly: the middle of a 7200 rpm disk (docs/reference/devices.md), a USB stick. Only the order
of magnitude counts."""
SECONDS_MOST = 10.0
"""A sync, an unmount or a program that saves waits this long for what others have written."""
BYTES_WISE = 256 * 2**20
"""What kernel developers suggest for slow media: a second or two of writing."""


def limit_bytes(tree: Tree) -> tuple[int, str] | None:
    """(bytes that may wait to be written before writers are stopped, the setting that says so), or None where it cannot
    be told."""
    if fixed := tree.number("/proc/sys/vm/dirty_bytes"):
        return fixed, f"/proc/sys/vm/dirty_bytes = {fixed}"
    ratio = tree.number("/proc/sys/vm/dirty_ratio")
    available = available_memory_bytes(tree)
    if ratio is None or available is None:
        return None
    # Free memory and the page cache can be dirtied, which MemAvailable comes close to (global_dirtyable_memory in
    # page-writeback.c).
    return ratio * available // 100, f"/proc/sys/vm/dirty_ratio = {ratio} (per cent of the available memory)"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives that need long to write what a copy may leave in memory."""
    set_bytes = limit_bytes(machine.tree)
    if set_bytes is None:
        return
    limit, said = set_bytes
    for device in written_to(machine):
        kind = "usb" if device.transport == "usb" else "disk"
        seconds = limit / WRITES_BYTES_PER_S[kind]
        if (kind == "disk" and not is_spinning(device)) or seconds < SECONDS_MOST:
            continue
        yield DoctorFinding(
            NAME,
            (device.name,),
            "look",
            f"a copy to {device.name} may leave {limit / 1e9:.1f} GB unwritten in memory, which takes about {seconds:.0f} s to write",
            (said, f"/sys/block/{device.name}/queue/rotational = {int(device.rotational or 0)}"),
            (
                f"sysctl -w vm.dirty_bytes={BYTES_WISE} vm.dirty_background_bytes={BYTES_WISE // 4}",
                f"seekwise tune /dev/{device.name} --for desktop --also dirty_bytes",
            ),
            "programs that save or start freeze until it is written, whatever the I/O scheduler",
        )


def written_to(machine: Machine) -> list[BlockDevice]:
    """Local drives below a file system that is mounted for writing."""
    devices: dict[str, BlockDevice] = {}
    for mount in machine.stack.mounts:
        todo = [] if mount.read_only else list(devices_of_mount(machine.stack, mount))
        while todo:
            device = machine.stack.devices[todo.pop()]
            todo += device.below
            if is_local_disk(device) and not device.below:
                devices[device.name] = device
    return list(devices.values())
