"""What a reader of the stack should know before changing a setting. Each warning names the device it is about."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from seekwise.linux import md
from seekwise.linux.block_device import BlockDevice, DeviceWarning, Stack
from seekwise.linux.storage_kind import san_by

FIRMWARE_MEMBERS = {
    # ID_FS_TYPE as libblkid names them.
    "isw_raid_member": "Intel IMSM",
    "ddf_raid_member": "SNIA DDF",
    "nvidia_raid_member": "NVIDIA MediaShield",
    "promise_fasttrack_raid_member": "Promise FastTrak",
    "silicon_medley_raid_member": "Silicon Image Medley",
    "via_raid_member": "VIA",
    "jmicron_raid_member": "JMicron",
    "adaptec_raid_member": "Adaptec HostRAID",
    "hpt37x_raid_member": "HighPoint",
    "hpt45x_raid_member": "HighPoint",
    "lsi_mega_raid_member": "LSI MegaRAID software RAID",
}


def warnings(stack: Stack) -> tuple[DeviceWarning, ...]:
    """What a reader must know of any device before trusting or changing its settings."""
    warned: list[DeviceWarning] = []
    for device in stack.devices.values():
        warned += device_warnings(device)
        member = FIRMWARE_MEMBERS.get(device.signature.get("type", ""))
        if member and not any(above.kind in ("md", "dmraid") for above in stack.above(device.name)):
            text = f"carries firmware (“fake”) RAID metadata, {member}, but no array is assembled from it"
            warned.append(DeviceWarning(device.name, text))
    return tuple(warned)


def device_warnings(device: BlockDevice) -> Iterator[DeviceWarning]:
    """The same of one device, from its own facts alone."""
    details = device.details
    warning = functools.partial(DeviceWarning, device.name)
    controller = details.get("controller")
    if isinstance(controller, dict):
        yield warning(str(controller["warning"]))
    if network := san_by(device):
        yield warning(
            f"a volume of another machine (SAN, {network}): order, cache and other users there are not seen here"
            + (", and queue_depth is this host's share of it" if device.queue_depth is not None else "")
        )
    if "firmware_raid" in details and "container_of" not in details:
        yield warning(
            f"firmware (“fake”) RAID, {details['firmware_raid']}: the firmware only describes the array, "
            "the kernel moves the data, so its members are tuned like those of software RAID"
        )
    if device.kind == "md":
        yield from _md(device)
    if details.get("deleted"):
        yield warning(f"its backing file {device.backing_file} is deleted and vanishes when the loop is detached")
    if details.get("suspended"):
        yield warning("the mapping is suspended, I/O to it waits")
    if device.missing:
        yield warning(f"stands on {', '.join(device.missing)}, which this tree does not show")
    state = details.get("device_state")
    if state and state not in ("running", "live"):
        yield warning(f"the drive is {state}")


def _md(device: BlockDevice) -> Iterator[DeviceWarning]:
    details = device.details
    warning = functools.partial(DeviceWarning, device.name)
    action = details.get("sync_action")
    if action in md.RESYNCING:
        done = details.get("sync_fraction")
        progress = f", {done:.0%} done" if isinstance(done, float) else ""
        yield warning(f"{action} in progress{progress}, so measurements now would measure that too")
    if details.get("degraded"):
        yield warning(f"degraded, {details['degraded']} of {details.get('raid_disks', '?')} members missing")
