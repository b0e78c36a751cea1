"""rc.local, init scripts, unit files, cron tables and the scripts that they start, whose text writes devices' settings.

Scripts are searched, not run (`shell`): what they do depends on more than their text, so a find is uncertain but for
plain lines of rc.local.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from seekwise.linux.setters import assignment, udev_rules
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading
from seekwise.linux.setters.shell import INTERESTING, Search, Write, started, writes

_PLACES = Path(__file__).with_name("script_places.txt").read_text(encoding="utf-8").split("\n\n")[1:]
FILES, FOLDERS, CRON = [[line for line in group.splitlines() if line[:1] == "/"] for group in _PLACES]
MKINITCPIO = ("/etc/mkinitcpio.conf", "/etc/mkinitcpio.conf.d")
HOOKS = re.compile(r"^[^\S\n]*HOOKS=\(?[\"']?([^)\"']{0,2000})", re.MULTILINE)
DRACUT = "/usr/lib/dracut/modules.d"
RUN_LEVELS = ("/etc/init.d", "/etc/rc.d", "/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rcS.d", "/etc/rc.d/rc3.d", "/etc/rc.d/rc5.d",
              "/etc/runlevels/default", "/etc/runlevels/boot")  # fmt: skip
UNITS = (
    "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
)  # fmt: skip
"""An earlier folder hides a unit of the same name in a later one."""
OWN_UNITS = frozenset(UNITS[:2])
"""What an administrator wrote himself counts whether it is enabled or not; a package's unit only if it is."""
WITHOUT_USER = re.compile(
    r"(?:@\w{1,20}|(?:[\w*,/-]{1,80}\s+){4}[\w*,/-]{1,80})\s+(?:(?:echo|printf|for|hdparm|blockdev|bash|sh)\s|/)"
)
"""A line of a table of cron whose sixth column, the user, is missing."""
WITHOUT_SHELL = re.compile(r">\s{0,4}/sys/|\|\s{0,4}(?:\S{0,80}/)?(?:sudo\s{1,4})?tee\s{1,4}/sys/")
EXEC = re.compile(r"^[ \t]*Exec\w{1,20}[ \t]*=[ \t]*((?:[^\n\\]|\\.)*)", re.MULTILINE | re.DOTALL)
BRACED = re.compile(r"(?<!\$)\$\{(\w{1,40})\}")
"""What systemd replaces wherever it stands (systemd.service(5)); `$NAME` only where it is a word of its own."""
STARTED = re.compile(r"[\w@.%${}-]{1,100}\.service")


def read(reading: Reading) -> Iterator[Setter]:
    """Lines of start scripts and units, and of scripts that they start, that write a device's setting."""
    for write, is_start_script in dict.fromkeys(_writes(reading)):
        rank = (assignment.SCRIPT, 0, write.file, write.line)
        yield Setter(
            "script", write.file, write.line, write.device, write.attribute, write.value, rank,
            certain=is_start_script and not write.look, look=write.look,
        )  # fmt: skip


def _writes(reading: Reading) -> Iterator[tuple[Write, bool]]:
    seen: set[str] = set()
    for file in dict.fromkeys(_files(reading)):
        # systemd-rc-local-generator and init scripts start it only if it may be started.
        is_idle = file.endswith("/rc.local") and not reading.tree.is_executable(file)
        for write in writes(reading, file, reading.text(file), seen):
            if is_idle:
                _note(reading, write, f"{file} is not executable, so nothing starts it", f"`chmod +x {file}`")
            else:
                yield write, file in FILES and write.file == file
    for file in (file for place in CRON for file in _listed(reading, place)):
        text = reading.text(file).replace("\\%", "%")
        is_system = file.startswith(("/etc/crontab", "/etc/cron.d/")) and "crontabs/" not in file
        for line in filter(WITHOUT_USER.match, text.splitlines()) if is_system else ():
            for write in Search(reading, file).run(line[:4096], text[: text.index(line)].count("\n") + 1):
                _note(reading, write, "a line of this table names the user before the command", "the user before it")
            text = text.replace(line, "", 1)
        for write in writes(reading, file, text, seen):
            yield write, False
    for file, idle in _units(reading):
        for write in _unit(reading, file, set() if idle else seen):
            if idle is None:
                yield write, False
            else:
                _note(reading, write, *idle)


def _note(reading: Reading, write: Write, reason: str, instead: str) -> None:
    reading.idle(write.file, write.line, write.device, write.attribute, write.value, reason, instead)


def _listed(reading: Reading, place: str) -> list[str]:
    """The files that `/etc/cron.d/*` or `/etc/sv/*/run` stands for; a name after `*` is how theirs end, or a file below."""
    folder, star, ending = place.partition("/*")
    if not star:
        return [place]
    return [
        f"{folder}/{name}{ending if ending[:1] == '/' else ''}"
        for name in reading.names(folder)
        if ending[:1] == "/" or name.endswith(ending)
    ]


