"""TLP: `DISK_IOSCHED`, one scheduler for each of `DISK_DEVICES`, set at each start and each change of the power source.

Read as TLP 1.6 does: its defaults, then /etc/tlp.d/*.conf, then /etc/tlp.conf, the last one counts, `+=` adds. Before
1.3 the file was /etc/default/tlp. `keep` leaves the scheduler alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import NamedValue, Reading, is_enabled

FILES = ("/etc/default/tlp", "/etc/tlp.conf")
FOLDER = "/etc/tlp.d"
DEFAULTS = "/usr/share/tlp/defaults.conf"
LINE = re.compile(r'\s*([A-Z0-9_]{1,64})(\+?=)"?([^"#]{0,1000})"?')


def read(reading: Reading) -> Iterator[Setter]:
    """The scheduler of each disk that TLP's configuration names; uncertain where its service is not started."""
    entries: dict[str, NamedValue] = {}
    for file in (DEFAULTS, *reading.configs(FOLDER), *FILES):
        _take(reading, file, entries)
    wanted = entries.get("DISK_IOSCHED")
    if wanted is None:
        return
    # The default of TLP before it had a file of defaults.
    devices = entries["DISK_DEVICES"].text.split() if "DISK_DEVICES" in entries else ["sda"]
    starts = is_enabled(reading.tree, "tlp.service")
    is_off = "TLP_ENABLE" in entries and entries["TLP_ENABLE"].text.strip() == "0"
    # The list may be shorter or longer than the other: what has no partner is left alone.
    for device, scheduler in zip(devices[:200], wanted.text.split()[:200], strict=False):
        name = _named(device, reading)
        if name is None or scheduler == "keep":
            continue
        what = (wanted.file, wanted.line, name, "queue/scheduler", scheduler)
        if is_off:
            reading.idle(*what, "TLP_ENABLE=0 switches TLP off", "TLP_ENABLE=1, or a udev rule")
        else:
            yield Setter("tlp", *what, (assignment.SCRIPT, 0, wanted.file, wanted.line), certain=starts)


def _take(reading: Reading, file: str, entries: dict[str, NamedValue]) -> None:
    for number, line in reading.lines(file, 1200):
        match = LINE.match(line)
        if match is None or not match[1].startswith(("DISK_", "TLP_ENABLE")):
            continue
        value = match[3].strip()
        if match[2] == "+=" and match[1] in entries:
            value = f"{entries[match[1]].text} {value}"[:4096]
        entries[match[1]] = NamedValue(value, file, number)


def _named(device: str, reading: Reading) -> str | None:
    """TLP takes a kernel name or the name of a link in /dev/disk/by-id."""
    if device in reading.stack.devices:
        return device
    return reading.name_of(f"/dev/disk/by-id/{device}")
