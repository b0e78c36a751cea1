"""Options of kernel modules that decide about disks, from modprobe.d(5) and, as MODULE.OPTION=VALUE, from the boot
line.

options libata force=noncq                 a SATA drive takes one command at a time
options qla2xxx ql2xmaxqdepth=64           commands that a LUN behind this Fibre Channel adapter takes at once
options zfs zfs_vdev_scheduler=none        ZFS set the scheduler of its disks itself, until 0.8.2
options usb-storage quirks=152d:0578:u     this USB bridge without UAS: one command at a time (as `blacklist uas`, of all of them)
options scsi_mod use_blk_mq=0              the single queue, until Linux 4.20 (commit f664a3cc17b7)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.facts import kernel_version
from seekwise.linux.members import zfs_members
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.boot_line import noncq, origin
from seekwise.linux.setters.reading import Reading

FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
DEPTH_OPTIONS = {"lpfc": "lpfc_lun_queue_depth", "qla2xxx": "ql2xmaxqdepth"}
"""Linux drivers/scsi/lpfc/lpfc_attr.c and qla2xxx/qla_os.c: the depth of each LUN when it is found."""
WITHOUT_SCHEDULER = (0, 8, 3)
"""OpenZFS release that no longer changes schedulers ("Remove zfs_vdev_elevator module option", 9e17e6f)."""


def read(reading: Reading) -> Iterator[Setter]:
    """What options of modules set; those that have lost their effect are noted as such."""
    stack = reading.stack
    for module, option, value, file, line in _options(reading):
        if DEPTH_OPTIONS.get(module) == option:
            for device in stack.devices.values():
                if device.driver == module and device.queue_depth is not None:
                    yield _setter(file, line, device.name, "device/queue_depth", value)
        elif (module, option) == ("libata", "force") and file.startswith(FOLDERS):
            for device in stack.devices.values():
                if device.transport in ("sata", "ata") and noncq(f"libata.force={value}", device):
                    yield _setter(file, line, device.name, "device/queue_depth", "1")
        elif (module, option) in NO_UAS:
            for device in stack.devices.values():
                without = device.driver == "usb-storage" and device.queue_depth is not None
                if without and (option == "blacklist" or _is_quirk(value, reading, device)):
                    yield _setter(file, line, device.name, "device/queue_depth", "1")
        elif option in ("zfs_vdev_scheduler", "zfs_vdev_elevator") and value not in ("", "none"):
            release = kernel_version(reading.tree.text("/sys/module/zfs/version"))
            if release and release < WITHOUT_SCHEDULER:
                for name in sorted(zfs_members(reading.tree, stack)):
                    yield _setter(file, line, name, "queue/scheduler", value)
            else:
                reason = "since OpenZFS 0.8.3 ZFS sets no scheduler"
                _note(reading, file, line, value, reason, "a udev rule sets it: `seekwise apply --persist udev`")
        elif module in ("scsi_mod", "dm_mod") and option == "use_blk_mq" and kernel_version(stack.kernel) >= (5, 0):
            wants = value.lower() in ("1", "y")
            reason = f"since Linux 5.0 every disk is multi-queue, and {module} ignores use_blk_mq"
            always = "nothing is missing: what it asks for is always on"
            instead = always if wants else "take the schedulers of the multi-queue kernel"
            _note(reading, file, line, value, reason, instead)


NO_UAS = frozenset({("usb_storage", "quirks"), ("uas", "blacklist")})
"""Module and option."""


def _is_quirk(value: str, reading: Reading, device: BlockDevice) -> bool:
    """Whether `VID:PID:flags,…` has `u`, which keeps UAS away, for the device's bridge (usb-storage.quirks, Linux
    kernel-parameters.txt)."""
    folder = reading.tree.resolve(f"/sys/block/{device.name}") or ""
    ids = ""
    while folder.startswith("/sys/devices/") and not ids:
        numbers = [reading.attribute(f"{folder}/{name}") for name in ("idVendor", "idProduct")]
        ids = ":".join(number.strip().lower() for number in numbers if number)
        folder = folder.rpartition("/")[0]
    entries = (entry.lower().rpartition(":") for entry in value.split(","))
    return any(name == ids and "u" in flags for name, _, flags in entries)


def _setter(file: str, line: int | None, device: str, attribute: str, value: str) -> Setter:
    kind = "modprobe" if file.startswith(FOLDERS) else "boot"
    return Setter(kind, file, line, device, attribute, value, (assignment.BOOT, 2, file, line or 0))


def _note(reading: Reading, file: str, line: int | None, value: str, reason: str, instead: str) -> None:
    kind = "modprobe" if file.startswith(FOLDERS) else "boot"
    reading.note(Ineffective(kind, file, line, None, "queue/scheduler", value, reason, instead))


def _options(reading: Reading) -> Iterator[tuple[str, str, str, str, int | None]]:
    """Module, option, value, file and line; a file that holds none of them is not one that was read."""
    for folder in FOLDERS:
        for name in reading.names(folder):
            file = f"{folder}/{name}"
            for number, line in reading.lines(file) if name.endswith(".conf") else ():
                words = line.split()
                # `install MODULE /bin/false` keeps it away as a line `blacklist` does.
                if words[:1] == ["blacklist"] or (words[:1] == ["install"] and words[-1].endswith(("/false", "/true"))):
                    yield "".join(words[1:2]).replace("-", "_"), "blacklist", "", file, number
                for word in words[2:] if words[:1] == ["options"] else ():
                    option, sign, value = word.partition("=")
                    if sign:
                        yield words[1].replace("-", "_"), option, value.strip("\"'"), file, number
    for word in (reading.attribute("/proc/cmdline") or "").split():
        if match := re.fullmatch(r"(?:module_|modprobe\.)blacklist=(.{1,200})", word):
            yield from (
                (name.replace("-", "_"), "blacklist", "", *origin(reading, word)) for name in match[1].split(",")
            )
        elif match := re.fullmatch(r"([\w-]{1,40})\.(\w{1,60})=(.{0,200})", word):
            yield match[1].replace("-", "_"), match[2], match[3], *origin(reading, word)
