"""The active TuneD profile: which disk and sysfs values it sets, with includes, merging and variables resolved.

Read as facts from TuneD 2.20.0 (Debian `tuned_2.20.0-1_all.deb`, profiles/{loader,merger,unit}.py,
plugins/{base,plugin_disk, plugin_sysfs}.py):

- a profile of /etc/tuned hides one of the same name in /usr/lib/tuned;
- an included profile's units come first; a unit of the same name updates options but replaces type, enabled and
  devices;
- each disk is given to the first disk unit whose `devices` match it, and to no later one;
- the disk plugin takes `elevator`, and `readahead` in KiB (`8192 s`: sectors; `>4096`: only if it is lower);
- it looks at disks that are not removable and whose parent is scsi, virtio, xen or nvme, or that have no parent.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.guest import hypervisor, knows
from seekwise.linux.setters import assignment, pattern
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading, is_enabled
from seekwise.linux.setters.shell import Search
from seekwise.linux.tree import Tree
from seekwise.linux.udev import read_udev

DISK_OPTIONS = (("elevator", "queue/scheduler"), ("readahead", "queue/read_ahead_kb"))
FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
INCLUDES_MAX = 50
LONGEST_LINE = 4096
LONGEST_VALUE = 4096
VARIABLE = re.compile(r"\$\{([^${}]{1,500})\}")


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
    return [
        name for kind in ("active", "post_loaded") for name in (tree.text(f"/etc/tuned/{kind}_profile") or "").split()
    ]


def runs(tree: Tree) -> bool:
    """Whether TuneD's service is up, or is started at boot."""
    if tree.live:
        return tree.exists("/run/tuned/tuned.pid") or tree.exists("/run/tuned")
    return is_enabled(tree, "tuned.service")


def profile_file(tree: Tree, name: str) -> str | None:
    """Path of a profile's tuned.conf, the user's before the distribution's; None where there is none."""
    for folder in FOLDERS:
        path = f"{folder}/{name.removeprefix('-')}/tuned.conf"
        if tree.exists(path):
            return path
    return None


@dataclass
class Profiles:
    """What the active profiles amount to while they are read."""

    reading: Reading
    units: dict[str, TunedUnit] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    complete: bool = True
    """Whether everything that they include could be read."""


def merged_units(reading: Reading, names: list[str]) -> tuple[list[TunedUnit], bool]:
    """Units of these profiles and all that they include, in the order in which they start; whether all could be
    read."""
    found = Profiles(reading)
    for name in names[:INCLUDES_MAX]:
        _load(found, name)
    units = found.units
    for unit in units.values():
        # A list of devices that cannot be evaluated is nobody's.
        unit.devices = _expanded(unit.devices, found) or "!*"
        unit.options = {
            option: (value, file, line)
            for key, (text, file, line) in unit.options.items()
            if (value := _expanded(text, found, f"{file}:{line}")) is not None
            and (option := _expanded(key, found)) is not None
        }
    priority = {key: _number(unit.options.get("priority", ("0", "", 0))[0]) for key, unit in units.items()}
    return [units[key] for key in sorted(units, key=lambda key: priority[key]) if units[key].enabled], found.complete


def _load(found: Profiles, name: str) -> None:
    """Merges a profile after those that it includes."""
    file = profile_file(found.reading.tree, name) if len(name) < 200 else None
    if file is None:
        found.complete &= name.startswith("-")
        return
    if file in found.seen or len(found.seen) >= INCLUDES_MAX:
        return
    found.seen.add(file)
    sections = _sections(found.reading, file)
    for include in _list(_expanded(sections.get("main", {}).get("include", ("", "", 0))[0], found, file) or ""):
        if include.startswith("${"):
            found.complete = False  # a function that only TuneD can call
        else:
            _load(found, include)
    for section, options in sections.items():
        if section == "variables":
            _take_variables(options, found)
        elif section != "main":
            _merge(found.units, section, dict(options), file)


def _take_variables(options: dict[str, tuple[str, str, int]], found: Profiles) -> None:
    """`include=FILE` within [variables] reads `name=value` lines of another file."""
    if include := options.get("include"):
        for line in found.reading.text((_expanded(include[0], found) or "")[:500]).splitlines():
            found.reading.spend(1)
            key, sign, value = line[:LONGEST_LINE].partition("=")
            if sign and not key.strip().startswith(("#", ";")):
                found.variables[key.strip()] = value.strip()
    found.variables.update({key: value for key, (value, _, _) in options.items() if key != "include"})


def _list(text: str) -> list[str]:
    return [path.strip() for path in text.replace(";", ",").split(",") if path.strip()]


