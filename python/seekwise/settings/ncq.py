"""Native command queueing by hand: `ncq=on`, `ncq=off`, or a depth, through `queue_depth`; and why the kernel may
refuse.

libata keeps one of a drive's 32 tags for its own use until Linux 4.18 (31 of 32); since 4.19 all 32 are used (commit
28361c403683, "libata: add extra internal command").
"""

from __future__ import annotations

from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.facts import kernel_version

TAGS = 32


def by_controller(device: BlockDevice) -> bool:
    """Whether the drive hides behind a RAID controller, which alone decides about command queueing."""
    return isinstance(device.details.get("controller"), dict)


def is_on(value: str) -> bool:
    """`on` or `off` as a truth value. UsageError for anything else."""
    if value not in ("on", "off"):
        raise UsageError(f"ncq={value} is neither on nor off", "a depth is set by `--set queue_depth=N`")
    return value == "on"


def depth(device: BlockDevice, value: str, stack: Stack) -> str:
    """The `queue_depth` that `on` or `off` means for this drive."""
    on = is_on(value)
    if device.queue_depth is None:
        raise UsageError(
            f"{device.name} has no queue_depth, so no NCQ to switch",
            "NVMe and virtio take their depth from nr_requests",
        )
    if not on:
        return "1"
    state = device.details.get("ncq")
    if isinstance(state, dict) and state.get("state") == "unsupported":
        raise SeekwiseError(f"{device.name} does not offer NCQ", str(state.get("text")))
    own = device.details.get("ncq_depth")
    most = TAGS if not stack.kernel or kernel_version(stack.kernel) >= (4, 19) else TAGS - 1
    return str(min(int(own), most) if isinstance(own, int) else most)


def why_refused(device: BlockDevice) -> str:
    """What stands behind EACCES, EPERM, EINVAL or a depth that stays at 1."""
    state = device.details.get("ncq")
    if by_controller(device):
        controller = device.details["controller"]
        return (
            f"{device.name} is a unit of the RAID controller {controller['family']}: the kernel has no say in its queueing; "
            f"`--set ncq=off` prints the command of {controller['tool']}"
        )
    if isinstance(state, dict) and state.get("cause"):
        return str(state["cause"])
    return (
        f"the driver {device.driver or ''} does not let queue_depth be changed: the attribute is read-only, or the controller is set "
        "to IDE mode in the firmware setup"
    ).replace("  ", " ")
