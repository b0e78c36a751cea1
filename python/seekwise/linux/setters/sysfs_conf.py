"""`/etc/sysfs.conf` and `/etc/sysfs.d/*.conf`, as the start script of Debian's sysfsutils 2.1.1 reads them.

`attribute = value`, paths relative to /sys, shell globs allowed; `mode` and `owner` lines set no value.
"""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.reading import Exhausted, NotEvaluated, Reading

LONGEST_LINE = 4096


def read(reading: Reading) -> Iterator[Setter]:
    """What sysfsutils sets at the start; uncertain where the package is not installed."""
    folder = "/etc/sysfs.d"
    files = ["/etc/sysfs.conf", *(f"{folder}/{name}" for name in reading.names(folder) if name.endswith(".conf"))]
    installed = any(reading.tree.exists(f"/etc/{place}/sysfsutils") for place in ("init.d", "rc.d"))
    for index, file in enumerate(files):
        for number, line in enumerate(reading.text(file).splitlines(), 1):
            reading.spend(1)
            name, sign, value = line[:LONGEST_LINE].partition("#")[0].partition("=")
            name, value = name.strip(), value.strip()
            if not (sign and name and value) or len(name.split()) != 1:
                continue
            try:
                for device, attribute in reading.settings(name) if name.startswith("/sys/") else ():
                    reason, instead = "sysfsutils looks for the path below /sys", name.removeprefix("/sys/")
                    idle = Ineffective(
                        "sysfs.conf", file, number, device, attribute, value, reason, f"{instead} = {value}"
                    )
                    reading.ineffective.append(idle)
                reading.note_absent(f"/sys/{name}", file, number, value)
                for device, attribute in reading.settings(f"/sys/{name}"):
                    # Without the package nobody reads the file.
                    rank = (assignment.SYSFS, 0, index, number)
                    yield Setter("sysfs.conf", file, number, device, attribute, value, rank, certain=installed)
            except Exhausted:
                raise
            except NotEvaluated as reason:
                reading.leave_out(file, number, str(reason))
