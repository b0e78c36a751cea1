"""What a system of virtual drives is made of: checked before anything is made, and the commands that make it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass

from seekwise import _core
from seekwise.backend.options import drive_parameters
from seekwise.backend.simulated import HOST_OPTIONS, PARTITION_SCAN
from seekwise.errors import MissingError, UsageError
from seekwise.study.factors import Value
from seekwise.study.model import System

LEVELS = {"raid0": 2, "raid1": 2, "raid4": 3, "raid5": 3, "raid6": 4, "raid10": 2}
"""Arrays that are made, and the fewest drives of each."""
FILESYSTEMS = {
    # The drives are new: what is not written reads as zeros, and there is nothing to discard.
    "ext2": ("mkfs.ext2", "-q", "-F", "-E", "nodiscard"),
    "ext3": ("mkfs.ext3", "-q", "-F", "-E", "nodiscard"),
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-K"),
}
# Else the kernel fills the inode tables in the background while the study measures (Linux Documentation/admin-guide/ext4.rst).
MOUNT_OPTIONS = {"ext4": ("-o", "noinit_itable")}
CHUNK_KIB = 512
"""mdadm's default."""
BUILDS = ("raid_level", "chunk_kib", "filesystem")
"""Factors that are built, not set."""
# Linux v6.1 drivers/block/nbd.c: tags of a device; include/linux/blkdev.h: BLK_DEF_MAX_SECTORS, what a SATA drive gets.
TAGS_MAX = 128
SIMULATED_ONLY = (*HOST_OPTIONS, "hz", "budget", PARTITION_SCAN)
"""Options of a system that tell the simulator what is real here."""
MAX_SECTORS_KB = 1280


@dataclass(frozen=True)
class Storage:
    """Drives, what they are joined to, and what lies on top."""

    model: str
    name: str
    drives: int
    capacity_bytes: int
    depth: int
    rotational: bool
    scheduler: str
    """What Linux gives such a drive by default: mq-deadline, or none for NVMe, whose commands have queues of their own."""
    parameters: tuple[tuple[str, float], ...] = ()
    level: str | None = None
    chunk_kib: int = CHUNK_KIB
    filesystem: str | None = None

    def array_command(self, array: str, devices: list[str]) -> list[str]:
        words = ["mdadm", "--create", f"/dev/{array}", "--run", "--quiet", "--metadata=1.2"]
        words.append(f"--level={str(self.level).removeprefix('raid')}")
        if self.level != "raid1":
            words.append(f"--chunk={self.chunk_kib}")
        if self.level != "raid0":
            # The drives are new and read as zeros: mirrors are equal and parity is right.
            words += ["--assume-clean", "--bitmap=none"]
        return [*words, f"--raid-devices={len(devices)}", *devices]

    def serve_options(self) -> list[str]:
        return [self.model, "--count", str(self.drives), *(f"--set={key}={value!r}" for key, value in self.parameters)]

    def queue(self) -> list[tuple[str, str]]:
        """Settings of each drive, in order, that make the kernel see what it would see of a real one.

        nbd takes 128 commands at once and calls itself flash. Without a scheduler nr_requests is the number of the driver's own
        tags, and it stays when a scheduler comes; then it is twice that. Twice written, because Linux 6.1's mq-deadline takes its
        limit of asynchronous requests from the number before.
        """
        depth = min(self.depth, TAGS_MAX)
        lines = [
            ("queue/scheduler", "none"),
            ("queue/nr_requests", str(depth)),
            ("queue/rotational", str(int(self.rotational))),
            ("queue/max_sectors_kb", str(MAX_SECTORS_KB)),
        ]
        if self.scheduler != "none":
            requests = 2 * depth
            lines += [
                ("queue/scheduler", self.scheduler),
                ("queue/nr_requests", str(requests - 1)),
                ("queue/nr_requests", str(requests)),
            ]
        return lines

    def described(self) -> str:
        array = f"{self.level} of {self.drives} × " if self.level else ""
        top = f", {self.filesystem}" if self.filesystem else ""
        return f"{array}{self.name}{top}"


