"""The io.cost controller in force: it limits who may use a drive before any I/O scheduler sees the request."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "io-cost"
QOS = "/sys/fs/cgroup/io.cost.qos"
"""A line per device: `8:0 enable=1 ctrl=user rpct=… rlat=… min=… max=…` (Linux
Documentation/admin-guide/cgroup-v2.rst)."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Devices under the io.cost controller."""
    by_number = {device.major_minor: device for device in machine.stack.devices.values()}
    for line in (machine.tree.text(QOS) or "").splitlines():
        number, *words = line.split() or [""]
        device = by_number.get(number)
        values = dict(word.split("=", 1) for word in words if "=" in word)
        if device is None or values.get("enable") != "1":
            continue
        yield DoctorFinding(
            NAME,
            (device.name,),
            "look",
            f"io.cost limits the requests to {device.name}, between {values.get('min', '?')} and {values.get('max', '?')} per cent of its model",
            (f"{QOS}: {line}",),
            (f'echo "{number} enable=0" > {QOS}    # to compare without it',),
            "a wrong cost model holds requests back; schedulers compare differently under it",
        )
