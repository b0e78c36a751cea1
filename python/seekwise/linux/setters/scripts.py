"""rc.local, unit files and cron tables whose text writes below /sys/block. Scripts are searched, not run: a find is uncertain."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.model import Stack
from seekwise.linux.setters import model
from seekwise.linux.setters.model import Setter
from seekwise.linux.setters.shell_writes import INTERESTING, writes
from seekwise.linux.tree import Tree

FILES = ("/etc/rc.local", "/etc/rc.d/rc.local", "/etc/crontab", "/etc/rc.d/boot.local", "/etc/init.d/boot.local")
FOLDERS = {
    "/etc/systemd/system": (".service",),
    "/run/systemd/system": (".service",),
    "/etc/cron.d": ("",),
    "/etc/local.d": (".start",),
}


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    files = list(FILES)
    for folder, endings in FOLDERS.items():
        files += [f"{folder}/{name}" for name in tree.names(folder) if name.endswith(endings)]
    for file in files:
        text = tree.text(file) or ""
        if not INTERESTING.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            for device, attribute, value in writes(line, stack):
                rank = (model.SCRIPT, 0, file, number)
                # A plain path in rc.local is executed as it stands; a variable may stand for some devices only.
                certain = "$" not in line and file in FILES
                yield Setter("script", file, number, device, attribute, value, rank, certain=certain)
