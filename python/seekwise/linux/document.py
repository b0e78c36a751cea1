"""The stack as one JSON document, `seekwise.devices/1`.

Names of settings are the kernel's own, with their unit where the kernel's name has one (`read_ahead_kb`). A field that
the kernel does not show is null.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from seekwise.linux.block_device import BlockDevice, Mount, Stack
from seekwise.linux.resolve import ResolvedPath, devices_of_mount, has_setting
from seekwise.linux.storage_kind import storage_kind
from seekwise.linux.sysfs import device_path
from seekwise.linux.warn import device_warnings

SETTINGS = (
    "scheduler",
    "nr_requests",
    "read_ahead_kb",
    "queue_depth",
    "wbt_lat_usec",
    "nomerges",
    "rq_affinity",
    "write_cache",
    "stripe_cache_size",
)


@dataclass(frozen=True)
class DeviceNumbers:
    """Files of `queue/` that hold a number."""

    nr_requests: int | None
    """Requests that the scheduler may hold."""
    read_ahead_kb: int | None
    """Read-ahead window in KiB."""
    wbt_lat_usec: int | None
    """Write-back throttling target in µs; 0 is off."""
    nomerges: int | None
    """0 merges freely, 1 only simple merges, 2 none."""
    rq_affinity: int | None
    """Which CPU completes a request."""
    max_sectors_kb: int | None
    """Largest request in KiB."""


@dataclass(frozen=True, kw_only=True)
class DeviceFacts(DeviceNumbers):
    """One block device."""

    name: str
    """The kernel's name; `!` stands for `/`."""
    path: str
    kind: str
    """disk, partition, md, lvm, crypt, multipath, dmraid, dm, loop, bcache, nvme, virtio, zram, nbd, null, drbd,
    optical, …"""
    size_bytes: int
    major_minor: str
    """Device number; empty for hidden NVMe paths."""
    below: tuple[str, ...]
    """Devices it stands on: members, paths, the disk of a partition, the device that holds a loop's file."""
    above: list[str]
    """Devices that stand directly on it."""
    leaves: list[str]
    """Devices at the bottom below it whose settings decide; itself when it is one. A loop device is one."""
    transport: str | None
    """sata, ata, sas, usb, fc, iscsi, nvme, nvme-tcp, virtio, virtio-scsi, …"""
    storage_kind: str | None
    """Where settings mean something else: `local` drive, a hardware `controller`'s unit, a volume of another machine
    (`san`)."""
    driver: str | None
    """The controller's driver: ahci, nvme, megaraid_sas, virtio_blk, …"""
    model: str | None
    firmware: str | None
    serial: str | None
    rotational: bool | None
    read_only: bool
    write_cache: str | None
    """`write back` or `write through`."""
    scheduler: str | None
    """The scheduler in force; null where the device has no queue."""
    schedulers_offered: tuple[str, ...]
    """Every scheduler that the kernel offers now; loading a module may add some."""
    scheduler_tunables: dict[str, str]
    """Files of queue/iosched."""
    queue_depth: int | None
    """SCSI device/queue_depth: commands at the drive at once."""
    backing_file: str | None
    """The file of a loop device."""
    filesystem: str | None
    """Type of the filesystem mounted from it, or found on it by udev."""
    mounts: list[Mount]
    swap: bool
    """Whether the device is in use as swap."""
    details: dict[str, Any]
    """Facts of one kind of device only; what does not apply is absent. md: level, chunk_bytes, layout, raid_disks,
    degraded, sync_action, members (name, slot, state, errors) and stripe_cache_size. Firmware RAID: firmware_raid,
    container. Device-mapper: dm_name, dm_uuid, volume_group, logical_volume, crypt_type. Multipath: request_based,
    native_multipath, hidden_path. SATA: ncq (state, text), ncq_supported, ncq_depth, rotation_rpm, shingled. Hardware
    RAID: controller (driver, family, tool, warning, members_hidden, level); NVMe: the controller's name. Besides links,
    signature (type, label, uuid, usage), logical_block_bytes, physical_block_bytes, pci_address, pci_id, and missing:
    devices it stands on that the tree does not show."""
    warnings: list[str]
    """Warnings about this device."""


@dataclass
class ControllerFacts:
    """A storage controller, or a driver without one."""

    driver: str
    pci_address: str | None
    pci_id: str | None
    hardware_raid: bool
    """Whether devices of it are logical units, whose member drives are hidden."""
    family: str | None
    """The family of hardware RAID controllers."""
    devices: list[str]


@dataclass(frozen=True, kw_only=True)
class MountOnDevices(Mount):
    """A mounted filesystem and what it lies on."""

    devices: tuple[str, ...]
    """Devices that the filesystem lies on: one, or several with btrfs."""
    leaves: list[str]
    """Every device at the bottom."""


