"""Mount options that cost speed or safety."""

import shlex
from collections.abc import Iterator

from seekwise.linux.resolve import devices_of_mount
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "mount-options"

COST = {
    "sync": "every write waits for the drive",
    "dirsync": "every change of a folder waits for the drive",
    "strictatime": "every read of a file writes its inode",
    "data=journal": "all data is written twice",
}
UNSAFE = ("nobarrier", "barrier=0")


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Mounts with an option that costs speed or safety."""
    for mount in machine.stack.mounts:
        devices = devices_of_mount(machine.stack, mount)
        if not devices or mount.read_only:
            continue
        for option in mount.options:
            if option in COST:
                yield DoctorFinding(
                    NAME,
                    devices,
                    "look",
                    f"{mount.mount_point} is mounted with {option}",
                    (f"/proc/self/mountinfo: {mount.mount_point} {','.join(mount.options)}",),
                    (_remount(str(mount.mount_point), option),),
                    COST[option],
                )
            if option in UNSAFE and _caches(machine, devices):
                yield DoctorFinding(
                    NAME,
                    devices,
                    "wrong",
                    f"{mount.mount_point} is mounted with {option} on a drive that caches writes",
                    (
                        f"/proc/self/mountinfo: {mount.mount_point} {','.join(mount.options)}",
                        f"/sys/block/{_caches(machine, devices)}/queue/write_cache = write back",
                    ),
                    (f"mount -o remount,barrier=1 {shlex.quote(str(mount.mount_point))}",),
                    "a power cut can damage the file system",
                )


def _remount(place: str, option: str) -> str:
    other = {"sync": "async", "strictatime": "relatime", "data=journal": None, "dirsync": None}.get(option)
    if other is None:
        return f"# change {option} in /etc/fstab and mount {place} anew"
    return f"mount -o remount,{other} {shlex.quote(place)}"


def _caches(machine: Machine, devices: tuple[str, ...]) -> str | None:
    for name in devices:
        for leaf in machine.stack.leaves(name):
            if leaf.queue.get("write_cache") == "write back" and not isinstance(leaf.details.get("controller"), dict):
                return leaf.name
    return None
