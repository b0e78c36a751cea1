"""A discard storm: deletions reach the drive one by one and keep it from its work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from seekwise.linux.resolve import devices_of_mount
from seekwise.settings.doctor.check import Activity, DoctorFinding, Machine

NAME = "discard-storm"
PER_SECOND_MIN = 100
SHARE_MIN = 0.2
"""Share of the time that a discard was under way."""


def is_storm(seen: Activity | None) -> bool:
    """Whether discards kept the drive from its work in these seconds."""
    if seen is None or seen.seconds <= 0 or not seen.discards:
        return False
    rate, share = seen.discards / seen.seconds, seen.discard_ms / 1000 / seen.seconds
    # Fewer than a tenth of all requests, and quickly done: no program waits for those.
    is_quick = share < SHARE_MIN / 4 and seen.discards * 10 < seen.ios
    return (rate >= PER_SECOND_MIN or share >= SHARE_MIN) and not is_quick


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives that spend their time on discards; what had ended by the second look was some program deleting files."""
    for device in machine.drives():
        first, seen = machine.activity.get(device.name), machine.later.get(device.name)
        if first is None or not is_storm(first):
            continue
        if seen is None or not is_storm(seen):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"{device.name} handled {first.discards} discards in {first.seconds:.0f} s, and few afterwards: files were being deleted",
                (f"/proc/diskstats: {first.discard_bytes / 1e6:.3g} MB discarded, which took {first.discard_ms} ms",),
            )
            continue
        rate, share = seen.discards / seen.seconds, seen.discard_ms / 1000 / seen.seconds
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
                f"/proc/diskstats: {seen.discards} discards of {seen.discard_bytes / 1e6:.3g} MB in {seen.seconds:.0f} s, and as many before",
                *(f"{place} is mounted with discard" for place in places),
            ),
            (
                *(f"mount -o remount,nodiscard {shlex.quote(place)}" for place in places),
                "systemctl enable --now fstrim.timer",
            ),
            "reads and writes wait behind discards",
        )
