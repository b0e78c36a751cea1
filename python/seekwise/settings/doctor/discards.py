"""A discard storm: deletions reach the drive one by one and keep it from its work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from seekwise.linux.resolve import devices_of_mount
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "discard-storm"
PER_SECOND_MIN = 100
SHARE_MIN = 0.2
"""Share of the time that a discard was under way."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives that spend their time on discards."""
    for device in machine.drives():
        seen = machine.activity.get(device.name)
        if seen is None or seen.seconds <= 0 or not seen.discards:
            continue
        rate, share = seen.discards / seen.seconds, seen.discard_ms / 1000 / seen.seconds
        if rate < PER_SECOND_MIN and share < SHARE_MIN:
            continue
        # Fewer than a tenth of all requests, and quickly done: nobody waits for those.
        if share < SHARE_MIN / 4 and seen.discards * 10 < seen.ios:
            continue
        places = [
            str(mount.mount_point)
            for mount in machine.stack.mounts
            if "discard" in mount.options
            and any(
                device.name in {leaf.name for leaf in machine.stack.leaves(name)}
                for name in devices_of_mount(machine.stack, mount)
            )
        ]
        yield DoctorFinding(
            NAME,
            (device.name,),
            "wrong",
            f"{device.name} handles {rate:.0f} discards/s, which take {100 * share:.0f} % of the time",
            (
                f"/proc/diskstats: {seen.discards} discards of {seen.discard_bytes / 1e6:.3g} MB in {seen.seconds:.0f} s",
                *(f"{place} is mounted with discard" for place in places),
            ),
            (
                *(f"mount -o remount,nodiscard {shlex.quote(place)}" for place in places),
                "systemctl enable --now fstrim.timer",
            ),
            "reads and writes wait behind discards",
        )
