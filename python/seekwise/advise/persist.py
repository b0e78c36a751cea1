"""Values that outlive a reboot: one small file of ours per way, never an edit of somebody else's.

| way | file | read by |
|---|---|---|
| `udev` | `/etc/udev/rules.d/65-seekwise.rules` | udev, whenever the drive appears; finds it by serial |
| `sysfs.conf` | `/etc/sysfs.d/seekwise.conf` | sysfsutils at boot; by kernel name |
| `boot` | `/etc/modules-load.d/seekwise.conf` | systemd at boot: loads the scheduler's module |
| `tuned` | `/etc/tuned/seekwise/tuned.conf` | TuneD, once `tuned-adm profile seekwise` chooses it |

What an earlier call wrote stays (`merge`). Each file is journalled before it is written, with everything that it was (`exact`), and
taken back by `seekwise revert`, unless somebody has edited it since. `apply.apply` writes files and settings as one.

Not done: kernels before 5.0 take the scheduler of all disks from the boot parameter `elevator=`; that one is only said.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seekwise.advise import exact, merge
from seekwise.control import attributes, files, interrupt, notice
from seekwise.control.journal import Entry, Journal
from seekwise.control.settings import Changes, normalised
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.linux.model import BlockDevice, Stack

HEAD = "# Written by seekwise; `seekwise revert` takes it back.\n"


@dataclass(frozen=True)
class File:
    """What goes where; `notes` say what else is needed; `merged_with`: what was there, None if nobody looked."""

    path: Path
    text: str
    notes: tuple[str, ...] = ()
    merged_with: str | None = None


# Neither quotes nor what udev, sysfsutils or TuneD would take for a pattern, a variable or a new line.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:+/=@#-]*")


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
    if known and "dm_uuid" in known.details and _PLAIN.fullmatch(str(known.details["dm_uuid"])):
        return f'ENV{{DM_UUID}}=="{known.details["dm_uuid"]}"', ""
    if known and known.kind == "md" and known.details.get("uuid"):
        return f'KERNEL=="{device}"', f"{device} is matched by its kernel name: give arrays fixed numbers in mdadm.conf"
    if known and serial and _PLAIN.fullmatch(serial):
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
    """The file of a way with what `wanted` says and what it says already of other devices and settings. Changes nothing."""
    values = normalised(wanted)
    for device, settings in values.items():
        for name, value in settings.items():
            if not _PLAIN.fullmatch(value) or not _PLAIN.fullmatch(device):
                raise UsageError(f"{device} {name} = {value!r} cannot be written to a configuration file")
    made = WAYS[way](values, stack)
    there = exact.text(stack.root / made.path.relative_to("/"))
    return replace(made, text=merge.WAYS[way](there, made.text) if there else made.text, merged_with=there)


def write(made: Sequence[File], journal: Journal | None = None, root: Path = Path("/")) -> Entry | None:
    """Writes the files, journalled, all or none; None if all of them were there already."""
    journal = journal if journal is not None else Journal()
    with interrupt.stoppable(), interrupt.held():
        entry = open_entry(made, journal, root)
        if entry is None:
            return None
        try:
            write_items(entry)
            return journal.update(entry, pending=None)
        except BaseException:
            for item in reversed(entry.items):
                take_back(item)
            notice.warn(journal.close(entry))
            raise


def open_entry(made: Sequence[File], journal: Journal, root: Path = Path("/")) -> Entry | None:
    """Looks whether the files can be written, and journals what is there; `pending` until somebody says that it is done."""
    items = []
    for file in made:
        path = root / file.path.relative_to("/")
        before = exact.state(path)
        if exact.content(before) == file.text.encode():
            continue
        if file.merged_with and root == Path("/") and exact.text(path) != file.merged_with:
            raise SeekwiseError(f"{path} has just been changed by somebody else", "try again")
        missing = _missing_folders(path)
        above = (missing[0] if missing else path).parent
        if not os.access(above, os.W_OK | os.X_OK):
            if os.geteuid() != 0:
                raise MissingError(f"{path} cannot be written without root", "run it with sudo")
            raise SeekwiseError(f"{path} cannot be written: {above} is read-only", "nothing was changed")
        items.append({"file": str(path), "before": before, "written": file.text, "made": list(map(str, missing))})
    return journal.open("persisted", items, pending=True) if items else None


def _missing_folders(path: Path) -> list[Path]:
    """Folders that have to be made for a file, the outermost first."""
    return [parent for parent in reversed(path.parents) if not os.path.lexists(parent)]


def write_items(entry: Entry) -> None:
    """Writes the files of an entry that is open."""
    for item in entry.items:
        path, before = Path(item["file"]), item["before"] or {}
        try:
            for folder in item["made"]:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o755)
            owner = (before["uid"], before["gid"]) if "bytes" in before else None
            files.write_whole(path, item["written"].encode(), before.get("mode", 0o644), owner=owner)
        except OSError as error:
            if isinstance(error, PermissionError) and os.geteuid() != 0:
                raise MissingError(f"{path} cannot be written without root", "run it with sudo") from error
            raise SeekwiseError(f"{path} cannot be written ({error.strerror})", "nothing was changed") from error


def take_back(item: Mapping[str, object]) -> str:
    """Makes one file what it was; what somebody has edited since stays, and is said."""
    path, before = Path(str(item["file"])), item["before"]
    if isinstance(before, str):  # as an earlier version kept it
        before = {
            "bytes": exact.encoded(before.encode()),
            "mode": 0o644,
            "uid": 0,
            "gid": 0,
            "xattrs": {},
            "mtime_ns": 0,
        }
    for draft in path.parent.glob(f".{path.name}.*"):
        # What a killed writer had begun.
        if draft.name.rpartition(".")[2].isdecimal():
            draft.unlink(missing_ok=True)
    now = exact.state(path)
    said = f"{path} is as before"
    if exact.same(now, before):
        said += " already"
    elif now is not None and exact.content(now) != str(item["written"]).encode():
        return f"{path} has been edited since: it stays as it is"
    elif before is None:
        path.unlink(missing_ok=True)
        said = f"{path} is removed"
    elif now is None and "bytes" in before and not path.parent.is_dir():
        said = f"{path} has gone with its folder"
    else:
        exact.restore(path, before)
    for folder in reversed(item.get("made", [])):
        try:
            os.rmdir(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY):
                raise  # else somebody uses it by now
    return said


def _ordered(values: Mapping[str, str]) -> list[str]:
    return sorted(values, key=attributes.order)


def _relative(name: str, stack: Stack, device: str) -> str:
    from seekwise.advise.lines import sysfs_path

    return str(sysfs_path(device, name, stack.root).relative_to(Path("/sys/block") / device))


def _is_single_queue(kernel: str | None) -> bool:
    major = (kernel or "").partition(".")[0]
    return major.isdigit() and int(major) < 5
