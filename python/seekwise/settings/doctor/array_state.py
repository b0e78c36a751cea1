"""An array that is degraded, not running, or busy with itself: Linux md, and units of RAID controllers by their own
tools."""

from collections.abc import Iterator

from seekwise.linux import md
from seekwise.report.device_words import member_state
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "array-state"

WELL = frozenset({"ok", "optl", "optimal"})
"""As tw_cli, storcli, arcconf and ssacli call a unit that lacks nothing."""
BUSY = ("verify", "init", "migrat", "expand", "check", "transform")
"""What a unit does with all of its members; while it rebuilds one it lacks it."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Arrays and units that are degraded, stopped or busy with themselves."""
    yield from _md(machine)
    for name, state in machine.units.items():
        status = (state.status or "").strip()
        if not status or status.lower() in WELL:
            continue
        busy = any(word in status.lower() for word in BUSY)
        yield DoctorFinding(
            NAME,
            (name,),
            "look" if busy else "wrong",
            f"the controller says of {name}: {status}",
            (state.evidence.get("status") or state.evidence.get("level") or status,),
            ("# look at the unit and its drives with the controller's tool",),
            "it takes bandwidth from the load until it is done; do not measure now"
            if busy
            else "no redundancy may be left; reads of a missing member are rebuilt from all others",
        )


def _md(machine: Machine) -> Iterator[DoctorFinding]:
    for device in machine.stack.devices.values():
        if device.kind != "md":
            continue
        details = device.details
        path = f"/sys/block/{device.name}/md"
        in_sysfs = machine.tree.is_folder(path)
        state = details.get("array_state")
        # A container of firmware RAID holds members and never runs itself.
        if state in ("inactive", "broken") and "container_of" not in details and device.below:
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is assembled from {len(device.below)} members and does not run",
                (f"{path}/array_state = {state}",),
                ("cat /proc/mdstat", f"mdadm --detail /dev/{device.name}", f"mdadm --run /dev/{device.name}"),
                "nothing on it can be read or written",
            )
        if details.get("degraded"):
            missing, filled = int(str(details["degraded"])), details.get("sync_action") == "recover"
            faulty = [name for name in device.below if "faulty" in (member_state(device, name) or "")]
            yield DoctorFinding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is degraded: {missing} of {details.get('raid_disks', '?')} members {'is' if missing == 1 else 'are'} missing"
                + (f" ({', '.join(faulty)} failed)" if faulty else ""),
                (f"{path}/degraded = {missing}" if in_sysfs else "/proc/mdstat",),
                # What a rebuild fills is there already.
                (
                    f"mdadm --detail /dev/{device.name}",
                    *([] if filled else [f"mdadm /dev/{device.name} --add /dev/NEW_MEMBER"]),
                ),
                "no redundancy is left on RAID 1 and 5; reads of the missing member are rebuilt from all others",
            )
        action = details.get("sync_action")
        if action in md.RESYNCING:
            done = details.get("sync_fraction")
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"{device.name}: {action} in progress" + (f", {done:.0%} done" if isinstance(done, float) else ""),
                (f"{path}/sync_action = {action}" if in_sysfs else "/proc/mdstat",),
                ("cat /proc/mdstat",) + ((f"echo idle > {path}/sync_action",) if action == "check" else ()),
                "it takes bandwidth from the load until it is done; do not measure now",
            )
