"""Members of one array that are set differently: the slowest decides."""

from __future__ import annotations

from collections import Counter

from seekwise.advise.doctor.model import Finding, Machine
from seekwise.advise.values import settings_of
from seekwise.linux.model import BlockDevice

NAME = "members-differ"
COMPARED = (
    "queue/scheduler",
    "queue/nr_requests",
    "device/queue_depth",
    "queue/write_cache",
    "queue/nomerges",
    "queue/wbt_lat_usec",
)


def check(machine: Machine):
    for device in machine.stack.devices.values():
        if device.kind != "md" or "container_of" in device.details or len(device.below) < 2:
            continue
        leaves = [leaf for name in device.below for leaf in machine.stack.leaves(name)]
        # Flash beside disks, or drives of different kinds, may well be set differently.
        if len({(leaf.kind, leaf.transport, leaf.rotational) for leaf in leaves}) > 1:
            continue
        for attribute in COMPARED:
            values = {leaf.name: settings_of(leaf).get(attribute) for leaf in leaves}
            if len(set(values.values())) > 1 and None not in values.values():
                yield _finding(device, attribute, values)


def _finding(array: BlockDevice, attribute: str, values: dict[str, str]) -> Finding:
    usual = Counter(values.values()).most_common(1)[0][0]
    others = {name: value for name, value in values.items() if value != usual}
    listed = ", ".join(f"{name} {value}" for name, value in others.items())
    short = attribute.rpartition("/")[2]
    return Finding(
        NAME,
        (array.name, *others),
        "wrong",
        f"members of {array.name} differ in {short}: {listed}, the others {usual}",
        tuple(f"/sys/block/{name}/{attribute} = {value}" for name, value in values.items()),
        tuple(f"seekwise apply --device {name} --set {short}={_quoted(usual)}" for name in others),
        "an array waits for its slowest member",
    )


def _quoted(value: str) -> str:
    return f"'{value}'" if " " in value else value
