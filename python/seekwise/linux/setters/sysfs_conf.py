"""`/etc/sysfs.conf` and `/etc/sysfs.d/*.conf`, as the start script of Debian's sysfsutils 2.1.1 reads them.

`attribute = value`, paths relative to /sys, shell globs allowed; `mode` and `owner` lines set no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.shell_writes import path_sets
from seekwise.linux.tree import Tree

LINE = re.compile(r"\s*([^=\s]+)\s*=\s*(\S.*?)\s*$")


def read(tree: Tree, stack: Stack) -> Iterator[Setter]:
    """What sysfsutils sets at the start; uncertain where the package is not installed."""
    folder = "/etc/sysfs.d"
    files = ["/etc/sysfs.conf", *(f"{folder}/{name}" for name in tree.names(folder) if name.endswith(".conf"))]
    installed = any(tree.exists(f"/etc/{place}/sysfsutils") for place in ("init.d", "rc.d"))
    for index, file in enumerate(files):
        for number, line in enumerate((tree.text(file) or "").splitlines(), 1):
            match = LINE.fullmatch(line.partition("#")[0])
            if match is None:
                continue
            for device, attribute in path_sets(f"/sys/{match[1]}", stack):
                # Without the package nobody reads the file.
                rank = (assignment.SYSFS, 0, index, number)
                yield Setter("sysfs.conf", file, number, device, attribute, match[2], rank, certain=installed)
