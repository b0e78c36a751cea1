"""rc.local, init scripts, unit files, cron tables and the scripts that they start, whose text writes to devices'
settings.

Scripts are searched, not run (`shell`): what they do depends on more than their text, so a find is uncertain but for
plain lines of rc.local.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters import assignment, udev_rules
from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.reading import Exhausted, NotEvaluated, Reading
from seekwise.linux.setters.shell import INTERESTING, Shell, is_worth_reading
from seekwise.linux.setters.shell_programs import ShellState, Write

FILES = (
    "/etc/rc.local", "/etc/rc.d/rc.local", "/etc/init.d/rc.local", "/etc/rc.d/boot.local", "/etc/init.d/boot.local", "/etc/init.d/after.local",
    "/etc/init.d/before.local", "/etc/rc.d/after.local", "/etc/init.d/rcS", "/etc/rc.d/rc.S", "/etc/rc.d/rc.M", "/etc/runit/1", "/etc/runit/2", "/etc/inittab",
    "/etc/mdev.conf", "/etc/network/interfaces", "/boot/config/go", "/etc/cloud/cloud.cfg", "/var/lib/cloud/instance/user-data.txt", "/init.rc",
    "/userdata/system/custom.sh", "/storage/.config/autostart.sh", "/etc/config/autorun.sh", "/etc/rc.d/rc.sysinit", "/usr/share/initramfs-tools/scripts/zfs",
)  # fmt: skip
FOLDERS = {
    "/etc/local.d": ".start", "/etc/rc.local.d": "", "/etc/init": ".conf", "/etc/hotplug.d/block": "", "/etc/ktune.d": ".sh", "/etc/acpi": ".sh",
    "/etc/cloud/cloud.cfg.d": ".cfg", **{f"/var/lib/cloud/{part}": "" for part in ("scripts/per-boot", "scripts/per-instance", "scripts/per-once", "instance/scripts")},
    "/etc/modprobe.d": ".conf", "/etc/elogind/system-sleep": "", "/var/lib/dietpi/postboot.d": "", "/etc/supervisor/conf.d": ".conf", "/data/adb/post-fs-data.d": ".sh", "/etc/dinit.d": "", "/data/adb/service.d": ".sh",
    **{f"{part}/etc/init{below}": ".rc" for part in ("/system", "/vendor", "/odm", "/product", "/system_ext") for below in ("", "/hw")}, "/system/etc/init.d": "",
    "/etc/systemd/system-generators": "", "/usr/local/lib/systemd/system-generators": "", "/usr/lib/elogind/system-sleep": "", "/etc/dhcp/dhclient-exit-hooks.d": "", "/etc/cron.hourly": "", "/etc/cron.daily": "", "/usr/lib/systemd/system-sleep": "", "/etc/pm/power.d": "",
    "/etc/pm/sleep.d": "", "/usr/lib/pm-utils/power.d": "", "/etc/runit/core-services": ".sh", "/etc/networkd-dispatcher/routable.d": "",
    "/etc/cron.weekly": "", "/etc/cron.monthly": "", "/etc/network/if-up.d": "", "/etc/profile.d": ".sh", "/usr/local/etc/rc.d": ".sh",
    "/usr/lib/NetworkManager/dispatcher.d": "", "/etc/laptop-mode/batt-start": "", "/etc/laptop-mode/nolm-ac-start": "",
    **{f"/etc/NetworkManager/dispatcher.d{part}": "" for part in ("", "/pre-up.d", "/no-wait.d")},
    **{
        f"{top}/initramfs-tools/scripts/{part}": "" for top in ("/etc", "/usr/share")
        for part in ("init-top", "init-premount", "local-top", "local-premount", "local-bottom", "init-bottom")
    },
}  # fmt: skip
SUPERVISED = {
    "/etc/sv": ("run",), "/etc/service": ("run",), "/etc/s6/sv": ("run", "up"), "/etc/s6/adminsv": ("run", "up"), "/etc/s6-rc/source": ("run", "up"),
    "/data/adb/modules": ("service.sh", "post-fs-data.sh"), "/boot/config/plugins/user.scripts/scripts": ("script",),
}  # fmt: skip
"""Folders with a folder for each service: of runit and s6, of Android's modules, of Unraid."""
MKINITCPIO = ("/etc/mkinitcpio.conf", "/etc/mkinitcpio.conf.d")
HOOKS = re.compile(r"^\s*HOOKS=\(?[\"']?([^)\"']{0,2000})", re.MULTILINE)
DRACUT = "/usr/lib/dracut/modules.d"
ARGUMENTS = {"system-sleep": "post", "sleep.d": "resume", "power.d": "false"}
"""What scripts of a folder are called with, where it is not `start`: when the machine wakes, and on mains."""
CRON = ("/etc/crontab", "/etc/anacrontab")
CRON_FOLDERS = ("/etc/cron.d", "/var/spool/cron", "/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/etc/crontabs")
RUN_LEVELS = ("/etc/init.d", "/etc/rc.d", "/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rcS.d", "/etc/rc.d/rc3.d", "/etc/rc.d/rc5.d", "/etc/runlevels/default",
              "/etc/runlevels/boot")  # fmt: skip
