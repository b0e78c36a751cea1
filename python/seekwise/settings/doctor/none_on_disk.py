"""No scheduler on a drive with a moving arm."""

from collections.abc import Iterator

from seekwise.linux.members import zfs_members
from seekwise.settings.classes import choice
from seekwise.settings.doctor.check import DoctorFinding, Machine, is_spinning
from seekwise.settings.doctor.zoned import is_disordered

NAME = "none-on-hard-disk"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Hard disks without a scheduler. ZFS schedules for its own: `none` is what its documents ask for. Of zoned drives
    that need one another check speaks."""
    zfs = zfs_members(machine.tree, machine.stack)
    for device in machine.drives():
        if (
            device.name not in zfs
            and is_spinning(device)
            and not is_disordered(device, machine.stack.kernel)
            and device.scheduler == "none"
            and len(device.schedulers_offered) > 1
        ):
            offered = device.schedulers_offered
            best = chosen if (chosen := choice("hard disk").scheduler) in offered else offered[-1]
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is a hard disk without an I/O scheduler",
                (
                    f"/sys/block/{device.name}/queue/scheduler = {device.queue['scheduler']}",
                    f"/sys/block/{device.name}/queue/rotational = 1",
                ),
                (f"seekwise apply --device {device.name} --set scheduler={best}", f"seekwise tune /dev/{device.name}"),
                "nothing keeps writes from delaying reads; how much that costs here, `seekwise tune` measures",
            )
