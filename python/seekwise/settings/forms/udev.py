"""udev rules: whenever the drive appears, found by what the drive says of itself and not by its kernel name.

A match uses the property exactly as udev's own rules record it (udev 252: 60-persistent-storage.rules, ata_id,
scsi_id), read from the machine's udev database, or derived from the serial by the same replacement where there is no
database. What remains unusual in it is matched by `?`, so no character of a serial can end the string or start a
pattern.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

from seekwise.control import kernel_faults
from seekwise.errors import UsageError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.setters import Setter, udev_rules
from seekwise.linux.setters.pattern import matches
from seekwise.linux.setters.reading import Reading
from seekwise.linux.udev import read_udev
from seekwise.settings.forms.file import HEAD, File, Wanted, checked, ordered, relative, tree_of

PATH = Path("/etc/udev/rules.d/65-seekwise.rules")
PLAIN = re.compile(r"[A-Za-z0-9 #+.:=@_/,-]")
SERIAL_KEYS = ("ID_SERIAL_SHORT", "ID_SCSI_SERIAL", "ID_WWN_WITH_EXTENSION", "ID_WWN", "ID_SERIAL")
SCSI_KEYS = ("ID_SCSI_SERIAL", "ID_SERIAL_SHORT", "ID_WWN_WITH_EXTENSION", "ID_WWN", "ID_SERIAL")


def file(wanted: Wanted, stack: Stack) -> File:
    """Rules that match each drive by its serial number, and by its kernel name where udev knows none."""
    rules = rules_only(wanted, stack)
    # The rules of drives act on `add` alone; what is not ready at `add` is triggered as it was when it became so.
    action = "change" if rules.text.count('ACTION=="') == rules.text.count('ACTION=="add|change"') else "add"
    names = " ".join(f"--sysname-match={shlex.quote(name.replace('/', '!'))}" for name in wanted)
    now = f"udevadm control --reload && udevadm trigger --action={action} --subsystem-match=block {names}"
    return replace(rules, notes=(*rules.notes, f"takes effect when the drive appears; now, as root: `{now}`"))


def rules_only(wanted: Wanted, stack: Stack) -> File:
    """The file without saying how it takes effect."""
    rules, notes = [], []
    reading = Reading(tree_of(stack), stack)
    rivals = [setter for setter in reading.source("udev", udev_rules.read) if setter.on_change and not setter.is_ours]
    for device, values in wanted.items():
        known = stack.devices.get(device)
        if known is not None and known.details.get("hidden_path"):
            # block/genhd.c sends no uevent for a disk with GENHD_FL_HIDDEN.
            notes.append(f"udev hears nothing of the hidden path {device}: `sysfs.conf` and `tuned` can set it")
            continue
        match, note = match_for(device, values, wanted, stack)
        met = kernel_faults.met(stack.root / "sys/block" / device, values, "udev", at_start=True)
        notes += [note, *(said for _, said in met)]
        # Arrays and mappings are ready only with the change event that follows their table. A drive is set once, when
        # it appears, so that a value that is set by hand stays; unless another rule sets it again at each change.
        action = "add|change" if device.startswith(("dm-", "md")) or _contested(device, values, rivals) else "add"
        sets = ", ".join(
            f'ATTR{{{_attribute(name, device, stack)}}}="{_value(checked(device, name, values[name]))}"'
            for name in ordered(values)
        )
        rules.append(f'ACTION=="{action}", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", {match}, {sets}\n')
    # Paths to one unit share a rule.
    return File(PATH, HEAD + "".join(dict.fromkeys(rules)), tuple(filter(None, dict.fromkeys(notes))))


def _contested(device: str, values: dict[str, str], rivals: list[Setter]) -> bool:
    return any(rival.device == device and values.get(rival.attribute, rival.value) != rival.value for rival in rivals)


def match_for(device: str, values: dict[str, str], wanted: Wanted, stack: Stack) -> tuple[str, str]:
    """The match that names the drive, and a note where only its kernel name is left."""
    if not re.fullmatch(r"[A-Za-z0-9!._-]+", device):
        raise UsageError(f"{device!r} is no name of a block device")
    known = stack.devices.get(device)
    # udev knows cciss!c0d0 by its name in /dev.
    by_name = f'KERNEL=="{device.replace("!", "/")}"'
    if known is None:
        return by_name, f"{device} is not on this machine: the rule matches its kernel name"
    for key, value in properties(known, stack).items():
        pattern = escaped(value)
        if not re.search(r"[A-Za-z0-9]", pattern):
            continue
        # One drive under several names (paths) may share a match, if all of them are to be set alike.
        others = [
            other.name
            for other in stack.devices.values()
            if other.name != device
            and other.kind != "partition"
            and matches(pattern, properties(other, stack).get(key, ""))
            and wanted.get(other.name) != values
        ]
        if not others:
            return f'ENV{{{key}}}=="{pattern}"', ""
    if known.kind == "md":
        return by_name, f"{device} is matched by its kernel name: give arrays fixed numbers in mdadm.conf"
    return by_name, f"{device} has no serial that udev knows: the rule matches its kernel name"


def properties(device: BlockDevice, stack: Stack) -> dict[str, str]:
    """Properties in udev's database that name this device across restarts, the best first."""
    entry = read_udev(tree_of(stack), device.name, device.major_minor)
    if device.name.startswith("dm-"):
        uuid = entry.properties.get("DM_UUID") or str(device.details.get("dm_uuid") or "")
        return {"DM_UUID": uuid} if uuid else {}
    if device.kind == "md":
        uuid = entry.properties.get("MD_UUID", "")
        # A container of firmware RAID has none and shows zeros.
        return {"MD_UUID": uuid} if uuid.strip("0:") else {}
    is_scsi = entry.properties.get("ID_BUS") == "scsi" or device.transport in ("sas", "scsi", "fc", "iscsi", "raid")
    keys = SCSI_KEYS if is_scsi else SERIAL_KEYS
    known = {key: entry.properties[key] for key in keys if entry.properties.get(key)}
    return known or _derived(device)


