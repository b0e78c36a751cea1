"""A drive that is given one command at a time although it could take more."""

from collections.abc import Iterator

from seekwise.linux.facts import kernel_version
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "queue-depth-1"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives with a queue depth of 1 that could take more."""
    for device in machine.drives():
        state = device.details.get("ncq")
        if device.queue_depth != 1 or device.transport == "usb":
            continue
        if isinstance(state, dict) and (state.get("state") == "unsupported" or state.get("cause")):
            continue  # ncq.py says why, or there is nothing to mend
        if not isinstance(state, dict) and device.transport not in ("sas", "fc", "iscsi", "parallel-scsi"):
            continue
        own = device.details.get("ncq_depth")
        most = 31 if (0,) < kernel_version(machine.stack.kernel) < (4, 19) else 32
        depth = min(own, most) if isinstance(own, int) else most
        yield DoctorFinding(
            NAME,
            (device.name,),
            "look",
            f"{device.name} is given one command at a time",
            (f"/sys/block/{device.name}/device/queue_depth = 1",)
            + ((f"IDENTIFY DEVICE: NCQ with {own} commands",) if own else ()),
            (f"seekwise apply --device {device.name} --set queue_depth={depth}",),
            "random reads of several programs cannot be put in the order of the platter; right for some drives with one reader",
        )
