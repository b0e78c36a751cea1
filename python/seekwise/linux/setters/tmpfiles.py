"""Lines of tmpfiles.d(5) of type `w`, which write a value to a file at boot: a common way to set sysfs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.shell_writes import path_sets
from seekwise.linux.tree import Tree

# The earlier folder hides a file of the same name in a later one.
FOLDERS = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    """Lines of type `w` of tmpfiles.d that write to sysfs; a file in /etc hides one of its name in /usr."""
    files: dict[str, str] = {}
    for folder in FOLDERS:
        for name in tree.names(folder):
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    for name, file in sorted(files.items()):
        text = tree.text(file) or ""
        if "/sys/" not in text:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            try:
                words = shlex.split(line, comments=True)
            except ValueError:
                continue
            # Type Path Mode User Group Age Argument
            if len(words) >= 7 and words[0].rstrip("+!-=~^$") == "w":
                for device, attribute in path_sets(words[1], stack):
                    rank = (assignment.SYSFS, 1, name, number)
                    yield Setter("tmpfiles", file, number, device, attribute, " ".join(words[6:]), rank)
