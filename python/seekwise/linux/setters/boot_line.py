"""Parameters of the kernel's command line that decide about disks: `elevator=` and `libata.force=`.

`elevator=` chooses the scheduler of every disk until Linux 4.20; since 5.0 (commit f382fb0bcef4, "block: remove legacy
IO schedulers") the multi-queue kernel ignores it. `libata.force=[PORT:]noncq` keeps a SATA drive at one command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.facts import kernel_version
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading

FILES = (
    "/etc/default/grub", "/etc/kernel/cmdline", "/etc/sysconfig/bootloader", "/etc/zipl.conf", "/etc/lilo.conf", "/etc/default/u-boot",
    "/boot/firmware/cmdline.txt", "/boot/cmdline.txt", "/boot/armbianEnv.txt", "/boot/extlinux/extlinux.conf", "/boot/grub/menu.lst",
    "/boot/grub/grub.conf", "/boot/refind_linux.conf", "/etc/default/limine", "/boot/limine.conf", "/boot/syslinux/syslinux.cfg", "/etc/tuned/bootcmdline",
)  # fmt: skip
FOLDERS = {
    "/etc/default/grub.d": ".cfg", "/etc/cmdline.d": ".conf", "/etc/kernel/cmdline.d": ".conf", "/etc/dracut.conf.d": ".conf", "/boot/loader/entries": ".conf",
    "/efi/loader/entries": ".conf", "/boot/efi/loader/entries": ".conf",
}  # fmt: skip
WRITTEN = ("/boot/grub2/grubenv", "/boot/grub2/grub.cfg", "/boot/grub/grub.cfg")
"""What the boot loader's own tool writes: named where no file that people edit has the words."""


def read(reading: Reading) -> Iterator[Setter]:
    """What `elevator=` and `libata.force=noncq` on the boot line set."""
    stack, line = reading.stack, reading.text("/proc/cmdline")
    if elevator := _last(line, "elevator"):
        file, number = origin(reading, f"elevator={elevator}")
        for device in stack.devices.values():
            if device.scheduler and device.kind != "partition" and single_queue(stack, device):
                yield Setter(
                    "boot", file, number, device.name, "queue/scheduler", elevator, (assignment.BOOT, 0, "", 0)
                )
        if not single_queue(stack):
            reason = "since Linux 5.0 the kernel ignores elevator="
            if kernel_version(stack.kernel) < (5, 0):
                reason = f"kernel {stack.kernel} has multi-queue schedulers alone, and they ignore elevator="
            instead = "a udev rule sets it: `seekwise apply --persist udev`"
            reading.idle(file, number, None, "queue/scheduler", elevator, reason, instead)
    elif setters := _not_yet(reading):
        instead = "a udev rule: multi-queue kernels ignore elevator= (`seekwise apply --persist udev`)"
        if single_queue(stack):
            instead = "`update-grub` (or the boot loader's own command) and a restart"
        reason = "the running kernel was started without it"
        reading.idle(*setters[:2], None, "queue/scheduler", setters[2], reason, instead)
    for device in stack.devices.values():
        if device.transport in ("sata", "ata") and noncq(line, device):
            file, number = origin(reading, "noncq")
            yield Setter("boot", file, number, device.name, "device/queue_depth", "1", (assignment.BOOT, 1, "", 0))


MULTI_QUEUE_SCHEDULERS = (4, 11)
"""Linux release that brought schedulers for multi-queue devices (mq-deadline, commit 945ffb60c11d)."""
SINGLE_QUEUE = frozenset({"noop", "deadline", "cfq", "anticipatory"})
"""Names that only the single queue offers; `deadline` is another name of mq-deadline, but the kernel does not show
it."""


def single_queue(stack: Stack, device: BlockDevice | None = None) -> bool:
    """Whether the kernel still obeys `elevator=`: its single queue went with 5.0, and distributions left it out earlier
    (RHEL 8's 4.18)."""
    version = kernel_version(stack.kernel)
    if not version or version >= (5, 0):
        return False
    if version < MULTI_QUEUE_SCHEDULERS:
        return True
    devices = [device] if device is not None else list(stack.devices.values())
    offered = {name for offering in devices for name in offering.schedulers_offered} - {"none"}
    return bool(offered & SINGLE_QUEUE) or (device is None and not offered)


def noncq(command_line: str, device: BlockDevice) -> bool:
    """Whether `libata.force=` switches NCQ off for this drive: `noncq` for all, `3:noncq` or `3.00:noncq` for a
    port."""
    port = re.search(r"ata(\d+)", str(device.details.get("ata_port", "")))
    state = False
    for word in (word[13:] for word in command_line.split() if word.startswith("libata.force=")):
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
    values = [word.partition("=")[2] for word in line.split() if word.startswith(f"{name}=")]
    return values[-1] if values and values[-1] else None


def _not_yet(reading: Reading) -> tuple[str, int, str] | None:
    """File, line and value of an `elevator=` that the boot loader will pass at the next start at the earliest."""
    for file, number, text in _lines(reading, (*FILES, *_in_folders(reading))):
        if match := re.search(r"\belevator=([\w-]{1,40})", text):
            return file, number, match[1]
    return None


def origin(reading: Reading, words: str) -> tuple[str, int | None]:
    """The boot loader's file and line where the parameter comes from; the running command line if none is found."""
    for file, number, text in _lines(reading, (*FILES, *_in_folders(reading), *WRITTEN)):
        if words in text:
            return file, number
    return "/proc/cmdline", None


def _in_folders(reading: Reading) -> list[str]:
    return [
        f"{folder}/{name}" for folder, ending in FOLDERS.items() for name in reading.names(folder) if name.endswith(ending)
    ]  # fmt: skip


def _lines(reading: Reading, files: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    for file in files:
        for number, text in reading.lines(file):
            if not text.lstrip().startswith("#"):
                yield file, number, text
