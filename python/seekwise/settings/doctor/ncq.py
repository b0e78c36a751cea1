"""NCQ that the driver or the boot line withholds from a drive that offers it."""

from collections.abc import Iterator

from seekwise.linux.setters.boot_line import noncq
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "ncq-off"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives that offer NCQ and do not get it."""
    line = machine.tree.text("/proc/cmdline") or ""
    for device in machine.drives():
        state = device.details.get("ncq")
        if not isinstance(state, dict) or not device.details.get("ncq_supported") or device.queue_depth != 1:
            continue
        if noncq(line, device):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"the boot line switches NCQ off for {device.name}",
                ("/proc/cmdline holds libata.force=noncq", f"/sys/block/{device.name}/device/queue_depth = 1"),
                ("# remove `libata.force=noncq` from the boot loader's configuration and restart",),
                "one command at a time: random reads cannot be reordered by the drive",
            )
        elif state.get("cause"):
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} offers NCQ and its driver {device.driver} does not use it",
                (f"/sys/block/{device.name}/device/queue_depth = 1", str(state["cause"])),
                ("# set the SATA controller to AHCI in the firmware setup",),
                "one command at a time: random reads cannot be reordered by the drive",
            )
