"""The active TuneD profile: which disk and sysfs values it sets, with includes, merging and variables resolved.

Read as facts from TuneD 2.20.0 (Debian `tuned_2.20.0-1_all.deb`, profiles/{loader,merger,unit}.py, plugins/{base,plugin_disk,
plugin_sysfs}.py):

- a profile of /etc/tuned hides one of the same name in /usr/lib/tuned;
- an included profile's units come first; a unit of the same name updates options but replaces type, enabled and devices;
- each disk is given to the first disk unit whose `devices` match it, and to no later one;
- the disk plugin takes `elevator`, and `readahead` in KiB (`8192 s`: sectors; `>4096`: only if it is lower);
- it looks at disks that are not removable and whose parent is scsi, virtio, xen or nvme, or that have no parent.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.shell_writes import path_sets
from seekwise.linux.tree import Tree

FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
INCLUDES_MAX = 50


@dataclass
class TunedUnit:
    """A section of a merged profile; `options`: {name: (value, file, line)}."""

    name: str
    type: str
    enabled: bool = True
    devices: str = "*"
    udev_regex: str | None = None
    conditional: bool = False
    """Depends on the processor or the kernel's name: not decided here."""
    options: dict[str, tuple[str, str, int]] = field(default_factory=dict)


def active_profiles(tree: Tree) -> list[str]:
    """Names as TuneD keeps them, in the order in which they are merged."""
    return (tree.text("/etc/tuned/active_profile") or "").split()


def runs(tree: Tree) -> bool:
    """Whether TuneD's service is up, or is started at boot."""
    if tree.live:
        return tree.exists("/run/tuned/tuned.pid") or tree.exists("/run/tuned")
    return any(
        tree.exists(f"/etc/systemd/system/{target}.target.wants/tuned.service") for target in ("multi-user", "sysinit")
    )


def profile_file(tree: Tree, name: str) -> str | None:
    """Path of a profile's tuned.conf, the user's before the distribution's; None where there is none."""
    for folder in FOLDERS:
        path = f"{folder}/{name.removeprefix('-')}/tuned.conf"
        if tree.exists(path):
            return path
    return None


def merged_units(tree: Tree, names: list[str]) -> tuple[list[TunedUnit], bool]:
    """Units of these profiles and all that they include, in the order in which they start; whether all could be read."""
    units: dict[str, TunedUnit] = {}
    variables: dict[str, str] = {}
    seen: set[str] = set()
    complete = True
    for name in names:
        complete &= _load(tree, name, units, variables, seen)
    for unit in units.values():
        unit.devices = _expanded(unit.devices, variables)
        unit.options = {
            key: (_expanded(value, variables), file, line) for key, (value, file, line) in unit.options.items()
        }
    priority = {key: _number(unit.options.get("priority", ("0", "", 0))[0]) for key, unit in units.items()}
    return [units[key] for key in sorted(units, key=lambda key: priority[key]) if units[key].enabled], complete


def _load(tree: Tree, name: str, units: dict[str, TunedUnit], variables: dict[str, str], seen: set[str]) -> bool:
    file = profile_file(tree, name)
    if file is None:
        return name.startswith("-")
    if file in seen or len(seen) >= INCLUDES_MAX:
        return True
    seen.add(file)
    sections = _sections(tree.text(file) or "", file)
    complete = True
    for include in re.split(r"\s*[,;]\s*", sections.get("main", {}).get("include", ("", "", 0))[0]):
        if include:
            complete &= _load(tree, _expanded(include, variables), units, variables, seen)
    for section, options in sections.items():
        if section == "variables":
            variables.update({key: value for key, (value, _, _) in options.items()})
        elif section != "main":
            _merge(units, section, dict(options))
    return complete


def _sections(text: str, file: str) -> dict[str, dict[str, tuple[str, str, int]]]:
    sections: dict[str, dict[str, tuple[str, str, int]]] = {}
    current: dict[str, tuple[str, str, int]] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if match := re.fullmatch(r"\[([^\]]+)\].*", line):
            current = sections.setdefault(match[1].strip(), {})
        elif current is not None and "=" in line:
            key, _, value = re.sub(r"\s#.*$", "", line).partition("=")
            current[key.strip()] = (value.strip(), file, number)
    return sections


