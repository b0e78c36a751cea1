"""udev rules: which attributes they set, evaluated against a device without running udev.

Follows udev(7): files of the four folders in order of their names, a name in an earlier folder hides the same name in a
later one (and a link to /dev/null removes it); all matches of a line must hold; GOTO jumps to its LABEL; the last
assignment wins.

What only a run of udev can know (PROGRAM, IMPORT of a program, TAG, CONST …) makes a line uncertain instead of being
guessed. Properties come from udev's own database, so ENV matches see what the rules before have found.

A rule may meet the device itself, its SCSI device, or one of its partitions, and set what lies above: what counts is
the file that it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from string import Template

from seekwise.linux import sysfs
from seekwise.linux.block_device import BlockDevice
from seekwise.linux.facts import kernel_version
from seekwise.linux.setters import assignment, udev_idle
from seekwise.linux.setters.assignment import UNKNOWN_VALUE, Ineffective, Setter
from seekwise.linux.setters.reading import EXPANDED, Exhausted, NotEvaluated, Reading
from seekwise.linux.setters.shell import writes
from seekwise.linux.setters.udev_syntax import CONDITIONS, KEYS, OLD_KEYS, Refused, Rule, Token, lines
from seekwise.linux.setters.writable import attribute_of
from seekwise.linux.tree import Tree
from seekwise.linux.udev import read_udev

FOLDERS = (
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
)
MENTIONED = (
    "queue",
    "{scheduler}",
    "bdi",
    "md/",
    "cache_type",
    "read_ahead_kb",
    "/sys",
    "%S",
    "--setra",
    "hdparm",
    "RUN",
)
"""A file with none of these words sets nothing that is looked for here."""
SETTING = re.compile(r"queue/\w|queue_depth|read_ahead_kb|cache_type|stripe_cache")
LONGEST_PROPERTY = 256
"""Of those that are put into the text of a program."""
PROPERTIES_BYTES = 1 << 18
"""Of one device while rules are evaluated."""

ACTIONS = ("add", "change")
YES, MAYBE, NO = 2, 1, 0

SUBSTITUTION = re.compile(
    r"[%$][%$]|%[A-Za-z](?:\{[^}]{0,255}\})?"
    r"|\$(?:attr|env|devnode|tempnode|devpath|driver|id|kernel|links|major|minor|name|number|parent|result|root|sysfs|sys)(?:\{[^}]{0,255}\})?"
)
WITHOUT_SHELL = re.compile(r">\s{0,4}/sys/")
UNKNOWN = re.compile(r"[$%]")


@dataclass(frozen=True)
class UdevDevice:
    """What a rule can match: the device itself and the chain of folders above it, nearest first."""

    reading: Reading
    kernel: str
    subsystem: str
    devtype: str
    folder: str
    parents: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    """Those of udev's database, and what the rules set on their way; the latter may be in no database
    (`ENV{.name}`)."""
    links: tuple[str, ...] = ()
    unknown: set[str] = field(default_factory=set)
    """Properties that a rule may have set to something that only udev knows."""
    has_database: bool = True
    number: str = ""
    """Major and minor number."""

    @property
    def tree(self) -> Tree:
        """The tree that holds its files."""
        return self.reading.tree


def rule_files(tree: Tree) -> list[str]:
    """Rule files in the order in which udev reads them."""
    files: dict[str, str] = {}
    for folder in FOLDERS:
        for name in tree.names(folder):
            if name.endswith(".rules"):
                files.setdefault(name, f"{folder}/{name}")
    return [file for _, file in sorted(files.items())]


WITHOUT_OLD_KEYS = (3, 10)
"""RHEL 7, the first with udev of systemd; RHEL 6 has 2.6.32."""
PUT_ASIDE = re.compile(
    r".*\.(?:rules|bak|old|orig|save|disabled|off|rpmsave|rpmnew|rpmorig|pacnew|pacsave|sample|example|sw[po]|dpkg-\w+|ucf-\w+)|.*~|README.*"
)
"""Names of files that act, or were not meant to."""


def _unread(reading: Reading) -> None:
    """Notes files with rules that udev does not read: of another ending, or in /etc/udev itself."""
    folder = "/etc/udev/rules.d"
    names = [f"{folder}/{name}" for name in reading.names(folder) if not PUT_ASIDE.fullmatch(name)]
    astray = [f"/etc/udev/{name}" for name in reading.names("/etc/udev") if name.endswith(".rules")]
    for file in [*names, *astray]:
        for line in lines(reading.glance(file), file):
            if SETTING.search(text := line.text if isinstance(line, Refused) else _setting(line)):
                reason = (
                    "udev reads files in its rules.d folders alone"
                    if file in astray
                    else "udev reads files named *.rules alone"
                )
                meant = f"{folder}/{file.rpartition('/')[2].partition('.')[0]}.rules"
                refused = Refused(file, line.line, text, reason)
                reading.note(replace(_refused(refused), instead=f"name it {meant}"))
                break


def _setting(rule: Rule) -> str:
    return ", ".join(
        f'{token.key}{{{token.attribute}}}="{token.value}"' for token in rule.tokens if token.operator not in CONDITIONS
    )


def read(reading: Reading) -> Iterator[Setter]:
    """What udev's rules set on each device when it appears or changes."""
    _unread(reading)
    files = _files(reading)
    if not files:
        return
    found: dict[tuple[object, ...], Setter] = {}
    partitions = any("../" in text or "RUN" in text for _, text, _ in files)
    for device in reading.stack.devices.values():
        if device.name not in reading.nodes or (device.kind == "partition" and not partitions):
            continue
        for action in ACTIONS:
            for seen in _views(reading, device):
                for index, (file, _, rules) in enumerate(files):
                    for setter in _of_file(rules, file, index, seen, action):
                        key = (setter.rank, setter.device, setter.attribute, setter.value)
                        before = found.get(key, setter)
                        found[key] = replace(
                            before, certain=before.certain or setter.certain, on_change=before.on_change or setter.on_change
                        )  # fmt: skip
    yield from found.values()
    acting = {(setter.file, setter.line or 0) for setter in found.values()}
    idle = [rules for _, text, rules in files if SETTING.search(text) or "scheduler" in text]
    on_partitions = {
        (rule.file, rule.line)
        for device in reading.stack.devices.values() if device.kind == "partition" and device.name in reading.nodes
        for rules in idle
        for rule, certain in matching(rules, list(_views(reading, device))[-1]) if certain
    }  # fmt: skip
    udev_idle.note(reading, (rule for rules in idle for rule in rules), acting, on_partitions)