def of(system: System, values: dict[str, Value], target: str | None = None) -> Storage:
    """The storage of a system; a factor that builds takes the place of the system's own word."""
    drive = target or system.drive
    if drive is None:
        raise UsageError(
            f"system {system.name} has no `drive`", hint="name a drive model in the study, or with `--target`"
        )
    if system.controller is not None:
        raise UsageError(f"system {system.name} has a controller, which only the simulator models")
    if len(system.chunk_kib) > 1 and "chunk_kib" not in values:
        raise UsageError(
            f"system {system.name} has several chunks", hint="vary them with `[settings] chunk_kib`, or one system each"
        )
    found = _described(system, drive)
    level = values.get("raid_level", system.raid_level)
    level = None if level in (None, "none", "single") else str(level)
    filesystem = values.get("filesystem")
    filesystem = None if filesystem in (None, "none", "raw") else str(filesystem)
    settings = found["settings"]
    nvme = json.loads(_core.drive_model(drive)).get("attachment") == "nvme"
    storage = Storage(
        model=drive,
        name=str(found["drive"]),
        drives=system.drives,
        capacity_bytes=int(found["capacity_bytes"]),
        depth=int(settings["queue_depth"]),
        rotational=bool(settings["rotational"]),
        scheduler="none" if nvme else "mq-deadline",
        parameters=tuple(drive_parameters(system.name, system.options, SIMULATED_ONLY).items()),
        level=level,
        chunk_kib=int(values.get("chunk_kib", next(iter(system.chunk_kib), CHUNK_KIB))),
        filesystem=filesystem,
    )
    _check(storage, system.name)
    return storage


def _described(system: System, drive: str) -> dict:
    """The drive as the simulator knows it; a wrong name or parameter is refused here."""
    spec = {
        "seed": 0,
        "device": {"model": drive, "parameters": drive_parameters(system.name, system.options, SIMULATED_ONLY)},
        "queue": {"scheduler": "none", "kernel": "6.1"},
        "phases": [{"operation": "rand_read", "jobs": [{"pattern": "random", "block_bytes": 4096, "ios": 1}]}],
    }
    try:
        return json.loads(_core.describe_cell(json.dumps(spec)))
    except ValueError as error:
        raise UsageError(f"system {system.name}: {error}", hint="`seekwise explain` lists the drive models") from None


def _check(storage: Storage, name: str) -> None:
    if storage.level is None:
        if storage.drives > 1:
            raise UsageError(
                f"system {name} has {storage.drives} drives and no `raid_level`", hint="levels: " + ", ".join(LEVELS)
            )
    else:
        least = LEVELS.get(storage.level)
        if least is None:
            raise UsageError(
                f"system {name}: mdadm makes no `{storage.level}` here", hint="levels: " + ", ".join(LEVELS)
            )
        if storage.drives < least:
            raise UsageError(f"system {name}: {storage.level} needs at least {least} drives, not {storage.drives}")
        if storage.chunk_kib < 4 or storage.chunk_kib & (storage.chunk_kib - 1):
            raise UsageError(f"system {name}: a chunk is a power of two from 4 KiB, not {storage.chunk_kib} KiB")
    if storage.filesystem is not None and storage.filesystem not in FILESYSTEMS:
        raise UsageError(
            f"system {name}: no file system `{storage.filesystem}` is made here",
            hint="known: " + ", ".join(FILESYSTEMS),
        )


def require_programs(wanted: list[Storage]) -> None:
    """Raises in one sentence for a program that a build needs and this machine has not."""
    for storage in wanted:
        programs = ["mdadm"] if storage.level else []
        programs += [FILESYSTEMS[storage.filesystem][0]] if storage.filesystem else []
        for program in programs:
            if shutil.which(program) is None and shutil.which(program, path="/usr/sbin:/sbin") is None:
                raise MissingError(f"{program} is not installed, and {storage.described()} needs it", hint="install it")
