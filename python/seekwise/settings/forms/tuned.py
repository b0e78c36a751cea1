"""A TuneD profile that stands on the active one.

TuneD gives each disk to the first disk unit that matches it, and units of an included profile come first (facts in
`seekwise.linux.setters.tuned`). So an own unit for sda would never act below a profile with a `[disk]` section for all
disks: each such section is repeated here with our devices excluded, and our unit takes over its other options.
"""

from __future__ import annotations

import glob
from pathlib import Path

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import tuned as reader
from seekwise.linux.setters.reading import Reading
from seekwise.linux.tree import Tree
from seekwise.settings.forms.file import HEAD, File, Wanted, checked, ordered, path, tree_of

PROFILE = "seekwise"


def file(wanted: Wanted, stack: Stack) -> File:
    """A TuneD profile over the active ones, which keeps what they set on other devices."""
    tree = tree_of(stack)
    base = _base(tree)
    units, complete = reader.merged_units(Reading(tree, stack), base)
    disks = [unit for unit in units if unit.type == "disk"]
    taken = [device for device, values in wanted.items() if _for_disk_plugin(device, values, stack)]
    sections = [f"[main]\nsummary=I/O settings applied by seekwise\n{_include(base)}"]
    for unit in disks:
        excluded = [device for device in taken if reader.matches(unit.devices, device)]
        if excluded:
            devices = " ".join([unit.devices, *(f"!{device}" for device in excluded)])
            sections.append(f"[{unit.name}]\ntype=disk\ndevices={devices}\n")
    rest: list[str] = []
    for device, values in wanted.items():
        options: dict[str, str] = {}
        for name in ordered(values):
            value = checked(device, name, values[name])
            if device in taken and name == "queue/scheduler":
                options["elevator"] = value
            elif device in taken and name == "queue/read_ahead_kb":
                # KiB: plugin_disk.py, option `readahead`.
                options["readahead"] = value
            else:
                rest.append(f"{glob.escape(path(name, device, stack))}={value}")
        if device in taken:
            own, _ = reader.unit_of(units, device)
            kept = {key: value for key, (value, _, _) in (own.options if own else {}).items() if key != "priority"}
            lines = "".join(f"{key}={value}\n" for key, value in {**kept, **options}.items())
            sections.append(f"[disk_{device}]\ntype=disk\ndevices={device}\n{lines}")
    if rest:
        # A name of its own: an included `[sysfs]` would be started before the schedulers are set.
        sections.append("[sysfs_seekwise]\ntype=sysfs\n" + "\n".join(rest) + "\n")
    notes = ["takes effect with `tuned-adm profile seekwise`"]
    if not complete:
        notes.append(f"not every profile that {' '.join(base)} includes could be read: check its [disk] sections")
    return File(Path(f"/etc/tuned/{PROFILE}/tuned.conf"), HEAD + "\n".join(sections), tuple(notes))


def _for_disk_plugin(device: str, values: dict[str, str], stack: Stack) -> bool:
    known = stack.devices.get(device)
    return bool({"queue/scheduler", "queue/read_ahead_kb"} & set(values)) and (
        known is None or reader.disk_plugin_takes(known)
    )


def _base(tree: Tree) -> list[str]:
    """The profile in force stays the base; our own stands on what it was written for."""
    names = [name for name in reader.active_profiles(tree) if name != PROFILE]
    if names or PROFILE not in reader.active_profiles(tree):
        return names
    own = tree.text(f"/etc/tuned/{PROFILE}/tuned.conf") or ""
    included = next((line.partition("=")[2] for line in own.splitlines() if line.startswith("include=")), "")
    return [name.strip() for name in included.split(",") if name.strip()]


def _include(base: list[str]) -> str:
    return f"include={','.join(base)}\n" if base else ""
