"""What schedules requests above a drive's own queue, or stands for several paths to one drive."""

from __future__ import annotations

from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.tree import Tree
from seekwise.linux.udev import read_udev


def zfs_members(tree: Tree, stack: Stack) -> frozenset[str]:
    """Drives that ZFS uses, whole or by a partition, as udev found them: ZFS sorts and limits requests itself (zfs(4),
    ZFS I/O scheduler)."""
    members = set()
    for device in stack.devices.values():
        if read_udev(tree, device.name, device.major_minor).properties.get("ID_FS_TYPE") == "zfs_member":
            members |= {leaf.name for leaf in stack.leaves(device.name)}
    return frozenset(members)


def is_path(stack: Stack, device: BlockDevice) -> bool:
    """Whether the device is one path to a LUN that a multipath map stands for."""
    return any(above.kind == "multipath" for above in stack.above(device.name)) or bool(
        device.details.get("hidden_path")
    )


def drives_with_data(stack: Stack, name: str) -> int:
    """Drives below a device, the paths to one LUN counted once; at least one."""
    drives = set()
    for leaf in stack.drives(name):
        maps = [
            above.name
            for above in stack.above(leaf.name)
            if above.kind == "multipath" or above.details.get("native_multipath")
        ]
        drives.add(maps[0] if maps else leaf.name)
    return max(1, len(drives))
