"""Write-back throttling beside bfq: two that hold back writes, with different aims."""

from collections.abc import Iterator

from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "throttling-beside-bfq"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Devices under bfq with write-back throttling in force."""
    for device in machine.drives():
        target = device.queue.get("wbt_lat_usec")
        if device.scheduler != "bfq" or not target or not target.isdigit() or int(target) == 0:
            continue
        if not _in_force(machine, device.name):
            continue
        yield DoctorFinding(
            NAME,
            (device.name,),
            "wrong",
            f"write-back throttling and bfq are both active on {device.name}",
            (
                f"/sys/block/{device.name}/queue/wbt_lat_usec = {target}",
                f"/sys/block/{device.name}/queue/scheduler = {device.queue['scheduler']}",
            ),
            (f"seekwise apply --device {device.name} --set wbt_lat_usec=0",),
            "bfq cannot keep its shares when another part of the kernel holds writes back",
        )


def _in_force(machine: Machine, name: str) -> bool:
    """debugfs tells whether throttling is enabled (3: switched off by bfq); a kernel from 6.12 on shows 0 in sysfs
    then.

    Since 4.19 bfq switches it off, and a later write switches it on again.
    """
    state = machine.tree.word(f"/sys/kernel/debug/block/{name}/rqos/wbt/enabled")
    if state is not None:
        return state in ("1", "2")
    version = tuple(int(part) for part in (machine.stack.kernel or "0").split("-")[0].split(".")[:2] if part.isdigit())
    # Until then sysfs goes on showing the target while bfq keeps it off: no evidence either way.
    return version >= (6, 12)