def _files(reading: Reading) -> list[tuple[str, str, list[Rule]]]:
    """Files that may set something, with their rules; and those that set a property which these ask for."""
    texts = {file: reading.text(file) for file in rule_files(reading.tree)}
    chosen = {file for file, text in texts.items() if any(word in text for word in MENTIONED)}
    asked = {name for file in chosen for name in re.findall(r"(?:ENV|env|%E)\{([\w.]{1,64})\}", texts[file])}
    known = {
        name
        for device in reading.stack.devices.values()
        for name in read_udev(reading.tree, device.name, device.major_minor).properties
    }
    more = {f"ENV{{{name}}}" for name in asked - known - {"DEVTYPE", "SUBSYSTEM", "DEVNAME"}}
    chosen |= {
        file for file, text in texts.items() if any(f"{key}{sign}" in text for key in more for sign in ("=", "+="))
    }
    found = []
    keys = KEYS if kernel_version(reading.stack.kernel) >= WITHOUT_OLD_KEYS else KEYS | OLD_KEYS
    for file, text in texts.items():
        if file not in chosen:
            continue
        rules: list[Rule] = []
        for line in lines(text, file, keys):
            reading.spend(5)
            if isinstance(line, Rule):
                rules.append(line)
            elif SETTING.search(line.text):
                reading.note(_refused(line))
        found.append((file, text, rules))
    return found


def _refused(line: Refused) -> Ineffective:
    attribute = re.search(r"ATTR\{([^}\"]{1,80})\}\s*=\s*\"([^\"]{0,80})\"", line.text)
    name = attribute_of(attribute[1].removeprefix("../")) if attribute else None
    return Ineffective(
        "udev", line.file, line.line, None, name or "queue/", attribute[2] if attribute else "", line.reason,
        "mend the line: `udevadm verify FILE` (systemd 254) names what it cannot read",
    )  # fmt: skip


