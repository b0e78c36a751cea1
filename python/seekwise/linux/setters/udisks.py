"""`/etc/udisks2/DRIVE.conf`, which udisksd applies when it starts and when the drive appears (udisks(8)).

    [ATA]
    WriteCacheEnabled=false

DRIVE is the drive's identifier: vendor, model and serial number, joined by `-`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading
from seekwise.linux.udev import read_udev

FOLDER = "/etc/udisks2"
LINE = re.compile(r"\s*WriteCacheEnabled\s*=\s*(true|false|1|0)\s*", re.IGNORECASE)


def read(reading: Reading) -> Iterator[Setter]:
    """The write cache of each drive that has a file; uncertain, since a session may start udisksd or not."""
    files = [name for name in reading.names(FOLDER) if name.endswith(".conf") and name != "udisks2.conf"]
    for device in reading.stack.devices.values() if files else ():
        entry = read_udev(reading.tree, device.name, device.major_minor)
        serial = _joined(entry.first("ID_SERIAL_SHORT") or device.serial or "")
        for name in files if serial and device.kind == "disk" else ():
            if not name.removesuffix(".conf").endswith(serial):
                continue
            file = f"{FOLDER}/{name}"
            for number, line in enumerate(reading.text(file).splitlines(), 1):
                reading.spend(1)
                if match := LINE.fullmatch(line[:200]):
                    value = "write back" if match[1].lower() in ("true", "1") else "write through"
                    rank = (assignment.SCRIPT, 0, file, number)
                    yield Setter("udisks", file, number, device.name, "queue/write_cache", value, rank, certain=False)


def _joined(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", text.strip())
