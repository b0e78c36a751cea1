"""A drive that is as hot as its own limit, or has throttled itself."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux import nvme, sysfs
from seekwise.settings.doctor.check import DoctorFinding, Machine
from seekwise.settings.doctor.smart import counted

NAME = "temperature"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives at their temperature limit."""
    for device in machine.drives():
        sensor = _sensor(machine, device.name)
        if sensor:
            folder, now, most = sensor
            if most is not None and now >= most:
                yield DoctorFinding(
                    NAME,
                    (device.name,),
                    "wrong",
                    f"{device.name} is at {now:.0f} °C; its limit is {most:.0f} °C",
                    (f"{folder}/temp1_input = {now * 1000:.0f}", f"{folder}/temp1_max = {most * 1000:.0f}"),
                    ("# improve the airflow around the drive",),
                    "drives slow down at their limit to protect themselves",
                )
        log = (machine.smart.get(device.name) or {}).get("nvme_smart_health_information_log") or {}
        minutes = counted(log.get("warning_temp_time")) + counted(log.get("critical_comp_time"))
        hours = counted(((machine.smart.get(device.name) or {}).get("power_on_time") or {}).get("hours"))
        if minutes and (not hours or minutes >= hours * 60 / 1000):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"{device.name} has spent {minutes} minutes above its warning temperature",
                (
                    f"warning_temp_time = {log.get('warning_temp_time')}",
                    f"critical_comp_time = {log.get('critical_comp_time')}",
                ),
                ("# improve the airflow around the drive",),
                "an NVMe drive throttles itself meanwhile",
            )


def _sensor(machine: Machine, name: str) -> tuple[str, float, float | None] | None:
    """Folder, temperature and limit in °C of the drive's own sensor (drivetemp, nvme)."""
    tree = machine.tree
    node = sysfs.block_nodes(tree).get(name)
    hardware = sysfs.hardware_path(tree, node) if node else None
    owners = {hardware, nvme.controller_of(tree, hardware) if hardware else None} - {None}
    for entry in tree.names("/sys/class/hwmon"):
        folder = f"/sys/class/hwmon/{entry}"
        if tree.resolve(f"{folder}/device") in owners and (now := tree.number(f"{folder}/temp1_input")) is not None:
            most = tree.number(f"{folder}/temp1_max")
            return folder, now / 1000, None if not most else most / 1000
    return None
