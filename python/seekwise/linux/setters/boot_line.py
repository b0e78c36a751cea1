"""Parameters of the kernel's command line that decide about disks: `elevator=`, `libata.force=`.

`elevator=` chooses the scheduler of every disk until Linux 4.20; since 5.0 (commit f382fb0bcef4, "block: remove legacy IO
schedulers") the multi-queue kernel ignores it. `libata.force=[PORT:]noncq` keeps a SATA drive at one command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.facts import kernel_version
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.tree import Tree

FILES = ("/etc/default/grub", "/etc/kernel/cmdline", "/etc/sysconfig/bootloader")
FOLDERS = {"/etc/default/grub.d": ".cfg", "/etc/cmdline.d": ".conf", "/boot/loader/entries": ".conf"}


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    """What `elevator=` and `libata.force=noncq` on the boot line set."""
    line = tree.text("/proc/cmdline") or ""
    if (elevator := _last(line, "elevator")) and single_queue(stack):
        file, number = _origin(tree, f"elevator={elevator}")
        for device in stack.devices.values():
            if device.scheduler and device.kind != "partition":
                yield Setter(
                    "boot", file, number, device.name, "queue/scheduler", elevator, (assignment.BOOT, 0, "", 0)
                )
    for device in stack.devices.values():
        if device.transport in ("sata", "ata") and noncq(line, device):
            file, number = _origin(tree, "noncq")
            yield Setter("boot", file, number, device.name, "device/queue_depth", "1", (assignment.BOOT, 1, "", 0))


def single_queue(stack: Stack) -> bool:
    """Whether the kernel still obeys `elevator=`: its single queue went with 5.0."""
    version = kernel_version(stack.kernel)
    return bool(version) and version[0] < 5


def noncq(command_line: str, device: BlockDevice) -> bool:
    """Whether `libata.force=` switches NCQ off for this drive: `noncq` for all, `3:noncq` or `3.00:noncq` for a port."""
    port = re.search(r"ata(\d+)", str(device.details.get("ata_port", "")))
    state = False
    for word in re.findall(r"\blibata[.]force=(\S+)", command_line):
        applies_to: str | None = None
        for part in word.split(","):
            where, colon, what = part.rpartition(":")
            if colon:
                applies_to = where
            here = applies_to is None or (port is not None and applies_to.partition(".")[0] == port[1])
            if here and what in ("noncq", "ncq"):
                state = what == "noncq"
    return state


def _last(line: str, name: str) -> str | None:
    found = re.findall(rf"(?:^|\s){name}=(\S+)", line)
    return found[-1] if found else None


def _origin(tree: Tree, words: str) -> tuple[str, int | None]:
    """The boot loader's file and line where the parameter comes from; the running command line if none is found."""
    files = list(FILES)
    for folder, ending in FOLDERS.items():
        files += [f"{folder}/{name}" for name in tree.names(folder) if name.endswith(ending)]
    for file in files:
        for number, text in enumerate((tree.text(file) or "").splitlines(), 1):
            if words in text and not text.lstrip().startswith("#"):
                return file, number
    return "/proc/cmdline", None
