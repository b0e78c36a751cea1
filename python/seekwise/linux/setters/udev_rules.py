"""udev rules that set attributes of block devices, evaluated against a device without running udev.

Follows udev(7): files of the four folders in order of their names, a name in an earlier folder hides the same name in a later one
(and a link to /dev/null removes it); all matches of a line must hold; GOTO jumps to its LABEL; the last assignment wins.

What only a run of udev can know (PROGRAM, IMPORT of a program, TAG, CONST …) makes a line uncertain instead of being guessed.
Properties come from udev's own database, so ENV matches see what the rules before have found.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from seekwise.linux import sysfs
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.shell_writes import IN_SYSFS, attribute_of, writes
from seekwise.linux.sysfs import block_nodes
from seekwise.linux.tree import Tree
from seekwise.linux.udev import read_udev

FOLDERS = (
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
)
TOKEN = re.compile(r'([A-Z_]+)(?:\{([^}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*([ei]*)"((?:[^"\\]|\\.)*)"')
INTERESTING = re.compile(
    r"ATTR\{[^}]*(queue|bdi|md/|device/|cache_type)[^}]*\}\s*:?=\s*[ei]*\"|/sys/(?:class/)?block|--setra"
)
CONDITIONS = frozenset({"==", "!="})

ACTIONS = ("add", "change")
YES, MAYBE, NO = 2, 1, 0


@dataclass(frozen=True)
class Token:
    key: str
    attribute: str | None
    operator: str
    value: str
    ignore_case: bool = False


@dataclass(frozen=True)
class Rule:
    file: str
    line: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class UdevDevice:
    """What a rule can match: the device itself and the chain of folders above it, nearest first."""

    tree: Tree
    kernel: str
    subsystem: str
    devtype: str
    folder: str
    parents: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    """Those of udev's database, and what the rules set on their way; the latter may be in no database (`ENV{.name}`)."""
    links: tuple[str, ...] = ()
    unknown: set[str] = field(default_factory=set)
    """Properties that a rule may have set to something that only udev knows."""


def rule_files(tree: Tree) -> list[str]:
    """Rule files in the order in which udev reads them."""
    files: dict[str, str] = {}
    for folder in FOLDERS:
        for name in tree.names(folder):
            if name.endswith(".rules"):
                files.setdefault(name, f"{folder}/{name}")
    return [file for _, file in sorted(files.items())]


def parse(text: str, file: str) -> list[Rule]:
    """Rules with their line number; a line that ends in a backslash goes on in the next one."""
    rules, joined, start = [], "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not joined:
            start = number
        if line.startswith("#") and not joined:
            continue
        if line.endswith("\\"):
            joined += line[:-1]
            continue
        joined, line = "", joined + line
        tokens = tuple(
            Token(key, attribute or None, operator, _unescaped(value, flags), "i" in flags)
            for key, attribute, operator, flags, value in TOKEN.findall(line)
        )
        if tokens:
            rules.append(Rule(file, start, tokens))
    return rules


def _unescaped(value: str, flags: str) -> str:
    return value.encode().decode("unicode_escape") if "e" in flags else value.replace('\\"', '"')


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    """What udev's rules set on each device when it appears or changes."""
    files = []
    for file in rule_files(tree):
        text = tree.text(file) or ""
        if INTERESTING.search(text):
            files.append((file, parse(text, file)))
    if not files:
        return
    nodes = block_nodes(tree)
    for device in stack.devices.values():
        if device.kind != "partition" and device.name in nodes:
            yield from _of_device(tree, stack, device, nodes[device.name].folder, files)


def _of_device(
    tree: Tree, stack: Stack, device: BlockDevice, folder: str, files: list[tuple[str, list[Rule]]]
) -> Iterator[Setter]:
    """Values are set when the device appears, and again when it changes: each has its own way through the rules."""
    found: dict[tuple[object, ...], Setter] = {}
    for action in ACTIONS:
        for seen in _views(tree, folder, device):
            for index, (file, rules) in enumerate(files):
                for rule, certain in matching(rules, seen, action):
                    for attribute, value in assignments(rule, seen, stack, device):
                        rank = (assignment.UDEV, 0 if seen.subsystem != "block" else 1, index, rule.line)
                        known = certain and not re.search(r"[$%]", value)
                        made = Setter("udev", file, rule.line, device.name, attribute, value, rank, known)
                        before = found.get(key := (rank, attribute, value), made)
                        found[key] = replace(
                            before,
                            certain=before.certain or known,
                            on_change=before.on_change or (action == "change" and seen.subsystem == "block"),
                        )
    yield from found.values()


