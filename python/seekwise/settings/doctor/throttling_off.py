"""Write-back throttling switched off on a hard disk, with no scheduler that does its work."""

from collections.abc import Iterator

from seekwise.settings.doctor.check import DoctorFinding, Machine, is_spinning

NAME = "throttling-off"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Hard disks without write-back throttling, under a scheduler that does not replace it."""
    for device in machine.drives():
        # With bfq the kernel itself switches it off (Linux v6.12 block/bfq-iosched.c, bfq_init_queue:
        # wbt_disable_default).
        if not is_spinning(device) or device.scheduler == "bfq" or device.queue.get("wbt_lat_usec") != "0":
            continue
        yield DoctorFinding(
            NAME,
            (device.name,),
            "look",
            f"write-back throttling is off on {device.name}, a hard disk",
            (
                f"/sys/block/{device.name}/queue/wbt_lat_usec = 0",
                f"/sys/block/{device.name}/queue/scheduler = {device.queue.get('scheduler', '')}",
            ),
            (f"seekwise apply --device {device.name} --set wbt_lat_usec=75000",),
            "background writes fill the drive's queue, and reads wait behind them",
        )
