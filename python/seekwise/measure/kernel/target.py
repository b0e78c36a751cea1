"""What is measured: a folder or a block device, resolved to the drives below it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import sysfs
from seekwise.errors import MissingError, RefusedError, UsageError
from seekwise.linux import failure
from seekwise.linux.block_device import BlockDevice, Mount
from seekwise.linux.resolve import ResolvedPath, resolve_path
from seekwise.linux.stack import read_stack
from seekwise.linux.warn import device_warnings
from seekwise.workload.study.factors import Factor, Value, checked

# Levels of md that move more bytes than asked: copies, parity. Linear and RAID 0 pass requests on as they are.
PLAIN_LEVELS = ("linear", "raid0")
# File systems that write more than they are given by their nature: copies of metadata trees, checksums, cleaning.
AMPLIFYING_FILESYSTEMS = ("btrfs", "bcachefs", "f2fs", "nilfs2", "zfs")


@dataclass(frozen=True)
class Target:
    path: Path
    resolved: ResolvedPath

    @property
    def is_device(self) -> bool:
        """A block device itself, not a folder on a mounted file system."""
        return self.resolved.mount is None

    @property
    def mount(self) -> Mount | None:
        """None for a block device."""
        return self.resolved.mount

    @property
    def leaves(self) -> tuple[BlockDevice, ...]:
        """Physical devices at the bottom of the stack."""
        return self.resolved.leaves

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """Kernel names such as `sda`, in the order of `leaves`."""
        return tuple(device.name for device in self.resolved.leaves)

    @property
    def arrays(self) -> tuple[str, ...]:
        """Kernel names of the md arrays, from top to bottom."""
        return tuple(device.name for device in self.resolved.chain() if device.kind == "md")

    @property
    def raid_levels(self) -> tuple[str, ...]:
        """Of the md arrays from top to bottom: `raid5`, `linear` …"""
        levels = (device.details.get("level") for device in self.resolved.chain() if device.kind == "md")
        return tuple(str(level) for level in levels if level)

    @property
    def amplifies(self) -> bool:
        """Whether the drives may rightly move more than is asked, so that more tells nothing about others."""
        if self.mount is not None and self.mount.filesystem in AMPLIFYING_FILESYSTEMS:
            return True
        chain = self.resolved.chain()
        if len(self.leaves) > 1 and not any(device.kind == "md" for device in chain):
            return True  # volumes over several drives: mirrors, thin pools, caches; the kernel's tables are not read
        return any(
            device.kind == "bcache" or (device.kind == "md" and device.details.get("level") not in PLAIN_LEVELS)
            for device in chain
        )

    def watched(self) -> failure.Watched:
        """The storage as it is now, to tell later whether it failed."""
        return failure.watched(self.path, [device.name for device in self.resolved.chain()], is_device=self.is_device)

    @property
    def lines(self) -> tuple[str, ...]:
        """The stack from top to bottom, a line per device."""
        lines = []
        if self.mount is not None:
            options = ",".join(self.mount.options)
            lines.append(f"{self.path}  on {self.mount.mount_point} ({self.mount.filesystem}, {options})")
        lines += [describe(device) for device in self.resolved.chain()]
        return tuple(lines)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What changes the meaning of settings or of figures here."""
        return tuple(warning.line for device in self.resolved.chain() for warning in device_warnings(device))

    @property
    def os_shares_drives(self) -> bool:
        """Whether the running system itself lives on one of the drives."""
        try:
            root = resolve_path(self.resolved.stack, "/")
        except RefusedError:
            return False
        return bool(set(self.leaf_names) & {device.name for device in root.leaves})

    def devices_for(self, row: Factor) -> tuple[BlockDevice, ...]:
        """Devices of the stack on which this setting takes effect; empty where it has none here."""
        return self.resolved.devices_for(row.attribute.removeprefix("queue/"))

    def places(self, row: Factor) -> tuple[str, ...]:
        """Names of the devices on which a setting lives; of one that acts on the whole machine, the machine's."""
        if row.where == "system":
            return (sysfs.SYSTEM,)
        return tuple(device.name for device in self.devices_for(row))

    def changes(self, values: dict[str, Value]) -> dict[str, dict[str, str]]:
        """{device: {attribute: value}} that gives every device its part of a setting, scheduler first."""
        wanted: dict[str, dict[str, str]] = {}
        for name, value in values.items():
            row = checked(name)
            devices = self.places(row)
            if not devices:
                # Passing over it would record a setting that nothing has.
                raise UsageError(
                    f"nothing below {self.path} has the setting {name}",
                    hint="`seekwise devices PATH` shows where each acts",
                )
            for device in devices:
                wanted.setdefault(device, {})[row.attribute] = str(value)
        return wanted


def describe(device: BlockDevice) -> str:
    """`  vda  virtio disk, 256 GiB, Model (firmware), scheduler mq-deadline (none, bfq)`."""
    from seekwise.workload.study.quantity import bytes_text

    facts = [device.kind]
    if device.kind == "md":
        facts += [str(device.details[key]) for key in ("level",) if key in device.details]
        if device.details.get("chunk_bytes"):
            facts.append(f"chunk {bytes_text(int(device.details['chunk_bytes']))}")
    facts.append(bytes_text(device.size_bytes))
    if device.model:
        facts.append(device.model + (f" (firmware {device.firmware})" if device.firmware else ""))
    if device.rotational is not None and not device.below:
        facts.append("rotational" if device.rotational else "not rotational")
    if device.schedulers_offered:
        others = ", ".join(name for name in device.schedulers_offered if name != device.scheduler)
        facts.append(f"scheduler {device.scheduler}" + (f" ({others})" if others else ""))
    if device.queue_depth is not None:
        facts.append(f"queue depth {device.queue_depth}")
    if device.backing_file:
        facts.append(f"on {device.backing_file}")
    return f"  {device.name}  {', '.join(facts)}"


def find(path: str, *, to_write: bool = True) -> Target:
    """Resolves what the user named; a folder must be writable, unless nothing will be written."""
    stack = read_stack()
    resolved = resolve_path(stack, path)
    absolute = Path(os.path.abspath(path)) if os.path.exists(path) else Path("/dev") / path
    target = Target(absolute, resolved)
    if (mount := target.mount) is not None:
        if absolute.is_file():
            target = Target(absolute.parent, resolved)
        if mount.read_only:
            raise RefusedError(
                f"{path} is on a read-only mount ({mount.mount_point})", hint="name a folder that can be written"
            )
        if to_write and not os.access(target.path, os.W_OK | os.X_OK):
            raise MissingError(f"{path} is not writable for you", hint="name a folder of yours, or use sudo")
    return target