@dataclass(frozen=True)
class SettingsOfPath:
    """What lies below the path that was asked for."""

    path: str
    mount: Mount | None
    devices: tuple[str, ...]
    """Top devices below the path."""
    leaves: list[str]
    """Every device at the bottom: settings go to each."""
    settings: dict[str, list[str]]
    """For each setting the devices where it takes effect and that have it."""
    notes: tuple[str, ...]
    """How settings travel in this stack."""


@dataclass(frozen=True)
class DevicesDocument:
    """`devices --json`: the storage stack of one machine."""

    SCHEMA: ClassVar = "seekwise.devices/1"

    root: str
    """The tree that was read: `/`, or a captured machine's folder or archive."""
    kernel: str | None
    """Kernel release, as `uname -r` prints it."""
    devices: list[DeviceFacts]
    """Block devices: all, or those below the path asked for."""
    controllers: list[ControllerFacts]
    """Storage controllers (and drivers without one), each once."""
    mounts: list[MountOnDevices]
    """Mounted filesystems on block devices."""
    warnings: list[str]
    """What to know before changing a setting; each begins with the device's name."""
    resolved: SettingsOfPath | None


def devices_document(stack: Stack, resolved: ResolvedPath | None = None) -> DevicesDocument:
    """With `resolved`, only the devices from that path down to its drives."""
    mounted = {mount: devices_of_mount(stack, mount) for mount in stack.mounts}
    shown = {device.name for device in resolved.chain()} if resolved else set(stack.devices)
    if resolved:
        shown |= {drive.name for name in resolved.devices for drive in stack.drives(name)}
    devices = [device for name, device in stack.devices.items() if name in shown]
    return DevicesDocument(
        root=str(stack.root),
        kernel=stack.kernel,
        devices=[_device(stack, device, mounted) for device in devices],
        controllers=_controllers(devices),
        mounts=[
            MountOnDevices(**vars(mount), devices=names, leaves=_leaf_names(stack, names))
            for mount, names in mounted.items()
            if names and (resolved is None or set(names) & shown)
        ],
        warnings=[warning.line for warning in stack.warnings if resolved is None or warning.device in shown],
        resolved=_resolved(resolved) if resolved else None,
    )


def _controllers(devices: list[BlockDevice]) -> list[ControllerFacts]:
    controllers: dict[tuple[str, object], ControllerFacts] = {}
    for device in devices:
        if device.driver is None or device.kind == "partition":
            continue
        details: dict[str, Any] = device.details
        place = details.get("pci_address")
        new = ControllerFacts(device.driver, place, details.get("pci_id"), False, None, [])
        row = controllers.setdefault((device.driver, place), new)
        row.devices.append(device.name)
        if isinstance(unit := details.get("controller"), dict):
            row.hardware_raid, row.family = True, unit["family"]
    return list(controllers.values())


def _leaf_names(stack: Stack, names: tuple[str, ...]) -> list[str]:
    leaves = {leaf.name for name in names for leaf in stack.leaves(name)}
    return [name for name in stack.devices if name in leaves]


def _device(stack: Stack, device: BlockDevice, mounted: dict[Mount, tuple[str, ...]]) -> DeviceFacts:
    mounts = [mount for mount, names in mounted.items() if device.name in names]
    own = {field.name: getattr(device, field.name) for field in fields(DeviceFacts) if hasattr(device, field.name)}
    numbers: dict[str, Any] = {field.name: _number(device.queue.get(field.name)) for field in fields(DeviceNumbers)}
    return DeviceFacts(
        **own,
        **numbers,
        path=device_path(device.name),
        above=[other.name for other in stack.above(device.name)],
        leaves=[leaf.name for leaf in stack.leaves(device.name)],
        storage_kind=storage_kind(device),
        scheduler_tunables=device.iosched,
        filesystem=mounts[0].filesystem if mounts else device.signature.get("type"),
        mounts=mounts,
        swap=is_swap(stack, device),
        warnings=[warning.line for warning in device_warnings(device)],
    )


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None


def is_swap(stack: Stack, device: BlockDevice) -> bool:
    """Whether the device itself is in use as swap (not a file on it)."""
    paths = {device_path(device.name), *device.links}
    return any(area in paths for area in stack.swaps)


def settings_places(path: ResolvedPath) -> dict[str, list[str]]:
    """For each setting the devices where it takes effect and that have it."""
    return {
        setting: [device.name for device in path.devices_for(setting) if has_setting(device, setting)]
        for setting in SETTINGS
    }


def _resolved(path: ResolvedPath) -> SettingsOfPath:
    return SettingsOfPath(
        path=path.path,
        mount=path.mount,
        devices=path.devices,
        leaves=[leaf.name for leaf in path.leaves],
        settings=settings_places(path),
        notes=path.notes,
    )
