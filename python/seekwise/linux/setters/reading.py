"""One reading of a machine's configuration: what was read, what it may cost, and what was left out.

Rules, profiles and scripts are little programs of somebody else. They are evaluated within a budget for the whole tree:
what exceeds it is named as "not evaluated", and nothing of it is guessed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from seekwise.linux import sysfs
from seekwise.linux.block_device import Stack
from seekwise.linux.setters import pattern
from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.writable import attribute_of
from seekwise.linux.tree import ATTRIBUTE_BYTES, Tree
from seekwise.linux.udev import read_udev

STEPS = 2_000_000
"""Of a whole tree, each about a microsecond. A machine with 1,000 disks and a distribution's rules takes a tenth."""
BYTES = 32 << 20
"""Text of configuration that is looked at; a desktop's rules, units and scripts have 3 MB."""
FILES = 20_000
FOUND = 20_000
"""Assignments: 20 for each of 1,000 devices."""
EXPANDED = 16_384
"""Characters of a value after substitution: udev's own longest line (UDEV_LINE_SIZE in systemd 252)."""
NOTES = 20
LONGEST_LINE = 4096
MOST_IDLE = 1000
"""Lines that do not act."""
REBUILD = re.compile(r"/proc/sys/dev/raid/speed_limit_(min|max)")
SCSI_PATH = re.compile(r"(/sys/(?:class/scsi_(?:device|disk)|bus/scsi/devices)/)([^/]{1,64})(?:/device(?=/|$))?(/.*)?")
"""A SCSI disk by its address."""
GLANCED = 65_536
"""Characters of a file that is only looked at."""


BOOT_TARGETS = ("multi-user", "sysinit", "graphical")


@dataclass(frozen=True)
class NamedValue:
    """A line NAME=VALUE of a file."""

    text: str
    file: str
    line: int


def is_enabled(tree: Tree, unit: str) -> bool:
    """Whether a target of the boot wants a unit. The link's target is the package's, which a capture may lack."""
    return any(unit in tree.names(f"/etc/systemd/system/{target}.target.wants") for target in BOOT_TARGETS)


PLACES = {
    "boot": ("boot line", "files of the boot loader"),
    "mdadm": ("mdadm.conf", "files of mdadm"),
    "udev": ("udev rules", "files of udev rules"),
    "hdparm": ("hdparm.conf", "files of hdparm"),
    "sysfs.conf": ("sysfs.conf", "files of sysfsutils"),
    "tmpfiles": ("tmpfiles.d", "files of tmpfiles.d"),
    "tuned": ("TuneD", "TuneD profiles"),
    "saptune": ("saptune", "files of saptune"),
    "sysconfig": ("ktune, sapconf and laptop-mode", "files of ktune, sapconf and laptop-mode"),
    "tlp": ("TLP", "files of TLP"),
    "modprobe": ("module options", "files of modprobe.d"),
    "iscsi": ("open-iscsi", "files of open-iscsi"),
    "multipath": ("multipath.conf", "files of multipath"),
    "tuner": ("tuners of databases", "files of databases' tuners"),
    "udisks": ("udisks2", "files of udisks2"),
    "sysctl": ("sysctl", "files of sysctl"),
    "script": ("scripts and units", "scripts, units and cron tables"),
}
"""What each kind of source is called, alone and in numbers."""


class NotEvaluated(Exception):
    """Why a line or a file is left out, as the end of a sentence."""


class Exhausted(NotEvaluated):
    """The budget of a source is spent: nothing more of it is read."""