UNITS = (
    "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
)  # fmt: skip
"""An earlier folder hides a unit of the same name in a later one."""
OWN_UNITS = frozenset(UNITS[:2])
"""What an administrator wrote himself counts whether it is enabled or not; a package's unit only if it is."""
ANACRON = re.compile(r"(?:@?\w{1,20})\s+\d{1,9}\s+\S{1,200}\s+")
"""Period in days, delay, name (anacrontab(5))."""
SCHEDULE = re.compile(r"(?:@\w{1,20}|\S{1,200}\s+\S{1,200}\s+\S{1,200}\s+\S{1,200}\s+\S{1,200})\s+")
USER = re.compile(r"^\S{1,64}\s+")
WITHOUT_SHELL = re.compile(r">\s{0,4}/sys/|\|\s{0,4}(?:\S{0,80}/)?(?:sudo\s{1,4})?tee\s{1,4}/sys/")
STARTED = re.compile(r"[\w@.%${}-]{1,100}\.service")
LONGEST_LINE = 16_384


def read(reading: Reading) -> Iterator[Setter]:
    """Lines of start scripts and units, and of scripts that they run, that write to a device's settings."""
    seen: set[tuple[str, int, str, str, str]] = set()
    for write, sure in _writes(reading):
        key = (write.file, write.line, write.device, write.attribute, write.value)
        if key in seen:
            continue
        seen.add(key)
        rank = (assignment.SCRIPT, 0, write.file, write.line)
        yield Setter(
            "script",
            write.file,
            write.line,
            write.device,
            write.attribute,
            write.value,
            rank,
            certain=sure and write.certain,
        )


def _writes(reading: Reading) -> Iterator[tuple[Write, bool]]:
    files = list(FILES)
    for folder, ending in FOLDERS.items():
        files += [f"{folder}/{name}" for name in reading.names(folder) if name.endswith(ending)]
    files += [
        f"{folder}/{name}/{script}" for folder, scripts in SUPERVISED.items() for name in reading.names(folder) for script in scripts
    ]  # fmt: skip
    files += _of_initramfs(reading)
    for file in dict.fromkeys([*files, *_init_scripts(reading)]):
        for write in _script(reading, file):
            yield write, file in FILES and write.file == file
    for file in [*CRON, *(f"{folder}/{name}" for folder in CRON_FOLDERS for name in reading.names(folder))]:
        for number, line in enumerate(reading.text(file).splitlines(), 1):
            reading.spend(1)
            schedule = ANACRON if file.endswith("/anacrontab") else SCHEDULE
            match = schedule.match(line) if len(line) < LONGEST_LINE and not line.lstrip().startswith("#") else None
            if match is None:
                continue
            command = line[match.end() :]
            # System tables name the user before the command.
            with_user = command if file == "/etc/crontab" or file.startswith("/etc/cron.d/") else ""
            command = USER.sub("", command) if with_user else command
            if re.match(r"(?:echo|printf|for|hdparm|blockdev|bash|sh|/\S+)\s", with_user):
                for write in _line(reading, file, number, with_user.replace("\\%", "%"), {}):
                    reason, instead = "a line of this table names the user before the command", f"root {with_user[:80]}"
                    reading.ineffective.append(
                        Ineffective("script", file, number, write.device, write.attribute, write.value, reason, instead)
                    )
                continue
            for write in _line(reading, file, number, command.replace("\\%", "%"), {}):
                yield write, False
    for file, idle in _units(reading):
        for write in _unit(reading, file):
            if not idle:
                yield write, False
            else:
                where = (write.file, write.line, write.device)
                reading.ineffective.append(Ineffective("script", *where, write.attribute, write.value, *idle))


