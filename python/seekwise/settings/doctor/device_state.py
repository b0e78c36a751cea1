"""A drive that the kernel has taken offline, or a mapping that holds back all I/O."""

from collections.abc import Iterator

from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "device-state"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives that the kernel has taken offline."""
    for device in machine.stack.devices.values():
        state = device.details.get("device_state") or device.details.get("controller_state")
        if state and state not in ("running", "live") and device.kind != "partition":
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is {state}",
                (f"/sys/block/{device.name}/device/state = {state}",),
                ("dmesg | tail -50",),
                "I/O to it fails or waits",
            )
        if device.details.get("suspended"):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"the mapping {device.name} is suspended",
                (f"/sys/block/{device.name}/dm/suspended = 1",),
                (f"dmsetup resume {device.details.get('dm_name', device.name)}",),
                "all I/O to it waits",
            )