def _derived(device: BlockDevice) -> dict[str, str]:
    """The property that udev would record for a serial, where its database cannot be read."""
    serial = (device.serial or "").strip("\0 \t\r\n")
    if not serial or isinstance(device.details.get("controller"), dict):
        return {}
    if device.kind in ("nvme", "mmc"):
        return {"ID_SERIAL_SHORT" if device.kind == "nvme" else "ID_SERIAL": replaced(serial, "/ $%?,")}
    if device.kind == "virtio":
        return {"ID_SERIAL": replaced(serial, "/ $%?,")}
    if device.kind == "disk":
        key = "ID_SCSI_SERIAL" if device.transport in ("sas", "scsi", "fc", "iscsi", "raid") else "ID_SERIAL_SHORT"
        return {key: replaced(re.sub(r"\s+", "_", serial), "")}
    return {}


def replaced(text: str, also: str) -> str:
    """udev's own replacement of characters in values of attributes: what it does not allow becomes `_`; UTF-8 stays."""
    allowed = "#+-.:=@_" + also
    return "".join(
        character
        if (character.isascii() and character.isalnum())
        or character in allowed
        or (not character.isascii() and character.isprintable())
        else " "
        if character.isspace() and " " in also
        else "_"
        for character in text
    )


def escaped(value: str) -> str:
    """A pattern that matches `value` and holds only plain characters, `?` and `*`."""
    # udev compares bytes: one character beyond ASCII is several of them.
    return "".join(
        character if PLAIN.fullmatch(character) else "?" if character.isascii() else "*" for character in value
    )


def _attribute(name: str, device: str, stack: Stack) -> str:
    # The SCSI address may change with the next start; udev takes one `*` for a folder.
    return re.sub(r"scsi_disk/[^/]+/", "scsi_disk/*/", relative(name, device, stack))


def _value(value: str) -> str:
    return value.replace("%", "%%").replace("$", "$$")