@dataclass
class Reading:
    """The tree and its devices, with a budget. Sources take what they read from here, so that it is counted and
    named."""

    tree: Tree
    stack: Stack
    files: dict[str, list[str]] = field(default_factory=dict)
    """{kind: files that were read}."""
    ineffective: list[Ineffective] = field(default_factory=list)
    kind: str = ""
    _left_out: dict[tuple[str, str], list[int | None]] = field(default_factory=dict)
    _more_left_out: int = 0
    _steps: int = STEPS
    _bytes: int = BYTES
    _files: int = FILES
    _found: int = FOUND
    _texts: dict[str, str | None] = field(default_factory=dict)
    _glanced: dict[str, str] = field(default_factory=dict)
    _patterns: dict[tuple[str, str], pattern.Pattern] = field(default_factory=dict)
    _nodes: dict[str, sysfs.Node] | None = None
    _folders: dict[str, tuple[str, str]] | None = None
    _by_node: dict[str, str] | None = None

    def spend(self, steps: int) -> None:
        """Takes steps from the budget; raises Exhausted when it is spent."""
        self._steps -= steps
        if self._steps < 0:
            raise Exhausted(f"more than {STEPS:,} steps")

    def source(self, kind: str, read: Callable[[Reading], Iterable[Setter]]) -> Iterator[Setter]:
        """What one source finds. It may use half of what is left, so that a hostile one leaves something to those after
        it."""
        self.kind, left = kind, self._steps
        self._steps = left // 2
        try:
            for setter in read(self):
                if len(setter.value) > ATTRIBUTE_BYTES:
                    self.leave_out(setter.file, setter.line, "a value longer than the kernel takes")
                    continue
                self._found -= 1
                if self._found < 0:
                    raise Exhausted(f"more than {FOUND:,} assignments")
                yield setter
        except Exhausted as reason:
            self.leave_out(f"the rest of {PLACES[kind][0]}", None, str(reason))
        except NotEvaluated as reason:
            self.leave_out(self.files.get(kind, [PLACES[kind][0]])[-1], None, str(reason))
        finally:
            self._steps = max(0, self._steps) + left - left // 2

    def look_through(self, look: Callable[[Reading], None]) -> None:
        """A last look at what no source has read; where the budget ends, it ends."""
        try:
            look(self)
        except NotEvaluated as reason:
            self.leave_out("other files of configuration", None, str(reason))

    def note(self, idle: Ineffective) -> None:
        """Notes a line that does not act, once."""
        if idle not in self.ineffective and len(self.ineffective) < MOST_IDLE:
            self.ineffective.append(idle)

    def idle(
        self, file: str, line: int | None, device: str | None, attribute: str, value: str, reason: str, instead: str
    ) -> None:
        """Notes a line of the source that is being read as one that does not act."""
        self.note(Ineffective(self.kind, file, line, device, attribute, value[:ATTRIBUTE_BYTES], reason, instead))

    @contextlib.contextmanager
    def evaluated(self, file: str, line: int) -> Iterator[None]:
        """A line that cannot be evaluated is left out, and the next one read."""
        try:
            yield
        except Exhausted:
            raise
        except NotEvaluated as reason:
            self.leave_out(file, line, str(reason))

    def leave_out(self, file: str, line: int | None, reason: str) -> None:
        """Notes what was not evaluated; a reason once for each file, and only so many."""
        if (file, reason) not in self._left_out and len(self._left_out) < NOTES:
            self._left_out[file, reason] = [line, 0]
        key = (file, reason) if (file, reason) in self._left_out else None
        if key is None:
            self._more_left_out += 1
        elif self._left_out[key][0] != line:
            self._left_out[key][1] = 1

    @property
    def left_out(self) -> tuple[str, ...]:
        """`FILE:LINE: reason` of what was not evaluated."""
        found = []
        for (file, reason), (line, more) in self._left_out.items():
            place = f"{file}:{line}" if line else file
            found.append(f"{place}{' and later lines' if more else ''}: {reason}")
        return (*found, *(["and more of other files"] if self._more_left_out else []))

    def _open(self) -> None:
        """Takes one file from the budget."""
        self._files -= 1
        self.spend(30)
        if self._files < 0:
            raise Exhausted(f"more than {FILES:,} files")

    def text(self, file: str) -> str:
        """A configuration file's text, noted as a place that was read; empty where there is none."""
        self._open()
        text = self.tree.text(file)
        if text is None:
            return ""
        self._bytes -= len(text)
        if self._bytes < 0:
            raise Exhausted(f"more than {BYTES >> 20} MiB of text")
        self.files.setdefault(self.kind, []).append(file)
        self.spend(len(text) // 500)
        return text

    def lines(self, file: str, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
        """The lines of a configuration file with their numbers, cut where they are longer than any that is meant."""
        for number, line in enumerate(self.text(file).splitlines(), 1):
            self.spend(1)
            yield number, line[:longest]

    def found(self, file: str, *patterns: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Lines that one of the patterns takes whole, by the first that does."""
        for number, line in self.lines(file, 400):
            if match := next((match for one in patterns if (match := one.fullmatch(line))), None):
                yield number, match

    def configs(self, *folders: str) -> list[str]:
        """Files named *.conf of folders."""
        return [f"{folder}/{name}" for folder in folders for name in self.names(folder) if name.endswith(".conf")]

    def glance(self, file: str) -> str:
        """A file's text, to see whether it is worth reading: not yet a place that was read."""
        if file not in self._glanced:
            self._open()
            content = self.tree.bytes(file, GLANCED) or b""
            # A binary program is no script.
            self._glanced[file] = "" if b"\0" in content[:4096] else content.decode("utf-8", "replace").strip()
        return self._glanced[file]

    def names(self, folder: str) -> list[str]:
        """Names in a folder of configuration."""
        self.spend(30)
        return self.tree.names(folder)

    def attribute(self, path: str) -> str | None:
        """The text of a file in sysfs; each is read once."""
        if path not in self._texts:
            self.spend(60)
            text = self.tree.text(path)
            self._texts[path] = text if text is None else text[: pattern.LONGEST_TEXT + 1]
        return self._texts[path]

    def pattern(self, text: str, rule: str = "shell") -> pattern.Pattern:
        """A pattern ready to be matched. Raises NotEvaluated for one that is too long."""
        one = self._patterns.get((text, rule))
        if one is None:
            if len(text) > pattern.LONGEST_PATTERN:
                raise NotEvaluated(f"a pattern of more than {pattern.LONGEST_PATTERN:,} characters")
            # What compiling a pattern takes.
            self.spend(4 + 8 * len(text))
            one = self._patterns[text, rule] = pattern.Pattern(text, rule)
        return one

    def matches(self, text: str, value: str, *, ignore_case: bool = False) -> bool:
        """Whether one of the patterns in `text`, separated by `|`, takes the value. Raises NotEvaluated for what is too
        long."""
        if len(value) > pattern.LONGEST_TEXT:
            raise NotEvaluated(f"a value of more than {pattern.LONGEST_TEXT:,} characters")
        if ignore_case:
            text, value = text.lower(), value.lower()
        for choice in text.split("|"):
            one = self.pattern(choice)
            self.spend(one.cost(value))
            if one.matches(value):
                return True
        return False

    @property
    def nodes(self) -> dict[str, sysfs.Node]:
        """Block devices of the tree by name."""
        if self._nodes is None:
            self._nodes = sysfs.block_nodes(self.tree)
        return self._nodes

    def located(self, path: str) -> tuple[str, str] | None:
        """Device and path below it, `("sda", "queue/scheduler")`, of any path to a device's file: by its name, number
        or hardware folder."""
        self.spend(2)
        if len(path) > pattern.LONGEST_TEXT:
            return None
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if parts[:2] == ["sys", "block"]:
            name, rest = "".join(parts[2:3]), parts[3:]
        elif parts[:3] == ["sys", "class", "block"]:
            name, rest = "".join(parts[3:4]), parts[4:]
        elif parts[:3] == ["sys", "dev", "block"]:
            name, rest = self._by_number("".join(parts[3:4])), parts[4:]
        else:
            name, rest = "", []
        if scsi := SCSI_PATH.fullmatch(path):
            name = next((device for device, address in self._addresses() if address == scsi[2]), "")
            below = (scsi[3] or "").strip("/").split("/")
            rest = below[2:] if below[0] == "block" else ["device", *below]
        if name:
            # The link is followed before `..` is: above a partition's folder lies its disk's.
            if name not in self.nodes:
                return None
            folder = self.nodes[name].folder
            if rest[:1] == ["device"]:
                folder, rest = self.tree.resolve(f"{folder}/device") or f"{folder}/device", rest[1:]
            parts = [part for part in folder.split("/") if part] + rest
        done: list[str] = []
        for part in parts:
            if part == "..":
                done = done[:-1]
            else:
                done.append(part)
        folders = self._known_folders()
        for length in range(min(len(done), 64), 2, -1):
            if (found := folders.get("/" + "/".join(done[:length]))) is not None:
                return found[0], "/".join([found[1], *done[length:]]).strip("/")
        return None

    def places(self, path: str, rule: str = "shell") -> Iterator[str]:
        """The paths that one with a pattern in the device's name may mean; itself where it has none."""
        if scsi := SCSI_PATH.fullmatch(path):
            for device, address in self._addresses():
                if self.matches(scsi[2], address):
                    below = re.sub(r"^/block/[^/]+", f"/block/{device}", scsi[3] or "")
                    yield f"{scsi[1]}{address}{below}"
            return
        if not any(sign in path for sign in "*?["):
            yield path
            return
        for top in ("/sys/block/", "/sys/class/block/", "/dev/"):
            if path.startswith(top):
                name, slash, rest = path[len(top) :].partition("/")
                one = self.pattern(name, rule)
                for device in self.stack.devices:
                    self.spend(one.cost(device))
                    if one.matches(device):
                        yield f"{top}{device}{slash}{rest}"
                return
        if path.startswith("/sys/devices/") and "/block/" in path:
            above, _, below = path.rpartition("/block/")
            for place in self.places(f"/sys/block/{below}", rule):
                node = self.nodes.get(place.split("/")[3])
                if node and self.matches(f"{above}/block/*", node.folder):
                    yield place
            return
        # Files of a folder of configuration: `/etc/io.d/*.sh`.
        folder, _, wanted = path.rpartition("/")
        if folder and not path.startswith("/sys/") and not any(sign in folder for sign in "*?["):
            yield from (f"{folder}/{name}" for name in self.names(folder) if self.matches(wanted, name))

    def _addresses(self) -> Iterator[tuple[str, str]]:
        """SCSI disks and their addresses, as (sda, 0:0:0:0)."""
        for name, device in self.stack.devices.items():
            if device.queue_depth is not None and name in self.nodes:
                self.spend(20)
                yield name, (self.tree.resolve(f"{self.nodes[name].folder}/device") or "").rpartition("/")[2]

    def settings(self, path: str, rule: str = "shell") -> Iterator[tuple[str, str]]:
        """Device and attribute of each setting that a path, with a pattern or without, means; the limits of a rebuild below
        /proc/sys are those of each array without its own."""
        if match := REBUILD.fullmatch(path):
            yield from (
                (each.name, f"md/sync_speed_{match[1]}") for each in self.stack.devices.values() if each.kind == "md"
            )
        for place in self.places(path, rule):
            found = self.located(place)
            if found and (attribute := attribute_of(found[1])) and self.stack.devices[found[0]].kind != "partition":
                yield found[0], attribute

    def note_absent(self, path: str, file: str, line: int, value: str) -> None:
        """Notes a line for a device that is not there: `sdX` of an example, or a drive of another machine."""
        match = re.fullmatch(r"/sys/(?:class/)?block/([\w!.-]{1,64})/((?:queue|device|md)/\w{1,64})", path)
        if match and match[1] not in self.nodes and (attribute := attribute_of(match[2])):
            instead = "name a disk that is there, or match it by a property: `seekwise apply --persist udev`"
            self.idle(file, line, None, attribute, value, f"there is no {match[1]} on this machine", instead)

    def name_of(self, node: str) -> str | None:
        """The device behind a path in /dev: its own name, or one of udev's links."""
        if self._by_node is None:
            self._by_node = {}
            for name, device in self.stack.devices.items():
                for link in device.links:
                    self._by_node[link] = name
                if mapping := device.details.get("dm_name"):
                    self._by_node[f"/dev/mapper/{mapping}"] = name
                entry = read_udev(self.tree, name, device.major_minor)
                for link in entry.links:
                    self._by_node[f"/dev/{link}"] = name
                if group := entry.properties.get("DM_VG_NAME"):
                    self._by_node[f"/dev/{group}/{entry.properties.get('DM_LV_NAME')}"] = name
                self._by_node[sysfs.device_path(name)] = name
        return self._by_node.get(node)

    def _by_number(self, number: str) -> str:
        return next((name for name, device in self.stack.devices.items() if device.major_minor == number), "")

    def _known_folders(self) -> dict[str, tuple[str, str]]:
        if self._folders is None:
            self._folders = {}
            for name, node in self.nodes.items():
                if name not in self.stack.devices:
                    continue
                self.spend(100)
                if node.disk is None and (hardware := self.tree.resolve(f"{node.folder}/device")):
                    self._folders.setdefault(hardware, (name, "device"))
                number = self.stack.devices[name].major_minor
                for bdi in (f"/sys/class/bdi/{number}", f"/sys/devices/virtual/bdi/{number}"):
                    self._folders[bdi] = (name, "bdi")
                self._folders[node.folder] = (name, "")
        return self._folders
