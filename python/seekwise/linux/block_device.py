"""The storage stack as plain data: devices, what they stand on, mounts.

Filled by `seekwise.linux.stack.read_stack`; nothing here touches a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class BlockDevice:
    """One block device.

    `kind`: disk, partition, md, lvm, crypt, multipath, dm, loop, bcache, nvme, virtio, zram, nbd, null, …
    `below`: names of the devices it stands on (members, backing device, whole disk of a partition).
    `queue`: files of `queue/` as text, e.g. `{"scheduler": "none [mq-deadline] bfq", "nr_requests": "64"}`.
    """

    name: str
    kind: str
    size_bytes: int
    major_minor: str
    below: tuple[str, ...] = ()
    queue: dict[str, str] = field(default_factory=dict)
    iosched: dict[str, str] = field(default_factory=dict)
    """Tunables of the scheduler in force, one line of text each. Tables and learned figures of several lines are no
    settings."""
    queue_depth: int | None = None
    transport: str | None = None
    driver: str | None = None
    model: str | None = None
    firmware: str | None = None
    serial: str | None = None
    rotational: bool | None = None
    write_cache: str | None = None
    read_only: bool = False
    backing_file: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """Kind-specific facts: md level, chunk_bytes, members, sync state; dm uuid and target; controller; warnings."""

    @property
    def scheduler(self) -> str | None:
        """The scheduler in force, or None where the device has no queue of its own."""
        words = self.queue.get("scheduler", "").split()
        return next((word.strip("[]") for word in words if word.startswith("[")), words[0] if len(words) == 1 else None)

    @property
    def is_thin(self) -> bool:
        """Whether the tree holds little more than its queue, as a sos report does: no number, no state, no hardware."""
        return bool(self.queue) and not self.major_minor

    @property
    def has_medium(self) -> bool:
        """Whether there is something to read; of a thin tree that is taken for granted."""
        return self.size_bytes > 0 or self.is_thin

    @property
    def links(self) -> tuple[str, ...]:
        """Links of udev below /dev that lead to it."""
        links = self.details.get("links")
        return tuple(map(str, links)) if isinstance(links, list) else ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Devices that it stands on and that the tree does not show."""
        missing = self.details.get("missing")
        return tuple(map(str, missing)) if isinstance(missing, list) else ()

    @property
    def signature(self) -> dict[str, str]:
        """What udev found on it: type, label, UUID and usage of a file system, an array, a volume group."""
        signature = self.details.get("signature")
        return signature if isinstance(signature, dict) else {}

    @property
    def schedulers_offered(self) -> tuple[str, ...]:
        """Names as in `queue/scheduler`, without the brackets of the active one; empty where the file is missing."""
        return tuple(word.strip("[]") for word in self.queue.get("scheduler", "").split())


def passes_on(device: BlockDevice) -> bool:
    """Whether the device hands bios to those below and so queues nothing: md, most mappings, bcache, NVMe multipath.

    Its `queue/` shows nr_requests and `none` all the same, but nothing reads them.
    """
    queues_itself = len(device.schedulers_offered) > 1 or "hardware_queue_count" in device.details
    return bool(device.below) and device.kind not in ("partition", "loop") and not queues_itself


@dataclass(frozen=True)
class Mount:
    """One mounted filesystem."""

    HIDDEN: ClassVar = ("major_minor", "mount_id", "parent_id")
    SHOWN: ClassVar = ("read_only",)

    mount_point: Path
    source: str
    filesystem: str
    options: tuple[str, ...]
    """Mount options in force, those of the mount first."""
    major_minor: str
    root_within: str = "/"
    """The folder of the filesystem that is mounted: `/`, or another with bind mounts and subvolumes."""
    mount_id: int | None = None
    parent_id: int | None = None

    @property
    def read_only(self) -> bool:
        """Whether this mount or the whole file system is read-only."""
        return "ro" in self.options


@dataclass(frozen=True)
class DeviceWarning:
    """What a reader should know of a device before changing a setting."""

    device: str
    text: str

    @property
    def line(self) -> str:
        """`sda: what to know`, as it is printed."""
        return f"{self.device}: {self.text}"


@dataclass(frozen=True)
class Stack:
    """All block devices and mounts of one machine. `root` is the file tree they were read from."""

    devices: dict[str, BlockDevice]
    mounts: tuple[Mount, ...]
    root: Path = Path("/")
    warnings: tuple[DeviceWarning, ...] = ()
    kernel: str | None = None
    swaps: tuple[str, ...] = ()
    """Files and devices in use as swap, as `/proc/swaps` names them."""
    btrfs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Member devices of each btrfs filesystem, by UUID."""

    def leaves(self, name: str) -> tuple[BlockDevice, ...]:
        """Whole devices at the bottom under `name`, in order of name: those whose settings decide.

        A loop device has its own queue and stands on a file, so it is a bottom; `drives` goes on below it.
        """
        return self._bottom(name, through_loops=False)

    def drives(self, name: str) -> tuple[BlockDevice, ...]:
        """Like `leaves`, but through loop devices to the drives that hold their files."""
        return self._bottom(name, through_loops=True)

    def _bottom(self, name: str, *, through_loops: bool) -> tuple[BlockDevice, ...]:
        seen: dict[str, BlockDevice] = {}
        todo = [name]
        visited: set[str] = set()
        while todo:
            current = todo.pop()
            if current in visited:
                continue
            visited.add(current)
            device = self.devices[current]
            if device.below and (through_loops or device.kind != "loop"):
                todo.extend(device.below)
            else:
                seen[current] = device
        return tuple(seen[key] for key in sorted(seen))

    def above(self, name: str) -> tuple[BlockDevice, ...]:
        """Devices that stand directly on `name`: partitions, arrays, mappings."""
        return tuple(device for device in self.devices.values() if name in device.below)