def _of_initramfs(reading: Reading) -> Iterator[str]:
    """Scripts of the initial RAM disk: hooks that mkinitcpio.conf names, and those of dracut's modules."""
    for file in (MKINITCPIO[0], *(f"{MKINITCPIO[1]}/{name}" for name in reading.names(MKINITCPIO[1]))):
        for hooks in HOOKS.findall(reading.text(file)):
            for hook in hooks.split():
                yield from (f"{folder}/{hook}" for folder in ("/etc/initcpio/hooks", "/usr/lib/initcpio/hooks"))
    for module in reading.names(DRACUT):
        for name in reading.names(f"{DRACUT}/{module}"):
            file = f"{DRACUT}/{module}/{name}"
            if (
                name.endswith(".sh")
                and name != "module-setup.sh"
                and is_worth_reading(reading.glance(file), reading, file)
            ):
                yield file


def _script(reading: Reading, file: str) -> Iterator[Write]:
    text = reading.text(file)
    if not is_worth_reading(text, reading, file):
        return
    if text.startswith("#!") and not re.search(
        r"\b(?:ba|da|a|z|k)?sh\b|openrc-run|runscript|execlineb", text.partition("\n")[0]
    ):
        if "/sys/block" in text:
            reading.leave_out(file, None, "a program that is no shell script and names /sys/block")
        return
    if text:
        argument = ARGUMENTS.get(file.split("/")[-2], "start")
        state = ShellState(variables={"1": [argument], "@": [argument]})
        yield from Shell(reading, file).script(_with_functions_called(_as_shell(file, text)), state)


def _with_functions_called(text: str) -> str:
    """OpenRC and OpenWrt call `start` of an init script themselves, and so do the functions of ktune; mkinitcpio calls
    the functions of a hook."""
    is_called = re.match(r"#!.{0,40}(?:openrc-run|runscript|rc\.common)", text) or re.search(
        r'^\s*process "?\$@', text, re.MULTILINE
    )
    called = re.findall(r"^\s{0,8}(run_(?:early|late)?hook)\s{0,4}\(", text, re.MULTILINE)
    return "\n".join([text, *(["start"] if is_called else []), *called, ""])


CLOUD = re.compile(r"\s{0,40}-\s{1,8}(?:\[.{0,200}-\w{0,3}c,\s*)?['\"]?(.*?)['\"]?\s*\]?\s*")
COMMANDS = {
    "/etc/cloud/": CLOUD,
    "/var/lib/cloud/instance/": CLOUD,
    "/etc/dinit.d/": re.compile(r"\s{0,40}command\s*=\s*(.*)"),
    "/etc/supervisor/": re.compile(r"command\s*=\s*(.*)"),
    "/etc/modprobe.d/": re.compile(r"install\s+\S{1,64}\s+(.*)"),
    "/etc/inittab": re.compile(r"[^:#]{0,20}:[^:]{0,20}:(?:sysinit|boot|bootwait|once|wait):(.*)"),
    "/etc/mdev.conf": re.compile(r"[^#].{0,200}?\s[@*](\S.*)"),
    "/etc/network/interfaces": re.compile(r"\s{0,40}(?:pre-|post-)?up\s+(.*)"),
}
"""The command in a line of cloud-init, dinit, supervisord, modprobe.d(5), inittab(5), busybox's mdev and interfaces(5)."""
BLOCK = re.compile(r"(\s{0,40})-\s{1,8}[|>][+-]?\s*")
"""`- |` of YAML: the deeper lines below it are one command."""
ANDROID = re.compile(r"\s+write\s+(/\S{1,200})\s+(\S{1,200})\s*")
ANDROID_PROGRAM = re.compile(r"(?:service\s+\S{1,100}|\s+exec(?:_background)?\s.{0,100}?--)\s+(/\S.*)")
EXECLINE = re.compile(r"#!.{0,40}execlineb?\b")
UPSTART = re.compile(r"(?:pre-start|post-start)?\s*exec\s+(.*)")


def _as_shell(file: str, text: str) -> str:
    """The commands of a file that has them among other lines, each in its own line; a script as it stands."""
    if file.endswith(".rc"):
        return "\n".join(map(_android, text.splitlines()))
    if EXECLINE.match(text) or (file.endswith("/up") and not text.startswith("#!")):
        # One command over all lines (execline); each program starts the rest.
        return " ".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    if file.startswith("/etc/init/"):
        found, inside = [], False
        for line in text.splitlines():
            word = line.strip()
            inside = (inside or word.endswith("script")) and word != "end script"
            command = UPSTART.fullmatch(word[:LONGEST_LINE])
            found.append(line if inside and not word.endswith("script") else command[1] if command else "")
        return "\n".join(found)
    form = next((form for folder, form in COMMANDS.items() if file.startswith(folder)), None)
    if form is None or text.startswith("#!"):
        return text
    lines, deeper = [], ""
    for line in text.splitlines():
        if form is CLOUD and (block := BLOCK.fullmatch(line[:200])):
            deeper = f"{block[1]} "
            lines.append("")
        elif deeper and line.startswith(deeper):
            lines.append(line)
        else:
            deeper = ""
            match = form.fullmatch(line[:LONGEST_LINE])
            lines.append(match[1] if match else "")
    return "\n".join(lines)


