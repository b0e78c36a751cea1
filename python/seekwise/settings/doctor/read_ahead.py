"""Read-ahead that was raised on the drives and is lost on the array or mapping above them, where alone it counts."""

import shlex
from collections.abc import Iterator

from seekwise.linux.resolve import devices_of_mount
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "read-ahead-lost"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Read-ahead raised on drives and not on what lies on them."""
    stack = machine.stack
    tops: dict[str, str] = {}
    for mount in stack.mounts:
        if mount.filesystem == "btrfs":
            continue  # reads ahead by a figure of its own
        for name in devices_of_mount(stack, mount):
            device = stack.devices[name]
            # A partition reads ahead as the device it is a part of.
            top = device.below[0] if device.kind == "partition" and device.below else name
            tops.setdefault(top, str(mount.mount_point))
    for top, place in tops.items():
        device = stack.devices[top]
        if device.kind not in ("md", "lvm", "crypt", "dm", "multipath", "bcache"):
            continue
        own = _number(device.queue.get("read_ahead_kb"))
        lower = {name: _number(stack.devices[name].queue.get("read_ahead_kb")) for name in _below(machine, top)}
        name = max(lower, key=lambda each: lower[each], default=top)
        if lower and own < lower[name]:
            yield DoctorFinding(
                NAME,
                (top,),
                "wrong",
                f"{name} reads ahead {lower[name]} KiB, but files in {place} on {top} above it get {own} KiB",
                (
                    f"/sys/block/{top}/queue/read_ahead_kb = {own}",
                    f"/sys/block/{name}/queue/read_ahead_kb = {lower[name]}",
                ),
                (f"seekwise apply --device {shlex.quote(place)} --set read_ahead_kb={lower[name]}",),
                "sequential reads of files use the upper figure alone",
            )


def _below(machine: Machine, name: str) -> set[str]:
    names: set[str] = set()
    todo = list(machine.stack.devices[name].below)
    while todo:
        current = todo.pop()
        if current not in names:
            names.add(current)
            todo += machine.stack.devices[current].below
    return names


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
