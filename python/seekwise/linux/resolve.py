"""From a path or a device's name to the devices whose settings decide about it.

A folder lies on a mount, the mount on one device (several with btrfs), and that on drives at the bottom: the leaves.
Each setting acts in one place only, which `ResolvedPath.devices_for` knows.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from seekwise.errors import RefusedError, UsageError
from seekwise.linux.block_device import BlockDevice, Mount, Stack
from seekwise.linux.mounts import mount_of

NOT_ON_A_DEVICE = {
    # filesystem: what it is, in words that end "… lies on"
    "rootfs": "the initial RAM file system, which is memory",
    "tmpfs": "tmpfs, which is memory",
    "ramfs": "ramfs, which is memory",
    "devtmpfs": "devtmpfs, which is memory",
    "overlay": "an overlay of other folders",
    "overlayfs": "an overlay of other folders",
    "aufs": "a union of other folders",
    "ecryptfs": "eCryptfs, which is layered over another folder",
    "nfs": "NFS (NAS), whose disks are in another machine",
    "nfs4": "NFS (NAS), whose disks are in another machine",
    "cifs": "SMB (NAS), whose disks are in another machine",
    "smb3": "SMB (NAS), whose disks are in another machine",
    "ceph": "CephFS, whose disks are in other machines",
    "glusterfs": "GlusterFS, whose disks are in other machines",
    "lustre": "Lustre, whose disks are in other machines",
    "afs": "AFS, whose disks are in another machine",
    "9p": "9p, a folder of the host of this virtual machine",
    "virtiofs": "virtiofs, a folder of the host of this virtual machine",
    "vboxsf": "a shared folder of the host of this virtual machine",
    "zfs": "ZFS, whose pool members the kernel does not show in sysfs",
    "squashfs": "squashfs, which cannot be written",
    "iso9660": "ISO 9660, which cannot be written",
}

KERNEL_VIEWS = frozenset(
    "proc sysfs devpts cgroup cgroup2 debugfs tracefs securityfs configfs bpf pstore efivarfs mqueue hugetlbfs autofs".split()  # noqa: SIM905
)
"""What the kernel shows as files without storing any."""

READ_ONLY = frozenset({"squashfs", "iso9660"})

BLOCK_FUSE = frozenset({"fuseblk"})
"""A FUSE filesystem on a block device (NTFS, exFAT): its mount names that device."""

HINT = "choose a folder on a local disk, or name a block device; `seekwise devices` shows both"

ELEVATOR_SETTINGS = ("scheduler", "iosched/", "nr_requests", "wbt_lat_usec", "nomerges", "rq_affinity")
"""Act where requests are queued: at the leaves, and at a request-based multipath device instead of its paths."""


OWN_READ_AHEAD = ("btrfs", "bcachefs")
"""Over several devices they have backing-device information of their own: Linux v6.1 fs/btrfs/disk-io.c, open_ctree()
(at least 4 MiB); bcachefs sets `s_bdi->ra_pages` of its superblock (bch2_set_ra_pages)."""


@dataclass(frozen=True)
class ResolvedPath:
    """`device` is the top one (the first, with btrfs over several: `devices`)."""

    path: str
    devices: tuple[str, ...]
    leaves: tuple[BlockDevice, ...]
    stack: Stack
    mount: Mount | None = None
    notes: tuple[str, ...] = ()

    @property
    def device(self) -> str:
        """The top device; the first one where a btrfs lies over several."""
        return self.devices[0]

    def chain(self) -> tuple[BlockDevice, ...]:
        """Every device from the top down to the leaves, each once, the upper ones first."""
        chain: dict[str, BlockDevice] = {}
        level = list(self.devices)
        while level:
            following: list[str] = []
            for name in level:
                device = self.stack.devices[name]
                # A device that shows up again lower down belongs below everything that stands on it.
                chain.pop(name, None)
                chain[name] = device
                if device.kind != "loop":
                    following.extend(device.below)
            level = following
        return tuple(chain.values())

    def devices_for(self, setting: str) -> tuple[BlockDevice, ...]:
        """The devices on which `setting` (`scheduler`, `queue_depth`, `read_ahead_kb`, `stripe_cache_size` …) takes
        effect.

        - `read_ahead_kb` belongs to the device that the filesystem is mounted on, a partition's to its disk. btrfs and
          bcachefs have a figure of their own and look at none.
        - `stripe_cache_size` belongs to md RAID 4, 5 and 6.
        - A request-based multipath device queues and schedules; its paths are given the same so that nothing depends
          on which of them the kernel looks at. Depth and write cache belong to the paths.
        """
        name = setting.removeprefix("queue/").removeprefix("device/").removeprefix("md/")
        if name == "read_ahead_kb":
            if self.mount and self.mount.filesystem in OWN_READ_AHEAD:
                return ()
            return self._unique(self._whole(self.stack.devices[top]) for top in self.devices)
        if name in ("stripe_cache_size", "group_thread_cnt"):
            return tuple(d for d in self.chain() if d.kind == "md" and d.details.get("level") in PARITY_LEVELS)
        if name in SYNC_LIMITS:
            return tuple(d for d in self.chain() if d.kind == "md" and d.details.get("level") in SYNCED_LEVELS)
        if name.startswith(ELEVATOR_SETTINGS):
            own = [device for device in self.chain() if device.details.get("request_based")]
            return self._unique([*own, *self.leaves])
        return self.leaves

    def _whole(self, device: BlockDevice) -> BlockDevice:
        while device.kind == "partition" and device.below and not device.queue:
            device = self.stack.devices[device.below[0]]
        return device

    @staticmethod
    def _unique(devices: object) -> tuple[BlockDevice, ...]:
        return tuple({device.name: device for device in devices}.values())  # type: ignore[attr-defined]


SYNC_LIMITS = ("sync_speed_max", "sync_speed_min")
PARITY_LEVELS = ("raid4", "raid5", "raid6")
"""A small write of these reads old data or parity first."""
SYNCED_LEVELS = ("raid1", "raid4", "raid5", "raid6", "raid10")


def has_setting(device: BlockDevice, setting: str) -> bool:
    """Whether the kernel shows this setting for this device at all."""
    name = setting.removeprefix("queue/").removeprefix("device/").removeprefix("md/")
    if name == "queue_depth":
        return device.queue_depth is not None
    if name in ("stripe_cache_size", "group_thread_cnt"):
        return name in device.details
    return name in device.queue or name.removeprefix("iosched/") in device.iosched


def resolve_path(stack: Stack, path: str | Path) -> ResolvedPath:
    """Resolves a folder, file, device path, link in `/dev/disk`, mapping or plain kernel name; refuses what has no
    disk."""
    asked = str(path)
    live = str(stack.root) == "/"
    if name := _device_named(stack, asked, live):
        return _resolved(stack, asked, (name,), None)
    if live:
        return _live_path(stack, asked)
    if asked.startswith("/dev/"):
        raise UsageError(
            f"{asked} is no device of this captured machine", hint=f"`seekwise devices --root {stack.root}` lists them"
        )
    absolute = PurePosixPath(os.path.normpath("/" + asked.lstrip("/")))
    mount = mount_of(stack.mounts, absolute)
    if mount is None:
        raise UsageError(
            f"{asked} lies on no mount of this captured machine",
            hint=f"`seekwise devices --root {stack.root}` lists them",
        )
    return _on_mount(stack, asked, mount, None)


def _live_path(stack: Stack, asked: str) -> ResolvedPath:
    try:
        status = os.stat(asked)
    except FileNotFoundError:
        raise UsageError(f"{asked} does not exist", hint="give a folder, a file or a block device") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        hint = "run as root, or choose another folder" if isinstance(error, PermissionError) else HINT
        raise UsageError(f"{asked[:300]} cannot be looked at: {reason}", hint=hint) from error
    if stat.S_ISBLK(status.st_mode):
        raise UsageError(f"{asked} is a block device that sysfs does not show", hint="is /sys mounted here?")
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        raise UsageError(f"{asked} is neither a folder, a file nor a block device", hint=HINT)
    real = PurePosixPath(os.path.realpath(asked))
    mount = mount_of(stack.mounts, real)
    number = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    if mount is None:
        # In a chroot or container the mount of the root itself may not be listed.
        mount = next((listed for listed in stack.mounts if listed.major_minor == number), None)
        if mount is None and not (names := _by_number(stack, number)):
            raise UsageError(f"{asked} lies on a filesystem that /proc/self/mountinfo does not show", hint=HINT)
        if mount is None:
            return _resolved(stack, asked, names, None)
    return _on_mount(stack, asked, mount, number)


def _on_mount(stack: Stack, asked: str, mount: Mount, number: str | None) -> ResolvedPath:
    kind = mount.filesystem
    if kind in NOT_ON_A_DEVICE:
        raise RefusedError(f"{asked} lies on {NOT_ON_A_DEVICE[kind]}, so it has no disk to tune", hint=_hint(mount))
    if kind in KERNEL_VIEWS:
        raise RefusedError(f"{asked} lies on {kind}, which the kernel makes up, so it has no disk to tune", hint=HINT)
    if kind.startswith("fuse") and kind not in BLOCK_FUSE:
        raise RefusedError(
            f"{asked} lies on {kind}, a filesystem that a program serves, so it has no disk to tune", hint=HINT
        )
    names = _devices_of(stack, mount, number)
    if not names:
        raise RefusedError(
            f"{asked} lies on {kind} mounted from {mount.source}, and no block device below it is known", hint=HINT
        )
    return _resolved(stack, asked, names, mount)


def devices_of_mount(stack: Stack, mount: Mount) -> tuple[str, ...]:
    """The block devices that a mounted filesystem lies on; none for memory, network and layered filesystems."""
    if mount.filesystem in KERNEL_VIEWS or (mount.filesystem in NOT_ON_A_DEVICE and mount.filesystem not in READ_ONLY):
        return ()
    return _devices_of(stack, mount, None)


def _hint(mount: Mount) -> str:
    if mount.filesystem.startswith("overlay"):
        upper = next((text.partition("=")[2] for text in mount.options if text.startswith("upperdir=")), None)
        return f"its writes go to {upper}: name that folder on the host instead" if upper else HINT
    if mount.filesystem == "zfs":
        return "name the pool's drives one by one; `zpool status` lists them"
    return HINT


def _devices_of(stack: Stack, mount: Mount, number: str | None) -> tuple[str, ...]:
    if mount.filesystem == "btrfs" and (members := _btrfs_members(stack, mount)):
        return members
    for candidate in (mount.major_minor, number):
        if candidate and not candidate.startswith("0:") and (names := _by_number(stack, candidate)):
            return names
    # bcachefs mounts name all their devices: /dev/sda:/dev/sdb.
    return tuple(name for source in mount.source.split(":") if (name := _device_named(stack, source, False)))


def _btrfs_members(stack: Stack, mount: Mount) -> tuple[str, ...]:
    source = _device_named(stack, mount.source, False)
    for members in stack.btrfs.values():
        known = tuple(sorted(name for name in members if name in stack.devices))
        if source in members and known:
            return known
    if len(stack.btrfs) == 1:
        return tuple(sorted(name for members in stack.btrfs.values() for name in members if name in stack.devices))
    return ()


def _by_number(stack: Stack, number: str) -> tuple[str, ...]:
    return tuple(name for name, device in stack.devices.items() if device.major_minor == number)


def _device_named(stack: Stack, asked: str, live: bool) -> str | None:
    """The kernel's name for `sda`, `/dev/sda`, `/dev/mapper/vg-lv`, `/dev/vg/lv`, `/dev/disk/by-id/…`,
    `/dev/md/home`."""
    if "/" not in asked:
        # On the running machine a folder of that name in the current folder is what the user sees; it wins.
        return asked if asked in stack.devices and not (live and os.path.exists(asked)) else None
    if live:
        try:
            status = os.stat(asked)
        except (OSError, ValueError):
            return None
        if stat.S_ISBLK(status.st_mode):
            names = _by_number(stack, f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}")
            return names[0] if names else None
        return None
    if not asked.startswith("/dev/"):
        return None
    asked = "/" + "/".join(part for part in asked.split("/") if part)
    short = asked.removeprefix("/dev/").replace("/", "!")
    if short in stack.devices:
        return short
    for name, device in stack.devices.items():
        if asked in device.links:
            return name
        mapping = device.details.get("dm_name")
        if mapping and asked == f"/dev/mapper/{mapping}":
            return name
        group, volume = device.details.get("volume_group"), device.details.get("logical_volume")
        if group and asked == f"/dev/{group}/{volume}" and "lvm_layer" not in device.details:
            return name
    if match := re.fullmatch(r"/dev/md/(d?\d+)", asked):
        return f"md{match[1]}" if f"md{match[1]}" in stack.devices else None
    # A sos report holds disks without their partitions.
    disk = stack.devices.get(re.sub(r"(?<=\d)p\d+$|(?<=[a-z])\d+$", "", short))
    return disk.name if disk and disk.is_thin else None


def _resolved(stack: Stack, asked: str, names: tuple[str, ...], mount: Mount | None) -> ResolvedPath:
    leaves = {leaf.name: leaf for name in names for leaf in stack.leaves(name)}
    ordered = tuple(leaf for name, leaf in stack.devices.items() if name in leaves)
    resolved = ResolvedPath(path=asked, devices=names, leaves=ordered, stack=stack, mount=mount)
    return ResolvedPath(path=asked, devices=names, leaves=ordered, stack=stack, mount=mount, notes=_notes(resolved))


def _notes(path: ResolvedPath) -> tuple[str, ...]:
    notes = []
    if path.mount and path.mount.filesystem in OWN_READ_AHEAD:
        name = path.mount.filesystem
        notes.append(
            f"{name} reads ahead by a figure of its own: read_ahead_kb of its devices does not act on its files"
        )
    for device in path.chain():
        if device.details.get("request_based"):
            notes.append(
                f"{device.name} is request-based multipath: it schedules requests itself and its paths "
                f"({', '.join(device.below)}) only pass them on; settings go to both, depth to the paths"
            )
        if device.details.get("native_multipath"):
            notes.append(f"{device.name} hands I/O to its hidden paths {', '.join(device.below)}: settings go to those")
        if device.kind == "loop" and device.below:
            below = ", ".join(drive.name for drive in path.stack.drives(device.name))
            notes.append(
                f"{device.name} stands on a file on {below}: settings go to {device.name}, {below} is left alone"
            )
    return tuple(notes)