def _sections(reading: Reading, file: str) -> dict[str, dict[str, tuple[str, str, int]]]:
    sections: dict[str, dict[str, tuple[str, str, int]]] = {}
    current: dict[str, tuple[str, str, int]] | None = None
    for number, raw in enumerate(reading.text(file).splitlines(), 1):
        reading.spend(1)
        line = raw[:LONGEST_LINE].strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and "]" in line:
            current = sections.setdefault(line[1:].partition("]")[0].strip(), {})
        elif current is not None and "=" in line:
            comment = min((at for sign in (" #", "\t#") if (at := line.find(sign)) >= 0), default=len(line))
            key, _, value = line[:comment].partition("=")
            current[key.strip()] = (value.strip(), file, number)
    return sections


def _merge(units: dict[str, TunedUnit], name: str, options: dict[str, tuple[str, str, int]], file: str) -> None:
    def take(key: str) -> str | None:
        return options.pop(key, (None, "", 0))[0]

    unit = TunedUnit(name, take("type") or name)
    unit.enabled = (take("enabled") or "1").lower() in ("true", "1")
    replace = (take("replace") or "0").lower() in ("true", "1")
    dropped = _list(take("drop") or "")
    unit.devices = take("devices") or "*"
    unit.udev_regex = take("devices_udev_regex")
    unit.conditional = bool(take("cpuinfo_regex")) | bool(take("uname_regex"))
    # PROFILE_DIR is the folder of the profile that the option stands in, not of the one that is active.
    folder = file.rpartition("/")[0]
    unit.options = {
        key: (value.replace("${i:PROFILE_DIR}", folder), place, line) for key, (value, place, line) in options.items()
    }
    old = units.get(name)
    if old is not None and not replace:
        kept = {key: value for key, value in old.options.items() if key not in dropped}
        unit.options = {**kept, **unit.options}
        unit.udev_regex = unit.udev_regex or old.udev_regex
        unit.conditional |= old.conditional
    # A key keeps its place in a dictionary when its value is replaced, as in TuneD's.
    units[name] = unit


def _expanded(text: str, found: Profiles, place: str = "TuneD profile") -> str | None:
    """Variables and the functions that files can answer; what is left of others stays. None, noted, for what grows
    without an end."""
    for _ in range(5):
        if "${" not in text:
            break
        pieces: list[str] = []
        at = length = 0
        for match in VARIABLE.finditer(text):
            found.reading.spend(1)
            piece = _replacement(match[1], match[0], found)
            pieces += [text[at : match.start()], piece]
            length += match.start() - at + len(piece)
            at = match.end()
            if length > LONGEST_VALUE:
                found.reading.leave_out(place, None, f"variables that grow beyond {LONGEST_VALUE:,} characters")
                return None
        following = "".join([*pieces, text[at:]])
        if following == text:
            break
        text = following
    return text


def _replacement(name: str, whole: str, found: Profiles) -> str:
    if name.startswith("f:virt_check:"):
        # TuneD's function asks virt-what: the first argument in a guest, the second on bare metal.
        arguments = name.split(":")[2:]
        if len(arguments) == 2 and knows(found.reading.tree):
            return arguments[0] if hypervisor(found.reading.tree) else arguments[1]
        found.complete = False
        return whole
    return found.variables.get(name, whole)


def _number(text: str) -> int:
    return assignment.number(text.lstrip("-")) or 0 if not text.startswith("-") else -(assignment.number(text[1:]) or 0)


def matches(devices: str, name: str, reading: Reading | None = None) -> bool:
    """TuneD's device expression: globs, `!` excludes, nothing positive means everything."""
    rules = devices[:LONGEST_VALUE].replace(",", " ").split()
    positive = [rule for rule in rules if not rule.startswith("!")] or ["*"]
    negative = [rule[1:] for rule in rules if rule.startswith("!")]

    def takes(rule: str) -> bool:
        if reading is None:
            return pattern.compiled(rule, "python").matches(name)
        one = reading.pattern(rule, "python")
        reading.spend(one.cost(name))
        return one.matches(name)

    return any(map(takes, positive)) and not any(map(takes, negative))


DISK_KINDS = frozenset(
    {"disk", "virtio", "xen", "md", "lvm", "crypt", "multipath", "dm", "dmraid", "loop", "zram", "null"}
)


def disk_plugin_takes(device: BlockDevice) -> bool:
    """Whether the disk plugin looks at this device at all."""
    if device.kind in ("partition", "optical") or device.details.get("removable"):
        return False
    if device.kind == "nvme":
        # With native multipathing the head's parent is of the subsystem nvme-subsystem.
        return not device.details.get("native_multipath") and not device.details.get("hidden_path")
    return device.kind in DISK_KINDS


