"""The kernel is known to break on what seekwise does, or on what is in force (`control/kernel_faults.toml`)."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.control import kernel_faults
from seekwise.control.kernel_faults import Fault
from seekwise.linux.block_device import BlockDevice
from seekwise.linux.kernel_base import KernelBase, base_of
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "kernel-fault"


def base(machine: Machine) -> KernelBase:
    """What the machine's kernel is made from."""
    tree = machine.tree
    return base_of(
        machine.stack.kernel or "", tree.text("/proc/version") or "", tree.text("/proc/version_signature") or ""
    )


def _concerns(fault: Fault, device: BlockDevice) -> bool:
    """Whether the fault can be met on this drive; what passes (memory, resets) and rows of every kernel are no
    finding."""
    if {*kernel_faults.PASSING, "panics_on_warning"} & {*fault.when}:
        return False
    if "to_bfq" in fault.when and fault.instead == "leave-out":
        return device.scheduler == "bfq"
    needs = {
        "zoned": device.queue.get("zoned") == "host-managed",
        "multipath": str(device.details.get("dm_uuid", "")).startswith("mpath-"),
        "leaves_none": device.scheduler == "none" and len(device.schedulers_offered) > 1,
        "leaves_bfq": device.scheduler == "bfq",
        "raised": bool(device.scheduler),
        "resyncs": "group_thread_cnt" in device.details,
        "to_other_than_deadline": device.scheduler != "mq-deadline",
        "to_bfq": "bfq" in device.schedulers_offered,
    }
    return fault.instead == "refuse" and all(needs.get(condition, True) for condition in fault.when)


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Faults of this kernel, each with the drives that can meet it."""
    kernel = base(machine)
    for fault in kernel_faults.table():
        if not fault.since or not fault.is_in(kernel):
            continue
        if devices := tuple(device.name for device in machine.stack.devices.values() if _concerns(fault, device)):
            yield DoctorFinding(
                NAME,
                devices,
                "look",
                fault.sentence(kernel),
                (f"/proc/sys/kernel/osrelease = {kernel.release}", f"{fault.id}: {fault.source}"),
                ("# update the kernel",),
                "seekwise refuses it, or does not try it by itself",
            )


def notes(machine: Machine) -> list[str]:
    """Where nobody can tell which faults this kernel has; what a new array of its would be."""
    kernel = base(machine)
    if kernel.version is None:
        said = "is a distribution's kernel: its number does not say which of the known faults it has"
        return [f"Linux {kernel.release} {said}"] if kernel.release else []
    has_arrays = any(device.kind == "md" for device in machine.stack.devices.values())
    # Its superblock holds the logical block size where older kernels demand 0 (commits 62ed1b582246, a4166f1c4893).
    return [NEWER_ARRAYS] if has_arrays and kernel.version >= (6, 19) else []


NEWER_ARRAYS = "Linux 6.18 and before cannot assemble an array that is created under 6.19 or later"