def _of_file(rules: list[Rule], file: str, index: int, seen: UdevDevice, action: str) -> Iterator[Setter]:
    on_change = action == "change" and seen.subsystem == "block"
    for rule, certain in matching(rules, seen, action):
        rank = (assignment.UDEV, 0 if seen.subsystem != "block" else 1, index, rule.line)
        with seen.reading.evaluated(file, rule.line):
            for device, attribute, value, sure in assignments(rule, seen):
                seen.reading.spend(10)
                known = certain and sure and not UNKNOWN.search(value)
                yield Setter("udev", file, rule.line, device, attribute, value, rank, known, on_change=on_change)


def _views(reading: Reading, device: BlockDevice) -> Iterator[UdevDevice]:
    """The block device; of a SCSI disk the SCSI device below it, and of each its backing-device information: these have
    events of their own."""
    tree = reading.tree
    node = reading.nodes[device.name]
    entry = read_udev(tree, device.name, device.major_minor)
    devtype = "partition" if node.disk else "disk"
    properties = {
        "DEVTYPE": devtype,
        "SUBSYSTEM": "block",
        "DEVNAME": sysfs.device_path(device.name),
        "DEVPATH": node.folder.removeprefix("/sys"),
        **entry.properties,
    }
    if node.disk is None:
        hardware = tree.resolve(f"{node.folder}/device")
        if hardware and device.queue_depth is not None:
            name = hardware.rpartition("/")[2]
            yield UdevDevice(
                reading, name, "scsi", "scsi_device", hardware, _parents(hardware), {"DEVTYPE": "scsi_device", "SUBSYSTEM": "scsi"}
            )  # fmt: skip
            if tree.is_folder(disk := f"{hardware}/scsi_disk/{name}"):
                yield UdevDevice(
                    reading, name, "scsi_disk", "", disk, (disk, *_parents(hardware)), {"SUBSYSTEM": "scsi_disk"}
                )
        if number := device.major_minor:
            yield UdevDevice(reading, number, "bdi", "", f"/sys/class/bdi/{number}", (), {"SUBSYSTEM": "bdi"})
    yield UdevDevice(
        reading, device.name.replace("!", "/"), "block", devtype, node.folder, _parents(node.folder), properties, entry.links,
        has_database=tree.live or tree.is_folder("/run/udev/data") or tree.is_folder("/dev/.udev/db"), number=device.major_minor,
    )  # fmt: skip


def _parents(folder: str) -> tuple[str, ...]:
    found = []
    # What lies above a virtual device is no device.
    while folder.startswith("/sys/devices/") and not re.fullmatch(r"/sys/devices/virtual(?:/\w+)?", folder):
        found.append(folder)
        folder = folder.rpartition("/")[0]
    return tuple(found)


def matching(rules: list[Rule], seen: UdevDevice, action: str = "add") -> Iterator[tuple[Rule, bool]]:
    """Rules of one file that apply to an event, and whether that is certain."""
    until: str | None = None
    doubtful: str | None = None
    known_labels = {token.value for rule in rules for token in rule.tokens if token.key == "LABEL"}
    for rule in rules:
        seen.reading.spend(3)
        labels = [token.value for token in rule.tokens if token.key == "LABEL"]
        if until is not None and until not in labels:
            continue
        if until in labels:
            until = None
        if doubtful in labels:
            doubtful = None
        try:
            found = _holds(rule, seen, action)
            if found == NO:
                continue
            # udev sets a rule's properties before its attributes, wherever they stand in the line.
            _set_properties(rule, seen, certain=found == YES and doubtful is None)
            yield rule, found == YES and doubtful is None
        except Exhausted:
            raise
        except NotEvaluated as reason:
            seen.reading.leave_out(rule.file, rule.line, str(reason))
            continue
        jump = next((token.value for token in rule.tokens if token.key == "GOTO"), None)
        # A label that is not there leads nowhere (udev-rules.c: rule_resolve_goto).
        if jump in known_labels:
            if found == YES and doubtful is None:
                until = jump
            else:
                doubtful = doubtful or jump


def _set_properties(rule: Rule, seen: UdevDevice, *, certain: bool) -> None:
    """What a rule leaves in the device's properties for the rules after it."""
    for token in rule.tokens:
        name = token.attribute or ""
        if token.key == "IMPORT" and name == "cmdline":
            if (value := _on_command_line(seen.reading, token.value)) is not None:
                seen.properties[token.value] = value
        elif token.key == "IMPORT" and name == "file":
            _import_file(_substituted(token.value, seen), seen)
        elif token.key == "ENV" and token.operator in ("=", ":=", "+="):
            value = _substituted(token.value, seen)
            if token.operator == "+=" and seen.properties.get(name):
                value = f"{seen.properties[name]} {value}"
            if certain and not UNKNOWN.search(value) and _fits(seen, name, value):
                seen.properties[name] = value
                seen.unknown.discard(name)
            else:
                seen.unknown.add(name)