def read_ahead_kib(value: str) -> tuple[str, bool] | None:
    """KiB, and whether it is a lower bound; None for what TuneD would refuse."""
    # plugin_disk.py, _parse_ra: a word after the number counts by its first letter; `8192s` in one word is refused.
    match = re.fullmatch(r"([<>]?)\s{0,9}(\d{1,20})(?:\s{1,9}(\S.{0,99}))?", value.strip()[:200], re.ASCII)
    if match is None:
        return None
    in_sectors = (match[3] or "").startswith("s")
    return str(int(match[2]) // 2 if in_sectors else int(match[2])), match[1] == ">"


def unit_of(units: list[TunedUnit], name: str) -> tuple[TunedUnit | None, bool]:
    """The disk unit that a device is given to, and whether that is certain."""
    *_, last = [(None, True), *_units_for(units, name, None)]
    unit, certain = last
    return (unit, certain) if unit is None or not _is_open(unit) else (None, False)


def _is_open(unit: TunedUnit) -> bool:
    """Whether only TuneD knows which devices the unit is for."""
    return unit.udev_regex is not None or unit.conditional


PROPERTY = re.compile(r"\^?([A-Z_]{1,60})=([\w./:-]{1,200})\$?")


def _fits(regex: str, name: str, reading: Reading) -> bool | None:
    """`(ID_SERIAL=A)|(ID_SERIAL=B)`, as it is written for disks; None for an expression that says more, which is not
    evaluated."""
    pieces = [
        PROPERTY.fullmatch(choice.strip().removeprefix("(").removesuffix(")"))
        for choice in regex[:LONGEST_VALUE].split("|")
    ]
    if not all(pieces):
        return None
    entry = read_udev(reading.tree, name, reading.stack.devices[name].major_minor)
    reading.spend(10 * len(pieces))
    return any(piece[2] in entry.properties.get(piece[1], "") for piece in pieces if piece)


def _units_for(units: list[TunedUnit], name: str, reading: Reading | None) -> Iterator[tuple[TunedUnit, bool]]:
    """Units that may take the device, up to the first that does for certain."""
    certain = True
    for unit in units:
        if unit.type != "disk":
            continue
        regex = unit.udev_regex
        if regex is not None and reading is not None and (fits := _fits(regex, name, reading)) is not None:
            if fits:
                yield unit, certain and not unit.conditional
                return
        elif _is_open(unit):
            certain = False
            yield unit, False
        elif matches(unit.devices, name, reading):
            yield unit, certain
            return


def read(reading: Reading) -> Iterator[Setter]:
    """Scheduler and read-ahead that the active profiles set; certain only while TuneD runs."""
    active = active_profiles(reading.tree)
    units, complete = merged_units(reading, active)
    running = runs(reading.tree)
    _note_inactive(reading, active)
    if not complete:
        reading.leave_out(
            "TuneD profile", None, "it includes a profile that is not here, or that only TuneD can choose"
        )
    for device in reading.stack.devices.values():
        if not disk_plugin_takes(device):
            continue
        for unit, certain in _units_for(units, device.name, reading):
            for option, attribute in DISK_OPTIONS:
                if option in unit.options:
                    value, file, line = unit.options[option]
                    parsed = read_ahead_kib(value) if option == "readahead" else (value, False)
                    if parsed is not None and value:
                        rank = (assignment.TUNED, 0, unit.name, line)
                        yield Setter(
                            "tuned", file, line, device.name, attribute, parsed[0], rank, certain and running, parsed[1]
                        )
    for index, unit in enumerate(units):
        if unit.type == "sysfs":
            yield from _sysfs(reading, unit, index, running=running)
        elif unit.type == "script" and (script := unit.options.get("script")):
            yield from _script(reading, posixpath.join(posixpath.dirname(script[1]), script[0]), index)


def _note_inactive(reading: Reading, active: list[str]) -> None:
    """Notes the administrator's own profiles that set a disk and are neither active nor included."""
    read_in = set(reading.files.get("tuned", ()))
    for folder in FOLDERS[:2]:
        for name in reading.names(folder):
            file = f"{folder}/{name}/tuned.conf"
            if file in read_in or not reading.tree.exists(file):
                continue
            for options in _sections(reading, file).values():
                for option, attribute in DISK_OPTIONS:
                    if option in options:
                        value, _, line = options[option]
                        reason = f"TuneD's active profile is {active[0]}" if active else "TuneD has no active profile"
                        reading.idle(file, line, None, attribute, value, reason, f"`tuned-adm profile {name}`")


def _sysfs(reading: Reading, unit: TunedUnit, index: int, *, running: bool) -> Iterator[Setter]:
    for path, (value, file, line) in unit.options.items():
        with reading.evaluated(file, line):
            for name, attribute in reading.settings(path, "python"):
                rank = (assignment.TUNED, 1 + index, unit.name, line)
                yield Setter("tuned", file, line, name, attribute, value, rank, not unit.conditional and running)


def _script(reading: Reading, path: str, index: int) -> Iterator[Setter]:
    """The script plugin calls each script with `start`."""
    text = reading.text(path) if path.startswith("/") else ""
    for write in Search(reading, path).run(text) if text else ():
        rank = (assignment.TUNED, 1 + index, path, write.line)
        yield Setter(
            "tuned", path, write.line, write.device, write.attribute, write.value, rank, certain=False, look=write.look
        )