def _views(tree: Tree, folder: str, device: BlockDevice) -> Iterator[UdevDevice]:
    """The block device, and for a SCSI disk the SCSI device below it, which has rules of its own."""
    entry = read_udev(tree, device.name, device.major_minor)
    parents = _parents(folder)
    properties = {
        "DEVTYPE": "disk",
        "SUBSYSTEM": "block",
        "DEVNAME": sysfs.device_path(device.name),
        **entry.properties,
    }
    hardware = tree.resolve(f"{folder}/device")
    if hardware and device.queue_depth is not None:
        name = hardware.rpartition("/")[2]
        yield UdevDevice(tree, name, "scsi", "scsi_device", hardware, _parents(hardware), {"DEVTYPE": "scsi_device"})
    yield UdevDevice(tree, device.name.replace("!", "/"), "block", "disk", folder, parents, properties, entry.links)


def _parents(folder: str) -> tuple[str, ...]:
    found = []
    while folder.startswith("/sys/devices/"):
        found.append(folder)
        folder = folder.rpartition("/")[0]
    return tuple(found)


def matching(rules: list[Rule], seen: UdevDevice, action: str = "add") -> Iterator[tuple[Rule, bool]]:
    """Rules of one file that apply to an event, and whether that is certain."""
    until: str | None = None
    doubtful: str | None = None
    for rule in rules:
        labels = {token.value for token in rule.tokens if token.key == "LABEL"}
        if until is not None and until not in labels:
            continue
        if until in labels:
            until = None
        if doubtful in labels:
            doubtful = None
        found = _holds(rule, seen, action)
        if found == NO:
            continue
        jump = next((token.value for token in rule.tokens if token.key == "GOTO"), None)
        yield rule, found == YES and doubtful is None
        _set_properties(rule, seen, certain=found == YES and doubtful is None)
        if jump is not None:
            if found == YES and doubtful is None:
                until = jump
            else:
                doubtful = doubtful or jump


def _set_properties(rule: Rule, seen: UdevDevice, *, certain: bool) -> None:
    """What a rule leaves in the device's properties for the rules after it."""
    for token in rule.tokens:
        name = token.attribute or ""
        if token.key == "IMPORT" and name == "cmdline":
            if (value := _on_command_line(seen.tree, token.value)) is not None:
                seen.properties[token.value] = value
        elif token.key == "ENV" and token.operator in ("=", ":=", "+="):
            value = _substituted(token.value, seen)
            if token.operator == "+=" and seen.properties.get(name):
                value = f"{seen.properties[name]} {value}"
            if certain and not re.search(r"[$%]", value):
                seen.properties[name] = value
                seen.unknown.discard(name)
            else:
                seen.unknown.add(name)


def _on_command_line(tree: Tree, name: str) -> str | None:
    """The value of a kernel parameter; `1` where it stands alone."""
    for word in (tree.text("/proc/cmdline") or "").split():
        key, sign, value = word.partition("=")
        if key == name:
            return value if sign else "1"
    return None


def _holds(rule: Rule, seen: UdevDevice, action: str) -> int:
    result = YES
    upper: list[Token] = []
    for token in rule.tokens:
        if token.operator not in CONDITIONS and not (token.key in ("PROGRAM",) or token.key == "IMPORT"):
            continue
        if token.key in ("KERNELS", "SUBSYSTEMS", "DRIVERS", "ATTRS"):
            upper.append(token)
            continue
        result = min(result, _one(token, seen, action))
        if result == NO:
            return NO
    return min(result, _parent_holds(upper, seen)) if upper else result


def _one(token: Token, seen: UdevDevice, action: str) -> int:
    match token.key:
        case "ACTION":
            return _compare(token, action)
        case "KERNEL":
            return _compare(token, seen.kernel)
        case "SUBSYSTEM":
            return _compare(token, seen.subsystem)
        case "DEVPATH":
            return _compare(token, seen.folder.removeprefix("/sys"))
        case "NAME":
            return _compare(token, seen.kernel)
        case "DRIVER":
            return _compare(token, seen.tree.link(f"{seen.folder}/driver") or "")
        case "SYMLINK":
            found = any(_compare(Token("", None, "==", token.value), link) == YES for link in seen.links)
            return _as_asked(token, found)
        case "ENV":
            name = token.attribute or ""
            if name == "DEVTYPE":
                return _compare(token, seen.devtype)
            return MAYBE if name in seen.unknown else _compare(token, seen.properties.get(name, ""))
        case "IMPORT" if token.attribute == "cmdline":
            return _as_asked(token, _on_command_line(seen.tree, token.value) is not None)
        case "IMPORT" if token.attribute == "db":
            return _as_asked(token, token.value in seen.properties)
        case "ATTR":
            return _attribute(token, seen.tree, seen.folder)
        case "TEST":
            value = _substituted(token.value, seen)
            path = value if value.startswith("/") else f"{seen.folder}/{value}"
            if re.search(r"[$%*?\[]", path):
                return MAYBE
            return _as_asked(token, seen.tree.exists(path))
    return MAYBE


