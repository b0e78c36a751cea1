"""rc.local, unit files, cron tables and the scripts that they start, whose text writes below /sys/block.

Scripts are searched, not run: what they do depends on more than their text, so a find is uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.shell_writes import INTERESTING, writes
from seekwise.linux.tree import Tree

FILES = ("/etc/rc.local", "/etc/rc.d/rc.local", "/etc/crontab", "/etc/rc.d/boot.local", "/etc/init.d/boot.local")
FOLDERS = {"/etc/cron.d": "", "/etc/local.d": ".start"}
UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
"""An earlier folder hides a unit of the same name in a later one."""
OWN_UNITS = frozenset(UNITS[:2])
"""What an administrator wrote himself counts whether it is enabled or not; a package's unit only if it is."""

EXECUTED = re.compile(r"/(?:etc|opt|root|usr)/[^\s;|&<>\"'$(){}]+")


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    """Lines of start scripts and units, and of scripts that they run, that write to a device's settings."""
    files = list(FILES)
    for folder, ending in FOLDERS.items():
        files += [f"{folder}/{name}" for name in tree.names(folder) if name.endswith(ending)]
    started: dict[str, None] = {}
    for file in [*files, *_units(tree)]:
        text = tree.text(file) or ""
        lines = [line for line in text.splitlines() if _runs(line, file)]
        started |= dict.fromkeys(path for line in lines for path in EXECUTED.findall(line) if path != file)
        yield from _setters(text, file, stack, sure=file in FILES)
    for file in started:
        text = tree.text(file) or ""
        if text.startswith("#!"):
            yield from _setters(text, file, stack, sure=False)


def _runs(line: str, file: str) -> bool:
    return line.startswith("Exec") if file.endswith(".service") else not line.lstrip().startswith("#")


def _setters(text: str, file: str, stack: Stack, *, sure: bool) -> Iterator[Setter]:
    if not INTERESTING.search(text):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for device, attribute, value in writes(line, stack):
            rank = (assignment.SCRIPT, 0, file, number)
            # A plain path in rc.local is executed as it stands; a variable may stand for some devices only.
            yield Setter("script", file, number, device, attribute, value, rank, certain=sure and "$" not in line)


def _units(tree: Tree) -> list[str]:
    units: dict[str, str] = {}
    for folder in UNITS:
        for name in tree.names(folder):
            if name.endswith(".service"):
                units.setdefault(name, f"{folder}/{name}")
    enabled = set(_enabled(tree))
    return [
        file
        for name, file in sorted(units.items())
        if file.rpartition("/")[0] in OWN_UNITS or enabled & {name, f"{name.removesuffix('.service')}.timer"}
    ]


def _enabled(tree: Tree) -> Iterator[str]:
    """Names of units that another unit wants or requires."""
    for folder in UNITS:
        for name in tree.names(folder):
            if name.endswith((".wants", ".requires")):
                yield from tree.names(f"{folder}/{name}")
