"""sysctl.conf(5): it sets files below /proc/sys alone, so a line for a file of sysfs does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.reading import Reading

FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
LINE = re.compile(
    r"\s*-?(?:/?sys[/.])?(?:(?:class[/.])?block[/.])([\w!-]{1,40})[/.]((?:queue|device|md)[/.]\w{1,60})\s*=\s*(\S{1,100})\s*"
)


def read(reading: Reading) -> Iterator[Setter]:
    """Nothing sets anything here; lines that try are noted."""
    files = [
        "/etc/sysctl.conf",
        *(f"{folder}/{name}" for folder in FOLDERS for name in reading.names(folder) if name.endswith(".conf")),
    ]
    for file in files:
        for number, line in enumerate(reading.text(file).splitlines(), 1):
            reading.spend(1)
            if match := LINE.fullmatch(line[:400]):
                attribute, device = match[2].replace(".", "/"), match[1] if match[1] in reading.stack.devices else None
                instead = (
                    f"/sys/block/{match[1]}/{attribute} in a `w` line of tmpfiles.d, or `seekwise apply --persist udev`"
                )
                reading.ineffective.append(
                    Ineffective("sysctl", file, number, device, attribute, match[3], "sysctl sets what lies below /proc/sys, and this is a file of sysfs", instead)
                )  # fmt: skip
    yield from ()
