"""The whole machine: every block device, what it stands on, and the mounts.

    read_stack()                        the running machine
    read_stack(Path("captured.tar.gz")) a machine that someone sent

Only files are read, no program is run. What the kernel does not show stays None; what looks wrong becomes a warning.
Not modelled: tables of device-mapper mappings (root and an ioctl would be needed), pools of ZFS, drives behind hardware
RAID controllers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

from seekwise import bounds
from seekwise.errors import UsageError
from seekwise.linux.block_device import BlockDevice, Mount, Stack
from seekwise.linux.blockdev import read_device
from seekwise.linux.facts import kernel_release
from seekwise.linux.mounts import mount_of, read_mounts, read_swaps
from seekwise.linux.sysfs import block_nodes
from seekwise.linux.tree import Tree, open_tree
from seekwise.linux.warn import warnings


def read_stack(root: Path | Tree = Path("/")) -> Stack:
    """All block devices, their mounts and how they are stacked. `root`: `/`, a captured tree, or a capture's
    archive."""
    tree = open_tree(root)
    nodes = block_nodes(tree)
    if len(nodes) > bounds.CAPTURE_DEVICES and not tree.live:
        raise UsageError(
            f"{tree.root} is no captured machine: it has more than {bounds.CAPTURE_DEVICES:,} block devices",
            hint="make one with `seekwise capture FILE.tar.gz`",
        )
    devices = {name: read_device(tree, node) for name, node in sorted(nodes.items(), key=_natural)}
    mounts = read_mounts(tree)
    devices = _with_links(devices, read_links(tree))
    devices = {name: _known_below(device, devices) for name, device in devices.items()}
    # A loop's file can lie on another loop, so the devices must all be there first.
    for name, device in devices.items():
        if device.kind == "loop" and device.backing_file:
            devices[name] = _loop_on(device, devices, mounts)
        if container := device.details.get("container"):
            devices[name] = _volume_of(device, devices.get(str(container)))
    stack = Stack(
        devices=without_cycles(devices),
        mounts=mounts,
        root=tree.root,
        kernel=kernel_release(tree),
        swaps=read_swaps(tree),
        btrfs=read_btrfs(tree),
    )
    return replace(stack, warnings=warnings(stack))


def need_devices(stack: Stack, *, with_settings: bool = False) -> None:
    """UsageError where a captured machine holds no block device, or none with its settings."""
    if stack.root != Path("/") and not any(device.queue or not with_settings for device in stack.devices.values()):
        what = "a block device's settings (queue/)" if with_settings else "a block device"
        raise UsageError(f"{stack.root} holds nowhere {what}", hint="make one with `seekwise capture FILE.tar.gz`")


def _natural(item: tuple[str, object]) -> tuple[object, ...]:
    """sda before sdaa before sdb would be the letters' order; disks are counted: sda … sdz, sdaa."""
    name = item[0]
    letters = name.rstrip("0123456789")
    digits = name[len(letters) :]
    return (letters[:2], len(letters), letters, int(digits) if digits else -1)


def _known_below(device: BlockDevice, devices: dict[str, BlockDevice]) -> BlockDevice:
    """Keeps `below` to devices that exist: a capture may lack some, and a failed drive's name may be gone."""
    missing = [name for name in device.below if name not in devices]
    if not missing:
        return device
    return replace(
        device,
        below=tuple(name for name in device.below if name in devices),
        details={**device.details, "missing": missing},
    )


def _volume_of(device: BlockDevice, container: BlockDevice | None) -> BlockDevice:
    """A volume of firmware RAID says only which container it lies in; the container knows whose format it is."""
    if container is None or not (firmware := container.details.get("firmware_raid")):
        return device
    return replace(device, details={**device.details, "firmware_raid": firmware})


def _loop_on(device: BlockDevice, devices: dict[str, BlockDevice], mounts: tuple[Mount, ...]) -> BlockDevice:
    backing = device.backing_file or ""
    if backing.startswith("/dev/"):
        # A loop straight on a block device.
        for name in devices:
            if backing.removeprefix("/dev/") == name.replace("!", "/"):
                return replace(device, below=(name,))
    # The filesystem on the loop may be mounted over the very folder that holds its file.
    own = _numbers_upon(device.name, devices)
    mount = mount_of(tuple(mount for mount in mounts if mount.major_minor not in own), PurePosixPath(backing))
    if mount is None:
        return device
    details = {**device.details, "backing_filesystem": mount.filesystem, "backing_mount": str(mount.mount_point)}
    names = tuple(
        name for name, other in devices.items() if other.major_minor and other.major_minor == mount.major_minor
    )
    return replace(device, below=names, details=details)


def _numbers_upon(name: str, devices: dict[str, BlockDevice]) -> set[str]:
    """Device numbers of `name` and of everything that stands on it."""
    upon = {name}
    while more := {other.name for other in devices.values() if upon & set(other.below)} - upon:
        upon |= more
    return {devices[upper].major_minor for upper in upon} - {""}


def without_cycles(devices: dict[str, BlockDevice]) -> dict[str, BlockDevice]:
    """No kernel builds a stack that stands on itself, but a damaged tree can show one: the edge that closes it goes."""
    finished: set[str] = set()
    acyclic = dict(devices)

    def descend(name: str, path: tuple[str, ...]) -> None:
        # Deeper than any machine is: what lies below is left out.
        kept = (
            tuple(below for below in acyclic[name].below if below not in path) if len(path) < bounds.STACK_DEPTH else ()
        )
        if kept != acyclic[name].below:
            acyclic[name] = replace(acyclic[name], below=kept)
        for below in kept:
            if below not in finished:
                descend(below, (*path, below))
        finished.add(name)

    for name in devices:
        if name not in finished:
            descend(name, (name,))
    return acyclic


def read_links(tree: Tree) -> dict[str, set[str]]:
    """Links in `/dev` that lead to a block device, by the device's file name there."""
    folders = [f"/dev/disk/{name}" for name in tree.names("/dev/disk")] + ["/dev/mapper", "/dev/md"]
    links: dict[str, set[str]] = {}
    for folder in folders:
        for name in tree.names(folder):
            if target := tree.link(f"{folder}/{name}"):
                links.setdefault(target, set()).add(f"{folder}/{name}")
    return links


def _with_links(devices: dict[str, BlockDevice], links: dict[str, set[str]]) -> dict[str, BlockDevice]:
    linked = {}
    for name, device in devices.items():
        also = links.get(name.rpartition("!")[2], set())
        if also:
            known = {*device.links, *also}
            device = replace(device, details={**device.details, "links": sorted(known)})
        linked[name] = device
    return linked


def read_btrfs(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Members of each mounted btrfs filesystem: its superblock has a device number of its own, which names none of
    them."""
    return {
        uuid: tuple(members)
        for uuid in tree.names("/sys/fs/btrfs")
        if (members := tree.names(f"/sys/fs/btrfs/{uuid}/devices"))
    }