def _import_file(path: str, seen: UdevDevice) -> None:
    """`KEY=value` lines, the values perhaps quoted."""
    for line in seen.reading.text(path).splitlines() if path.startswith("/etc/") else ():
        seen.reading.spend(1)
        name, sign, value = line.strip().partition("=")
        if sign and name.isidentifier() and _fits(seen, name, value):
            seen.properties[name] = value.strip().strip("\"'")


def _fits(seen: UdevDevice, name: str, value: str) -> bool:
    """Whether a property is no longer than udev's own buffers, and all of them together no more than a device could
    have."""
    seen.reading.spend(len(value) // 100)
    if len(value) > EXPANDED:
        raise NotEvaluated(f"a property grows beyond {EXPANDED:,} characters")
    if len(value) > 512 and sum(map(len, seen.properties.values())) + len(value) > PROPERTIES_BYTES:
        raise NotEvaluated(f"a device's properties grow beyond {PROPERTIES_BYTES >> 10} KiB")
    return True


def _on_command_line(reading: Reading, name: str) -> str | None:
    """The value of a kernel parameter, the last one; `1` where it stands alone."""
    found = None
    text = reading.attribute("/proc/cmdline") or ""
    reading.spend(len(text) // 50)
    for word in text.split():
        key, sign, value = word.partition("=")
        if key == name:
            found = value if sign else "1"
    return found


def _holds(rule: Rule, seen: UdevDevice, action: str) -> int:
    result = YES
    upper: list[Token] = []
    for token in rule.tokens:
        if token.operator not in CONDITIONS and token.key not in ("PROGRAM", "IMPORT"):
            continue
        if token.key in ("KERNELS", "SUBSYSTEMS", "DRIVERS", "ATTRS", "BUS", "ID", "SYSFS"):
            upper.append(token)
            continue
        one = _one(token, seen, action)
        if one == NO and token.key == "ATTR" and _sets_itself(token, rule):
            one = MAYBE  # it matched before it wrote
        result = min(result, one)
        if result == NO:
            return NO
    return min(result, _parent_holds(upper, seen)) if upper else result


def _sets_itself(match: Token, rule: Rule) -> bool:
    """Whether the rule changes the very attribute that it looks at, so that the value of today says nothing."""
    return any(
        token.key == "ATTR" and token.attribute == match.attribute and token.operator not in CONDITIONS
        for token in rule.tokens
    )


def _one(token: Token, seen: UdevDevice, action: str) -> int:
    match token.key:
        case "ACTION":
            return _compare(token, action, seen)
        case "KERNEL" | "NAME":
            return _compare(token, seen.kernel, seen)
        case "SUBSYSTEM":
            return _compare(token, seen.subsystem, seen)
        case "DEVPATH":
            return _compare(token, seen.folder.removeprefix("/sys"), seen)
        case "DRIVER":
            return _compare(token, seen.tree.link(f"{seen.folder}/driver") or "", seen)
        case "SYMLINK":
            found = any(seen.reading.matches(token.value, link) for link in seen.links[:200])
            return _as_asked(token, found)
        case "ENV":
            name = token.attribute or ""
            if name == "DEVTYPE":
                return _compare(token, seen.devtype, seen)
            if name in seen.unknown or (name not in seen.properties and not seen.has_database):
                return MAYBE
            return _compare(token, seen.properties.get(name, ""), seen)
        case "IMPORT" if token.attribute == "cmdline":
            return _as_asked(token, _on_command_line(seen.reading, token.value) is not None)
        case "IMPORT" if token.attribute == "file":
            return YES if seen.reading.text(_substituted(token.value, seen)) else MAYBE
        case "IMPORT" if token.attribute == "db":
            return _as_asked(token, token.value in seen.properties)
        case "ATTR":
            return _attribute(token, seen, seen.folder)
        case "TEST":
            value = _substituted(token.value, seen)
            path = value if value.startswith("/") else f"{seen.folder}/{value}"
            if re.search(r"[$%*?\[]", path):
                return MAYBE
            seen.reading.spend(30)
            return _as_asked(token, seen.tree.exists(path))
    return MAYBE


def _parent_holds(tokens: list[Token], seen: UdevDevice) -> int:
    """All of a line's …S keys must hold for one and the same device of the chain."""
    best = NO
    tree = seen.tree
    for folder in seen.parents[:64]:
        result = YES
        for token in tokens:
            seen.reading.spend(1)
            match token.key:
                case "KERNELS" | "ID":
                    one = _compare(token, folder.rpartition("/")[2], seen)
                case "SUBSYSTEMS" | "BUS":
                    subsystem = tree.link(f"{folder}/subsystem") or _subsystem(folder)
                    one = _compare(token, subsystem or "", seen) if subsystem or tree.live else MAYBE
                case "DRIVERS":
                    one = _compare(token, tree.link(f"{folder}/driver") or "", seen)
                case _:
                    one = _attribute(token, seen, folder)
            result = min(result, one)
            if result == NO:
                break
        best = max(best, result)
    return best


def _subsystem(folder: str) -> str:
    """That of a device in a capture without its link, by the name that drivers give; empty where that does not tell."""
    name = folder.rpartition("/")[2]
    kinds = {
        "none": r"block|pci[\da-f]{4}:[\da-f]{2}",
        "scsi": r"host\d+|target[\d:]+|\d+:\d+:\d+:\d+",
        "virtio": r"virtio\d+",
        "pci": r"[\da-f]{4}:\S+",
        "nvme": r"nvme\d+",
    }
    return next((kind for kind, pattern in kinds.items() if re.fullmatch(pattern, name)), "")


def _attribute(token: Token, seen: UdevDevice, folder: str) -> int:
    attribute = token.attribute or ""
    text = seen.reading.attribute(_path(attribute, folder, seen))
    is_own = seen.devtype == "partition" and folder == seen.folder
    # Drives alone have a queue: neither their partitions nor what they hang on.
    has_none = attribute.startswith("queue/") and (is_own or "/block/" not in folder)
    has_none = has_none or (folder.startswith("/sys/devices/virtual/") and attribute in ("vendor", "model", "rev"))
    if text is None and not seen.tree.live and not has_none:
        return MAYBE  # a capture holds only what seekwise reads
    if text is None:
        return NO if token.operator == "==" else YES
    return _compare(token, text, seen)


def _path(attribute: str, folder: str, seen: UdevDevice) -> str:
    """Where an attribute lies: below the device, below another one (`[block/sda]queue/…`), or below a folder that `*`
    stands for."""
    if attribute.startswith("["):
        inside, _, rest = attribute[1:].partition("]")
        kind, _, name = inside.partition("/")
        above = "/sys/block" if kind == "block" else f"/sys/class/{kind}"
        return f"{above}/{name}/{rest.strip('/')}"
    if "/*/" in attribute:
        first, _, rest = attribute.partition("/*/")
        for name in seen.tree.names(f"{folder}/{first}")[:20]:
            if seen.reading.attribute(f"{folder}/{first}/{name}/{rest}") is not None:
                return f"{folder}/{first}/{name}/{rest}"
    return f"{folder}/{attribute}"


def _compare(token: Token, text: str, seen: UdevDevice) -> int:
    return _as_asked(token, seen.reading.matches(token.value, text, ignore_case=token.ignore_case))


def _as_asked(token: Token, found: bool) -> int:
    """`IMPORT{…}="…"` asks as well, with the sign of an assignment."""
    return YES if found == (token.operator != "!=") else NO


def assignments(rule: Rule, seen: UdevDevice) -> Iterator[tuple[str, str, str, bool]]:
    """Device, attribute and value of each file that a rule writes, and whether that is known from the rule alone."""
    reading = seen.reading
    for token in rule.tokens:
        # A program that is asked for its answer runs and may write, too.
        asks = token.key == "PROGRAM" or (token.key == "IMPORT" and token.attribute == "program")
        if not asks and (token.operator in CONDITIONS or token.operator == "-="):
            continue
        if token.key == "ATTR" and token.attribute:
            if token.attribute.startswith("/sys/"):
                _note_whole_path(rule, token, reading)
                continue
            place = reading.located(_path(token.attribute, seen.folder, seen))
            is_disk = place is not None and reading.stack.devices[place[0]].kind != "partition"
            if place and is_disk and (attribute := attribute_of(place[1])):
                value = _substituted(token.value, seen)
                # What only a program says (`%c`, a property that it prints) may be any value.
                is_known = value != token.value or value[:1] not in ("%", "$")
                yield place[0], attribute, value if is_known else UNKNOWN_VALUE, is_known
        elif asks or (token.key == "RUN" and token.attribute in (None, "program")):
            command = _with_folder(_substituted(token.value, seen), reading)
            if WITHOUT_SHELL.search(command) and not re.search(r"\b(?:ba|da|a|z|k)?sh\b", command):
                reason = "udev starts programs without a shell, so `>` is an argument like any other"
                instead = 'RUN+="/bin/sh -c \'…\'", or ATTR{queue/…}="VALUE"'
                reading.idle(rule.file, rule.line, None, "queue/", command[:80], reason, instead)
                continue
            # Programs have the device's properties in their environment.
            command = Template(command).safe_substitute(_environment(seen))
            place = reading.located(f"{seen.folder}/queue")
            for write in writes(reading, rule.file, command, set(), devices=[place[0]] if place else []):
                yield write.device, write.attribute, write.value, not write.look


def _note_whole_path(rule: Rule, token: Token, reading: Reading) -> None:
    for device, attribute in reading.settings(token.attribute or ""):
        reason = "udev looks for ATTR{} below the folder of the device that matched"
        instead = f'ATTR{{{attribute}}}="{token.value}"'
        reading.idle(rule.file, rule.line, device, attribute, token.value, reason, instead)


def _with_folder(command: str, reading: Reading) -> str:
    """A program without a path lies in udev's own folder (udev(7), RUN)."""
    name = command.partition(" ")[0]
    folders = ("/usr/lib/udev", "/lib/udev") if name and "/" not in name else ()
    return next((f"{folder}/{command}" for folder in folders if name in reading.names(folder)), command)


def _environment(seen: UdevDevice) -> dict[str, str]:
    """What udev hands to a program."""
    major, _, minor = seen.number.partition(":")
    own = {"DEVPATH": seen.folder.removeprefix("/sys"), "SUBSYSTEM": seen.subsystem, "MAJOR": major, "MINOR": minor}
    short = {name: value for name, value in seen.properties.items() if len(value) < LONGEST_PROPERTY}
    return {**short, **own, "DEVTYPE": seen.devtype}


def _substituted(text: str, seen: UdevDevice) -> str:
    """`%k`, `$env{…}` and the like, as far as they are known from files; the rest stays as it stands. Raises
    NotEvaluated for what grows too long."""
    if "%" not in text and "$" not in text:
        return text
    found: list[str] = []
    at = length = 0
    for match in SUBSTITUTION.finditer(text):
        seen.reading.spend(1)
        piece = _replacement(match[0], seen)
        found += [text[at : match.start()], piece]
        length += match.start() - at + len(piece)
        at = match.end()
        if length > EXPANDED:
            raise NotEvaluated(f"a substitution grows beyond {EXPANDED:,} characters")
    return "".join([*found, text[at:]])


def _replacement(text: str, seen: UdevDevice) -> str:
    """udev(7), section on string substitutions."""
    name, _, argument = text.rstrip("}").partition("{")
    match name:
        case "%%" | "$$" | "%$" | "$%":
            return text[0] if text[0] == text[1] else text
        case "%k" | "$kernel" | "$name" | "%D":
            return seen.kernel
        case "%N" | "$devnode" | "$tempnode":
            return seen.properties.get("DEVNAME", text)
        case "%p" | "$devpath":
            return seen.folder.removeprefix("/sys")
        case "%P" | "$parent":
            return _parent_name(seen) or text
        case "%M" | "$major" if seen.number:
            return seen.number.partition(":")[0]
        case "%m" | "$minor" if seen.number:
            return seen.number.partition(":")[2]
        case "%r" | "$root":
            return "/dev"
        case "%S" | "$sys":
            return "/sys"
        case "%n" | "$number":
            return seen.kernel[len(seen.kernel.rstrip("0123456789")) :]
        case "%E" | "$env" if argument not in seen.unknown:
            return seen.properties.get(argument, "" if seen.has_database else text)
        case "%s" | "$attr" | "$sysfs" if (
            value := seen.reading.attribute(_path(argument, seen.folder, seen))
        ) is not None:
            return value.strip()
    return text


def _parent_name(seen: UdevDevice) -> str | None:
    """The device file of the disk above a partition."""
    node = seen.reading.nodes.get(seen.kernel.replace("/", "!"))
    return node.disk if node else None
