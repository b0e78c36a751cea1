"""bfq on an NVMe drive: its lock and its bookkeeping bound the number of requests per second."""

from collections.abc import Iterator

from seekwise.settings.classes import choice
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "bfq-on-nvme"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """NVMe drives under bfq."""
    for device in machine.drives():
        if device.kind == "nvme" and device.scheduler == "bfq":
            best = choice("NVMe SSD").scheduler
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is an NVMe drive under bfq",
                (f"/sys/block/{device.name}/queue/scheduler = {device.queue['scheduler']}",),
                (f"seekwise apply --device {device.name} --set scheduler={best}", f"seekwise tune /dev/{device.name}"),
                "bfq handles some 10⁵ requests/s per drive (Linux Documentation/block/bfq-iosched.rst); the drive can do more",
            )
