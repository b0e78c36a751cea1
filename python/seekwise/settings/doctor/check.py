"""What a check looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.setters import Survey, survey
from seekwise.linux.tree import Tree
from seekwise.settings.controllers import State

Severity = Literal["wrong", "look"]


@dataclass(frozen=True)
class Machine:
    """A machine as files. `smart`: {device: document of `smartctl --json`}; `activity`: what moved while the doctor
    looked, `later`: after a pause, where the first look found a storm; `units`: {device: what the tool of its RAID
    controller says of it}.
    """

    stack: Stack
    tree: Tree
    smart: dict[str, dict[str, Any]] = field(default_factory=dict)
    activity: dict[str, Activity] = field(default_factory=dict)
    later: dict[str, Activity] = field(default_factory=dict)
    units: dict[str, State] = field(default_factory=dict)

    @cached_property
    def who(self) -> Survey:
        """Who sets what, read once for all checks."""
        return survey(self.tree, self.stack)

    def drives(self) -> Iterator[BlockDevice]:
        """Whole physical drives and units with a medium, without hidden paths."""
        for device in self.stack.devices.values():
            if device.kind in ("disk", "nvme", "virtio", "mmc", "xen") and device.has_medium and not device.below:
                yield device


@dataclass(frozen=True)
class Activity:
    """Counters that moved: discards and their time, over `seconds` (Documentation/admin-guide/iostats.rst, fields 12 to
    15)."""

    seconds: float
    ios: int
    discards: int
    discard_bytes: int
    discard_ms: int


@dataclass(frozen=True)
class DoctorFinding:
    """Something that `doctor` found."""

    check: str
    devices: tuple[str, ...]
    severity: Severity
    """wrong: mend it; look: may be meant so."""
    text: str
    evidence: tuple[str, ...]
    mend: tuple[str, ...] = ()
    """Commands that fix it."""
    cost: str | None = None


def is_local_disk(device: BlockDevice) -> bool:
    """A drive itself, not a unit of a RAID card nor a volume of another machine or of a hypervisor."""
    unknown = ("fc", "iscsi", "virtio-scsi", "scsi-debug", "hyper-v", "vmware", "xen")
    return (
        device.kind in ("disk", "nvme")
        and not isinstance(device.details.get("controller"), dict)
        and device.transport not in unknown
    )


def is_spinning(device: BlockDevice) -> bool:
    """A hard disk for sure: local and rotational; USB bridges say so of everything."""
    return is_local_disk(device) and device.rotational is True and device.transport != "usb"
