"""Members of one array that are set differently: the slowest decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from seekwise.linux.resolve import devices_of_mount
from seekwise.settings.doctor.check import DoctorFinding, Machine
from seekwise.settings.values import settings_of

NAME = "members-differ"
COMPARED = (
    "queue/scheduler",
    "queue/nr_requests",
    "device/queue_depth",
    "queue/write_cache",
    "queue/nomerges",
    "queue/wbt_lat_usec",
)


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Attributes in which members of one array differ."""
    for name, below in _arrays(machine):
        leaves = list({leaf.name: leaf for name_below in below for leaf in machine.stack.leaves(name_below)}.values())
        # Flash beside disks, or drives of different kinds, may well be set differently.
        if len({(leaf.kind, leaf.transport, leaf.rotational) for leaf in leaves}) > 1:
            continue
        for attribute in COMPARED:
            values = {leaf.name: value for leaf in leaves if (value := settings_of(leaf).get(attribute)) is not None}
            if len(values) == len(leaves) and len(set(values.values())) > 1:
                yield _finding(name, attribute, values)


def _arrays(machine: Machine) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name and members of each array: md, RAID of LVM (its parts are volumes named so), btrfs and bcachefs over
    several devices."""
    stack = machine.stack
    for device in stack.devices.values():
        parts = [str(stack.devices[name].details.get("dm_name")) for name in device.below if name in stack.devices]
        by_lvm = device.kind == "lvm" and any(re.search(r"_r(image|meta)_\d+$", part) for part in parts)
        if (device.kind == "md" or by_lvm) and "container_of" not in device.details:
            yield device.name, device.below
    seen = set()
    for mount in stack.mounts:
        devices = devices_of_mount(stack, mount) if mount.filesystem in ("btrfs", "bcachefs") else ()
        if len(devices) > 1 and devices not in seen:
            seen.add(devices)
            yield f"{mount.filesystem} on {mount.mount_point}", devices


def _finding(array: str, attribute: str, values: dict[str, str]) -> DoctorFinding:
    usual = Counter(values.values()).most_common(1)[0][0]
    others = {name: value for name, value in values.items() if value != usual}
    listed = ", ".join(f"{name} {value}" for name, value in others.items())
    short = attribute.rpartition("/")[2]
    return DoctorFinding(
        NAME,
        (array, *others),
        "wrong",
        f"members of {array} differ in {short}: {listed}, the others {usual}",
        tuple(f"/sys/block/{name}/{attribute} = {value}" for name, value in values.items()),
        tuple(f"seekwise apply --device {name} --set {short}={_quoted(usual)}" for name in others),
        "an array waits for its slowest member",
    )


def _quoted(value: str) -> str:
    return f"'{value}'" if " " in value else value
