"""Odd values of nomerges and rq_affinity."""

from collections.abc import Iterator

from seekwise.settings.doctor.check import DoctorFinding, Machine, is_spinning

NAME = "request-flags"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Values of nomerges and rq_affinity that cost throughput."""
    for device in machine.drives():
        merges = device.queue.get("nomerges")
        if merges in ("1", "2") and is_spinning(device):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is a hard disk, and its requests are not merged",
                (f"/sys/block/{device.name}/queue/nomerges = {merges}",),
                (f"seekwise apply --device {device.name} --set nomerges=0",),
                "neighbouring requests cost an access each",
            )
        if device.queue.get("rq_affinity") == "0" and _processors(machine) > 1:
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"requests of {device.name} complete on whichever processor takes the interrupt",
                (f"/sys/block/{device.name}/queue/rq_affinity = 0",),
                (f"seekwise apply --device {device.name} --set rq_affinity=1",),
                "the submitting processor's cache is lost; the kernel's default is 1",
            )


def _processors(machine: Machine) -> int:
    text = machine.tree.word("/sys/devices/system/cpu/online") or "0"
    last = text.replace(",", "-").split("-")[-1]
    return int(last) + 1 if last.isdigit() else 1