def _parent_holds(tokens: list[Token], seen: UdevDevice) -> int:
    """All of a line's …S keys must hold for one and the same device of the chain."""
    best = NO
    for folder in seen.parents:
        result = YES
        for token in tokens:
            match token.key:
                case "KERNELS":
                    one = _compare(token, folder.rpartition("/")[2])
                case "SUBSYSTEMS":
                    subsystem = seen.tree.link(f"{folder}/subsystem")
                    one = _compare(token, subsystem or "") if subsystem or seen.tree.live else MAYBE
                case "DRIVERS":
                    one = _compare(token, seen.tree.link(f"{folder}/driver") or "")
                case _:
                    one = _attribute(token, seen.tree, folder)
            result = min(result, one)
        best = max(best, result)
    return best


def _attribute(token: Token, tree: Tree, folder: str) -> int:
    text = tree.text(f"{folder}/{token.attribute}")
    if text is None and not tree.live:
        return MAYBE  # a capture holds only what seekwise reads
    if text is None:
        return NO if token.operator == "==" else YES
    if re.fullmatch(r"queue/scheduler", token.attribute or "") and re.search(r"\[", text):
        return _compare(token, text)
    return _compare(token, text)


def _compare(token: Token, text: str) -> int:
    return _as_asked(token, matches(token.value, text, token.ignore_case))


def matches(pattern: str, text: str, ignore_case: bool = False) -> bool:
    """udev's value match: shell globs, alternatives with `|`."""
    if ignore_case:
        pattern, text = pattern.lower(), text.lower()
    return any(fnmatch.fnmatchcase(text, each) for each in pattern.split("|"))


def _as_asked(token: Token, found: bool) -> int:
    """`IMPORT{…}="…"` asks as well, with the sign of an assignment."""
    return YES if found == (token.operator != "!=") else NO


def assignments(rule: Rule, seen: UdevDevice, stack: Stack, device: BlockDevice) -> Iterator[tuple[str, str]]:
    """Attributes of the device that a rule sets, with the value."""
    for token in rule.tokens:
        if token.operator in CONDITIONS or token.operator == "-=":
            continue
        if token.key == "ATTR" and token.attribute:
            path = f"device/{token.attribute}" if seen.subsystem == "scsi" else token.attribute
            if absolute := IN_SYSFS.fullmatch(path):
                path = absolute[2]
            if attribute := attribute_of(path):
                yield attribute, _substituted(token.value, seen)
        elif token.key == "RUN":
            text = _substituted(token.value, seen)
            for name, attribute, value in writes(text, stack):
                if name == device.name:
                    yield attribute, value


def _substituted(text: str, seen: UdevDevice) -> str:
    """`%k`, `$env{…}` and the like, as far as they are known from files; the rest stays as it stands."""
    return re.sub(
        r"[%$][%$]|%[kNpSn]|%[sE]\{[^}]*\}|\$\w+(?:\{[^}]*\})?", lambda match: _replacement(match[0], seen), text
    )


def _replacement(text: str, seen: UdevDevice) -> str:
    """udev(7), section on string substitutions."""
    name, _, argument = text.rstrip("}").partition("{")
    match name:
        case "%%" | "$$":
            return text[0]
        case "%k" | "$kernel" | "$name":
            return seen.kernel
        case "%N" | "$devnode" | "$tempnode":
            return seen.properties.get("DEVNAME", text)
        case "%p" | "$devpath":
            return seen.folder.removeprefix("/sys")
        case "%S" | "$sys":
            return "/sys"
        case "%n" | "$number":
            return re.sub(r".*?(\d*)$", r"\1", seen.kernel)
        case "%E" | "$env" if argument not in seen.unknown:
            return seen.properties.get(argument, "")
        case "%s" | "$attr" if (value := seen.tree.text(f"{seen.folder}/{argument}")) is not None:
            return value.strip()
    return text
