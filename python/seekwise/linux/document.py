"""The stack as one JSON document, `seekwise.devices/1`; its schema is cli/schemas/devices.schema.json.

Names of settings are the kernel's own, with their unit where the kernel's name has one (`read_ahead_kb`).
"""

from __future__ import annotations

from typing import Any

from seekwise.linux.block_device import BlockDevice, Mount, Stack
from seekwise.linux.resolve import ResolvedPath, devices_of_mount, has_setting
from seekwise.linux.storage_kind import storage_kind
from seekwise.linux.sysfs import device_path
from seekwise.linux.warn import device_warnings

SCHEMA = "seekwise.devices/1"

NUMBERS = ("nr_requests", "read_ahead_kb", "wbt_lat_usec", "nomerges", "rq_affinity", "max_sectors_kb")

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


def devices_document(stack: Stack, resolved: ResolvedPath | None = None) -> dict[str, Any]:
    """The document `seekwise.devices/1`. With `resolved`, only the devices from that path down to its drives."""
    mounted = {mount: devices_of_mount(stack, mount) for mount in stack.mounts}
    shown = {device.name for device in resolved.chain()} if resolved else set(stack.devices)
    if resolved:
        shown |= {drive.name for name in resolved.devices for drive in stack.drives(name)}
    return {
        "schema": SCHEMA,
        "root": str(stack.root),
        "kernel": stack.kernel,
        "devices": [_device(stack, stack.devices[name], mounted) for name in stack.devices if name in shown],
        "controllers": _controllers([stack.devices[name] for name in stack.devices if name in shown]),
        "mounts": [
            {**_mount(mount), "devices": list(names), "leaves": _leaf_names(stack, names)}
            for mount, names in mounted.items()
            if names and (resolved is None or set(names) & shown)
        ],
        "warnings": [each.line for each in stack.warnings if resolved is None or each.device in shown],
        "resolved": _resolved(resolved) if resolved else None,
    }


def _controllers(devices: list[BlockDevice]) -> list[dict[str, Any]]:
    """Each storage controller once: its driver, its place, and whether some of its devices are units of hardware RAID."""
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for device in devices:
        if device.driver is None or device.kind == "partition":
            continue
        unit = device.details.get("controller")
        hardware_raid = isinstance(unit, dict)
        place = device.details.get("pci_address")
        row = found.setdefault(
            (device.driver, str(place) if place else None),
            {
                "driver": device.driver,
                "pci_address": place,
                "pci_id": device.details.get("pci_id"),
                "hardware_raid": False,
                "family": None,
                "devices": [],
            },
        )
        row["devices"].append(device.name)
        if hardware_raid:
            row["hardware_raid"], row["family"] = True, unit["family"]  # type: ignore[index]
    return list(found.values())


def _leaf_names(stack: Stack, names: tuple[str, ...]) -> list[str]:
    leaves = {leaf.name for name in names for leaf in stack.leaves(name)}
    return [name for name in stack.devices if name in leaves]


def _mount(mount: Mount) -> dict[str, Any]:
    return {
        "mount_point": str(mount.mount_point),
        "source": mount.source,
        "filesystem": mount.filesystem,
        "options": list(mount.options),
        "root_within": mount.root_within,
        "read_only": mount.read_only,
    }


def _device(stack: Stack, device: BlockDevice, mounted: dict[Mount, tuple[str, ...]]) -> dict[str, Any]:
    mounts = [mount for mount, names in mounted.items() if device.name in names]
    signature = device.details.get("signature")
    return {
        "name": device.name,
        "path": device_path(device.name),
        "kind": device.kind,
        "size_bytes": device.size_bytes,
        "major_minor": device.major_minor,
        "below": list(device.below),
        "above": [other.name for other in stack.above(device.name)],
        "leaves": [leaf.name for leaf in stack.leaves(device.name)],
        "transport": device.transport,
        "storage_kind": storage_kind(device),
        "driver": device.driver,
        "model": device.model,
        "firmware": device.firmware,
        "serial": device.serial,
        "rotational": device.rotational,
        "read_only": device.read_only,
        "write_cache": device.write_cache,
        "scheduler": device.scheduler,
        "schedulers_offered": list(device.schedulers_offered),
        "scheduler_tunables": dict(device.iosched),
        "queue_depth": device.queue_depth,
        **{name: _number(device.queue.get(name)) for name in NUMBERS},
        "backing_file": device.backing_file,
        "filesystem": mounts[0].filesystem
        if mounts
        else signature.get("type")
        if isinstance(signature, dict)
        else None,
        "mounts": [_mount(mount) for mount in mounts],
        "swap": is_swap(stack, device),
        "details": device.details,
        "warnings": [each.line for each in device_warnings(device)],
    }


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None


def is_swap(stack: Stack, device: BlockDevice) -> bool:
    """Whether the device itself is in use as swap (not a file on it)."""
    paths = {device_path(device.name), *map(str, device.details.get("links", ()))}
    return any(area in paths for area in stack.swaps)


def settings_places(found: ResolvedPath) -> dict[str, list[str]]:
    """For each setting the devices where it takes effect and that have it."""
    return {
        setting: [device.name for device in found.devices_for(setting) if has_setting(device, setting)]
        for setting in SETTINGS
    }


def _resolved(found: ResolvedPath) -> dict[str, Any]:
    return {
        "path": found.path,
        "mount": _mount(found.mount) if found.mount else None,
        "devices": list(found.devices),
        "leaves": [leaf.name for leaf in found.leaves],
        "settings": settings_places(found),
        "notes": list(found.notes),
    }
