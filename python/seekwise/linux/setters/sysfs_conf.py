"""`/etc/sysfs.conf` and `/etc/sysfs.d/*.conf`, as the start script of Debian's sysfsutils 2.1.1 reads them.

`attribute = value`, paths relative to /sys, shell globs allowed; `mode` and `owner` lines set no value.
"""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading


def read(reading: Reading) -> Iterator[Setter]:
    """What sysfsutils sets at the start; uncertain where the package is not installed."""
    folder = "/etc/sysfs.d"
    files = ["/etc/sysfs.conf", *reading.configs(folder)]
    installed = any(reading.tree.exists(f"/etc/{place}/sysfsutils") for place in ("init.d", "rc.d"))
    for index, file in enumerate(files):
        for number, line in reading.lines(file):
            name, sign, value = line.partition("#")[0].partition("=")
            name, value = name.strip(), value.strip()
            if not (sign and name and value) or len(name.split()) != 1:
                continue
            with reading.evaluated(file, number):
                for device, attribute in reading.settings(name) if name.startswith("/sys/") else ():
                    reason, instead = "sysfsutils looks for the path below /sys", name.removeprefix("/sys/")
                    reading.idle(file, number, device, attribute, value, reason, f"{instead} = {value}")
                reading.note_absent(f"/sys/{name}", file, number, value)
                for device, attribute in reading.settings(f"/sys/{name}"):
                    # Without the package nobody reads the file.
                    rank = (assignment.SYSFS, 0, index, number)
                    yield Setter("sysfs.conf", file, number, device, attribute, value, rank, certain=installed)
