"""Values that outlive a reboot: one small file of ours per way, never an edit of somebody else's.

| way | file | read by |
|---|---|---|
| `udev` | `/etc/udev/rules.d/65-seekwise.rules` | udev, whenever the drive appears; finds it by serial |
| `sysfs.conf` | `/etc/sysfs.d/seekwise.conf` | sysfsutils at boot; by kernel name |
| `boot` | `/etc/modules-load.d/seekwise.conf` | systemd at boot: loads the scheduler's module |
| `tuned` | `/etc/tuned/seekwise/tuned.conf` | TuneD, once `tuned-adm profile seekwise` chooses it |

Each file is journalled before it is written (what was there before, if anything) and taken back by `seekwise revert`, unless
somebody has edited it since.

Not done: kernels before 5.0 take the scheduler of all disks from the boot parameter `elevator=`; that one is only said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import attributes, interrupt
from seekwise.control.journal import Entry, Journal, write_durably
from seekwise.control.settings import Changes, normalised
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.linux.model import BlockDevice, Stack

HEAD = "# Written by seekwise; `seekwise revert` takes it back.\n"


@dataclass(frozen=True)
class File:
    """What goes where; `notes` say what else is needed."""

    path: Path
    text: str
    notes: tuple[str, ...] = ()


def udev(wanted: dict[str, dict[str, str]], stack: Stack) -> File:
    rules = []
    notes = []
    for device, values in wanted.items():
        match, note = _udev_match(device, stack.devices.get(device))
        notes += [note] if note else []
        # Above a mapping, its table decides the limits: it is only ready with the change event.
        action = "add|change" if device.startswith("dm-") else "add"
        # ATTR is relative to the disk's folder in sysfs, in the order of writing.
        sets = ", ".join(f'ATTR{{{_relative(name, stack, device)}}}="{values[name]}"' for name in _ordered(values))
        rules.append(f'ACTION=="{action}", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", {match}, {sets}\n')
    notes.append("takes effect when the drive appears; now: `udevadm control --reload`")
    return File(Path("/etc/udev/rules.d/65-seekwise.rules"), HEAD + "".join(rules), tuple(notes))


def _udev_match(device: str, known: BlockDevice | None) -> tuple[str, str]:
    """Names the drive, not the place: sda may be another one after the next boot."""
    serial = (known.serial or "").strip() if known else ""
    if known and "dm_uuid" in known.details:
        return f'ENV{{DM_UUID}}=="{known.details["dm_uuid"]}"', ""
    if known and known.kind == "md" and known.details.get("uuid"):
        return f'KERNEL=="{device}"', f"{device} is matched by its kernel name: give arrays fixed numbers in mdadm.conf"
    if known and serial and not set(serial) & set('"*?[]|\\'):
        if known.kind == "disk" and known.transport in ("sas", "scsi", "fc", "iscsi", "raid"):
            return f'ENV{{ID_SCSI_SERIAL}}=="{serial}"', ""
        if known.kind in ("disk", "nvme", "mmc"):
            return f'ENV{{ID_SERIAL_SHORT}}=="{serial}"', ""
        if known.kind == "virtio":
            return f'ENV{{ID_SERIAL}}=="{serial}"', ""
    return f'KERNEL=="{device}"', f"{device} has no serial that udev knows: the rule matches its kernel name"


def sysfs_conf(wanted: dict[str, dict[str, str]], stack: Stack) -> File:
    lines = [
        f"block/{device}/{_relative(name, stack, device)} = {values[name]}\n"
        for device, values in wanted.items()
        for name in _ordered(values)
    ]
    notes = ["needs the package sysfsutils", "goes by kernel names, which may move between drives: udev is safer"]
    return File(Path("/etc/sysfs.d/seekwise.conf"), HEAD + "".join(lines), tuple(notes))


def boot(wanted: dict[str, dict[str, str]], stack: Stack) -> File:
    schedulers = sorted({values["queue/scheduler"] for values in wanted.values() if "queue/scheduler" in values})
    modules = [module for name in schedulers if (module := attributes.SCHEDULER_MODULES.get(name))]
    if not modules:
        raise UsageError(
            f"no module is needed at boot for {', '.join(schedulers) or 'these values'}",
            "`--persist udev` sets the values",
        )
    notes = ["loads the module only: `--persist udev` sets the values"]
    if _is_single_queue(stack.kernel):
        notes.append(
            f"kernel {stack.kernel} takes the boot parameter `elevator={schedulers[0]}`, for all disks at once"
        )
    return File(
        Path("/etc/modules-load.d/seekwise.conf"), HEAD + "".join(f"{module}\n" for module in modules), tuple(notes)
    )


def tuned(wanted: dict[str, dict[str, str]], stack: Stack) -> File:
    sections = [f"[main]\nsummary=What seekwise measured to be best here\n{_included(stack)}"]
    rest = []
    for device, values in wanted.items():
        disk = []
        for name in _ordered(values):
            if name == "queue/scheduler":
                disk.append(f"elevator={values[name]}")
            elif name == "queue/read_ahead_kb":
                # TuneD counts in sectors of 512 bytes unless told otherwise.
                disk.append(f"readahead={int(values[name]) * 2}")
            else:
                rest.append(f"/sys/block/{device}/{_relative(name, stack, device)}={values[name]}")
        if disk:
            sections.append(f"[disk_{device}]\ntype=disk\ndevices={device}\n" + "\n".join(disk) + "\n")
    if rest:
        sections.append("[sysfs]\n" + "\n".join(rest) + "\n")
    notes = ("takes effect with `tuned-adm profile seekwise`",)
    return File(Path("/etc/tuned/seekwise/tuned.conf"), HEAD + "\n".join(sections), notes)


def _included(stack: Stack) -> str:
    """The profile in force stays the base."""
    try:
        active = (stack.root / "etc/tuned/active_profile").read_text().split()
    except OSError:
        return ""
    return f"include={active[0]}\n" if active and active[0] != "seekwise" else ""


WAYS: dict[str, Callable[[dict[str, dict[str, str]], Stack], File]] = {
    "udev": udev,
    "sysfs.conf": sysfs_conf,
    "boot": boot,
    "tuned": tuned,
}


def file_for(way: str, wanted: Changes, stack: Stack) -> File:
    return WAYS[way](normalised(wanted), stack)


def write(files: list[File], journal: Journal | None = None, root: Path = Path("/")) -> Entry | None:
    """Writes the files, journalled; None if all of them were there already."""
    journal = journal if journal is not None else Journal()
    items = []
    for file in files:
        path = root / file.path.relative_to("/")
        before = _text(path)
        if before != file.text:
            items.append({"file": str(path), "before": before, "written": file.text})
    if not items:
        return None
    with interrupt.stoppable(), interrupt.held():
        entry = journal.open("persisted", items)
        try:
            for item in items:
                path = Path(item["file"])
                path.parent.mkdir(parents=True, exist_ok=True)
                write_durably(path, item["written"])
        except OSError as error:
            for item in items:
                take_back(item)
            journal.close(entry)
            if isinstance(error, PermissionError) and os.geteuid() != 0:
                raise MissingError(
                    f"{error.filename or path} cannot be written without root", "run it with sudo"
                ) from error
            raise SeekwiseError(f"{path} cannot be written ({error.strerror})") from error
    return entry


def take_back(item: Mapping[str, object]) -> str:
    """Puts one file back as it was; what somebody has edited since stays, and is said."""
    path, before = Path(str(item["file"])), item["before"]
    now = _text(path)
    if now == before:
        return f"{path} is as before already"
    if now is not None and now != item["written"]:
        return f"{path} has been edited since: it stays as it is"
    if before is None:
        path.unlink(missing_ok=True)
        return f"{path} is removed"
    write_durably(path, str(before))
    return f"{path} is as before"


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _ordered(values: Mapping[str, str]) -> list[str]:
    return sorted(values, key=attributes.order)


def _relative(name: str, stack: Stack, device: str) -> str:
    from seekwise.advise.lines import sysfs_path

    return str(sysfs_path(device, name, stack.root).relative_to(Path("/sys/block") / device))


def _is_single_queue(kernel: str | None) -> bool:
    major = (kernel or "").partition(".")[0]
    return major.isdigit() and int(major) < 5