def _files(reading: Reading) -> Iterator[str]:
    """Start scripts that are there, among them those of the initial RAM disk and init scripts that a run level starts."""
    for place in (*FILES, *FOLDERS):
        yield from _listed(reading, place)
    for file in (MKINITCPIO[0], *_listed(reading, f"{MKINITCPIO[1]}/*")):
        for hooks in HOOKS.findall(reading.text(file)):
            yield from (
                f"{folder}/{hook}"
                for hook in hooks.split()
                for folder in ("/etc/initcpio/hooks", "/usr/lib/initcpio/hooks")
            )
    for module in reading.names(DRACUT):
        for file in _listed(reading, f"{DRACUT}/{module}/*.sh"):
            if not file.endswith("/module-setup.sh") and INTERESTING.search(reading.glance(file)):
                yield file
    for folder in RUN_LEVELS:
        for name in reading.names(folder):
            if "runlevels" in folder or re.match(r"S\d\d.", name):
                # Small systems start `S99io` of /etc/init.d itself.
                yield f"/etc/init.d/{name if 'runlevels' in folder or folder == '/etc/init.d' else name[3:]}"


def _unit(reading: Reading, file: str, seen: set[str]) -> Iterator[Write]:
    """What the commands of a service write, of its file and of its drop-ins."""
    name = file.rpartition("/")[2]
    instance = name.partition("@")[2].removesuffix(".service")
    drop_ins = [path for folder in UNITS for path in _listed(reading, f"{folder}/{name}.d/*.conf")]
    for path in (file, *drop_ins):
        text = reading.text(path)
        for match in EXEC.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            command = re.sub("%[iI]", instance or "*", match[1]).replace("$$", "$").replace("%%", "%")
            if WITHOUT_SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
                reason = "systemd starts programs without a shell, so `>` and `|` are arguments like any other"
                reading.idle(path, line, None, "queue/", command[:80], reason, "ExecStart=/bin/sh -c '…'")
                continue
            taken = next((name[1] for name in BRACED.finditer(match[1]) if _is_set_in(command, name[1])), "")
            for write in writes(reading, path, command, seen, line):
                if taken:
                    reason = f"systemd itself replaces ${{{taken}}}, by nothing, before the shell sees it"
                    _note(reading, write, reason, f"$${{{taken}}} for ${{{taken}}}")
                else:
                    yield write


def _is_set_in(command: str, name: str) -> bool:
    """Whether a command of the shell sets the variable itself."""
    return re.search(rf"\bfor\s+{name}\s+in\b|(?:^|[\s;'\"]){name}=", command) is not None


def _units(reading: Reading) -> list[tuple[str, tuple[str, str] | None]]:
    """Services that are started; and those that are not, but write to a disk's files: with the reason, and what would
    start them."""
    units: dict[str, str] = {}
    for folder in UNITS:
        for name in reading.names(folder):
            if name.endswith(".service"):
                units.setdefault(name, f"{folder}/{name}")
    enabled = set(_enabled(reading))
    extended = {
        name.removesuffix(".d") for folder in OWN_UNITS for name in reading.names(folder) if name.endswith(".d")
    }
    # Where no target's folder is there, what is enabled is not known.
    known = any(name.endswith(".wants") for folder in UNITS for name in reading.names(folder))
    found: list[tuple[str, tuple[str, str] | None]] = []
    for name, file in sorted(units.items()):
        starts = enabled & {name, *(f"{name.removesuffix('.service')}.{kind}" for kind in ("timer", "path", "socket"))}
        is_own = file.rpartition("/")[0] in OWN_UNITS
        if is_own and reading.tree.link(file) == "null":
            hidden = next((path for folder in UNITS[2:] if reading.tree.exists(path := f"{folder}/{name}")), file)
            found.append((hidden, ("the unit is masked", f"`systemctl unmask {name}`")))
            continue
        if starts or name in extended:
            found.append((file, None))
            continue
        text = reading.glance(file) if is_own or known else ""
        if is_own and (not known or "[Install]" not in text or _is_named(reading, name, units)):
            found.append((file, None))
        elif INTERESTING.search(text) or (
            is_own and any(INTERESTING.search(reading.glance(path)) for path in started(reading, text))
        ):
            found.append((file, ("nothing starts the unit", f"`systemctl enable {name}`")))
    # An instance `io@sda.service` is written as `io@.service`.
    for name in sorted(enabled):
        template = f"{name.partition('@')[0]}@.service"
        if "@" in name and name not in units and template in units:
            found.append((units[template], None))
    return found


def _is_named(reading: Reading, name: str, units: dict[str, str]) -> bool:
    """Whether another unit of the administrator names it, and so may start it."""
    own = [file for file in units.values() if file.rpartition("/")[0] in OWN_UNITS]
    return any(name in reading.glance(file) for file in own if not file.endswith(f"/{name}"))


def _enabled(reading: Reading) -> Iterator[str]:
    """Names of units that another unit wants or requires, or that a udev rule starts (`SYSTEMD_WANTS`, `systemctl`)."""
    for folder in UNITS:
        for name in reading.names(folder):
            if name.endswith((".wants", ".requires")):
                yield from reading.names(f"{folder}/{name}")
    for folder in udev_rules.FOLDERS:
        for name in reading.names(folder):
            text = reading.glance(f"{folder}/{name}") if name.endswith(".rules") else ""
            for line in text.splitlines() if ".service" in text else ():
                yield from () if line.lstrip().startswith("#") else STARTED.findall(line)