def _android(line: str) -> str:
    """A line of Android's init language: a write, or a program that is started."""
    if row := ANDROID.fullmatch(line[:500]):
        return f"echo {row[2]} > {row[1]}"
    return program[1] if (program := ANDROID_PROGRAM.fullmatch(line[:500])) else ""


def _line(reading: Reading, file: str, number: int, command: str, variables: dict[str, list[str]]) -> Iterator[Write]:
    try:
        if is_worth_reading(command, reading, file) or variables:
            yield from Shell(reading, file).script(command, ShellState(variables=dict(variables)), number)
    except Exhausted:
        raise
    except NotEvaluated as reason:
        reading.leave_out(file, number, str(reason))


def _init_scripts(reading: Reading) -> list[str]:
    """Init scripts that a run level starts."""
    found = []
    for folder in RUN_LEVELS:
        for name in reading.names(folder):
            script = name[3:] if re.fullmatch(r"S\d\d.+", name) else name if "runlevels" in folder else None
            if script:
                # Small systems start `S99io` of /etc/init.d itself.
                found.append(f"/etc/init.d/{name if folder == '/etc/init.d' else script}")
    return found


def _unit(reading: Reading, file: str) -> Iterator[Write]:
    """The commands of a service, of its file and of its drop-ins."""
    name = file.rpartition("/")[2]
    instance = name.partition("@")[2].removesuffix(".service")
    folders = [f"{folder}/{name}.d" for folder in UNITS]
    files = [
        file,
        *(f"{folder}/{part}" for folder in folders for part in reading.names(folder) if part.endswith(".conf")),
    ]
    variables: dict[str, list[str]] = {}
    for path in files:
        for number, line in _continued(reading, path):
            key, sign, value = line.partition("=")
            key, value = key.strip(), value.strip()
            if not sign:
                continue
            if key == "Environment":
                for word in value.strip("\"'").split():
                    variable, equals, text = word.strip("\"'").partition("=")
                    if equals:
                        variables[variable] = [text]
            elif key == "EnvironmentFile":
                _environment(reading, value.lstrip("-"), variables)
            elif key.startswith("Exec"):
                command = value.lstrip("@-:+!|").replace("$$", "$")
                for specifier, text in (("%i", instance), ("%I", instance)):
                    command = command.replace(specifier, text or "*")
                if WITHOUT_SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
                    reading.ineffective.append(
                        Ineffective(
                            "script", path, number, None, "queue/", command[:80], "systemd starts programs without a shell, so `>` and `|` are arguments like any other",
                            "ExecStart=/bin/sh -c '…'",
                        )
                    )  # fmt: skip
                    continue
                yield from _line(reading, path, number, command.replace("%%", "%"), variables)


def _continued(reading: Reading, file: str) -> Iterator[tuple[int, str]]:
    """Lines of a unit file, those that end in a backslash joined with the next."""
    pieces: list[str] = []
    start = length = 0
    for number, raw in enumerate(reading.text(file).splitlines(), 1):
        reading.spend(1)
        line = raw.strip()
        if not pieces:
            start, length = number, 0
        if line.startswith(("#", ";")):
            continue
        length += len(line)
        if length > 4 * LONGEST_LINE:
            raise NotEvaluated(f"a line of more than {4 * LONGEST_LINE:,} characters")
        if line.endswith("\\"):
            pieces.append(line[:-1])
            continue
        yield start, " ".join([*pieces, line])
        pieces = []


def _environment(reading: Reading, file: str, variables: dict[str, list[str]]) -> None:
    for line in reading.text(file).splitlines() if file.startswith("/") else ():
        reading.spend(1)
        name, sign, value = line[:LONGEST_LINE].partition("=")
        if sign and name.strip().isidentifier():
            variables[name.strip()] = [value.strip().strip("\"'")]


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
        elif any(word in text for word in INTERESTING) or (is_own and is_worth_reading(text, reading, file)):
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
