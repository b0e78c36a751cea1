"""An array that is degraded, or busy with itself."""

from seekwise.advise.doctor.model import Finding, Machine
from seekwise.linux import md
from seekwise.linux.describe import member_state

NAME = "array-state"


def check(machine: Machine):
    for device in machine.stack.devices.values():
        if device.kind != "md":
            continue
        details = device.details
        path = f"/sys/block/{device.name}/md"
        if details.get("degraded"):
            faulty = [name for name in device.below if "faulty" in (member_state(device, name) or "")]
            yield Finding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} is degraded: {details['degraded']} of {details.get('raid_disks', '?')} members are missing"
                + (f" ({', '.join(faulty)} failed)" if faulty else ""),
                (f"{path}/degraded = {details['degraded']}",),
                (f"mdadm --detail /dev/{device.name}", f"mdadm /dev/{device.name} --add /dev/NEW_MEMBER"),
                "no redundancy is left on RAID 1 and 5; reads of the missing member are rebuilt from all others",
            )
        action = details.get("sync_action")
        if action in md.RESYNCING:
            done = details.get("sync_fraction")
            yield Finding(
                NAME,
                (device.name,),
                "look",
                f"{device.name}: {action} in progress" + (f", {done:.0%} done" if isinstance(done, float) else ""),
                (f"{path}/sync_action = {action}",),
                ("cat /proc/mdstat",) + ((f"echo idle > {path}/sync_action",) if action == "check" else ()),
                "it takes bandwidth from the load until it is done; do not measure now",
            )