def _merge(units: dict[str, TunedUnit], name: str, options: dict[str, tuple[str, str, int]]) -> None:
    def take(key: str) -> str | None:
        return options.pop(key, (None, "", 0))[0]

    unit = TunedUnit(name, take("type") or name)
    unit.enabled = (take("enabled") or "1").lower() in ("true", "1")
    replace = (take("replace") or "0").lower() in ("true", "1")
    dropped = re.split(r"\s*[,;]\s*", take("drop") or "")
    unit.devices = take("devices") or "*"
    unit.udev_regex = take("devices_udev_regex")
    unit.conditional = bool(take("cpuinfo_regex")) | bool(take("uname_regex"))
    unit.options = options
    old = units.get(name)
    if old is not None and not replace:
        kept = {key: value for key, value in old.options.items() if key not in dropped}
        unit.options = {**kept, **options}
        unit.udev_regex = unit.udev_regex or old.udev_regex
        unit.conditional |= old.conditional
    # A key keeps its place in a dictionary when its value is replaced, as in TuneD's.
    units[name] = unit


def _expanded(text: str, variables: dict[str, str]) -> str:
    for _ in range(5):
        text = re.sub(r"\$\{(\w+)\}", lambda match: variables.get(match[1], match[0]), text)
    return text


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def matches(devices: str, name: str) -> bool:
    """TuneD's device expression: globs, `!` excludes, nothing positive means everything."""
    rules = [rule for rule in re.split(r"\s+|,\s*", devices) if rule]
    positive = [rule for rule in rules if not rule.startswith("!")] or ["*"]
    negative = [rule[1:] for rule in rules if rule.startswith("!")]
    return any(fnmatch.fnmatch(name, rule) for rule in positive) and not any(
        fnmatch.fnmatch(name, rule) for rule in negative
    )


def disk_plugin_takes(device: BlockDevice) -> bool:
    """Whether the disk plugin looks at this device at all."""
    if device.kind in ("partition", "optical") or device.details.get("removable"):
        return False
    if device.kind == "nvme":
        # With native multipathing the head's parent is of the subsystem nvme-subsystem.
        return not device.details.get("native_multipath") and not device.details.get("hidden_path")
    return device.kind in (
        "disk",
        "virtio",
        "xen",
        "md",
        "lvm",
        "crypt",
        "multipath",
        "dm",
        "dmraid",
        "loop",
        "zram",
        "null",
    )


def read_ahead_kib(value: str) -> tuple[str, bool] | None:
    """KiB, and whether it is a lower bound; None for what TuneD would refuse."""
    # plugin_disk.py, _parse_ra: a word after the number counts by its first letter; `8192s` in one word is refused.
    match = re.fullmatch(r"([<>]?)\s*(\d+)(?:\s+(.*))?", value.strip())
    if match is None:
        return None
    in_sectors = (match[3] or "").startswith("s")
    return str(int(match[2]) // 2 if in_sectors else int(match[2])), match[1] == ">"


def unit_of(units: list[TunedUnit], name: str) -> tuple[TunedUnit | None, bool]:
    """The disk unit that a device is given to, and whether that is certain."""
    certain = True
    for unit in units:
        if unit.type != "disk":
            continue
        if unit.udev_regex is not None or unit.conditional:
            certain = False
            continue
        if matches(unit.devices, name):
            return unit, certain
    return None, certain


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    """Scheduler and read-ahead that the active profiles set; certain only while TuneD runs."""
    units, _ = merged_units(tree, active_profiles(tree))
    running = runs(tree)
    for device in stack.devices.values():
        if not disk_plugin_takes(device):
            continue
        unit, certain = unit_of(units, device.name)
        if unit is None:
            continue
        for option, attribute in (("elevator", "queue/scheduler"), ("readahead", "queue/read_ahead_kb")):
            if option in unit.options:
                value, file, line = unit.options[option]
                parsed = read_ahead_kib(value) if option == "readahead" else (value, False)
                if parsed is not None:
                    rank = (assignment.TUNED, 0, unit.name, line)
                    yield Setter(
                        "tuned", file, line, device.name, attribute, parsed[0], rank, certain and running, parsed[1]
                    )
    for index, unit in enumerate(units):
        if unit.type == "sysfs":
            for path, (value, file, line) in unit.options.items():
                for name, attribute in path_sets(path, stack):
                    rank = (assignment.TUNED, 1 + index, unit.name, line)
                    yield Setter("tuned", file, line, name, attribute, value, rank, not unit.conditional and running)
