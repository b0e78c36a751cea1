"""`/etc/hdparm.conf`, which Debian's udev rule 85-hdparm.rules applies to each drive that appears: after our rule.

    /dev/sda {
        read_ahead_sect = 1024
        write_cache = off
    }

Read as /usr/lib/hdparm/hdparm-functions of hdparm 9.65 does: options before the first block are for every drive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading

FILE = "/etc/hdparm.conf"
RULES = ("/usr/lib/udev/rules.d/85-hdparm.rules", "/lib/udev/rules.d/85-hdparm.rules")
LONGEST_LINE = 4096
AFTER_UDEV = assignment.UDEV + 0.5
"""It runs when udev's rules have been applied, and before anything of the later start."""


def read(reading: Reading) -> Iterator[Setter]:
    """What /etc/hdparm.conf sets; uncertain where no udev rule of the package would run it."""
    text = reading.text(FILE)
    installed = any(reading.tree.exists(rule) for rule in RULES)
    drives = [
        drive for drive in reading.stack.devices.values() if drive.kind == "disk" and drive.transport in ("sata", "ata")
    ]
    block: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        reading.spend(1)
        line = line[:LONGEST_LINE].partition("#")[0].strip()
        if line.endswith("{"):
            block = line[:-1].strip()
        elif line == "}":
            block = None
        elif (match := re.fullmatch(r"(\w+)\s*=\s*(\S+)", line)) and (set_to := _attribute(match[1], match[2])):
            for device in drives:
                reading.spend(1)
                if _meant(block, device):
                    rank = (AFTER_UDEV, 0, FILE, number)
                    yield Setter("hdparm", FILE, number, device.name, *set_to, rank, certain=installed)


def _attribute(option: str, value: str) -> tuple[str, str] | None:
    if option == "read_ahead_sect" and (sectors := assignment.number(value)) is not None:
        return "queue/read_ahead_kb", str(sectors // 2)
    if option == "write_cache":
        return "queue/write_cache", "write back" if value in ("on", "1") else "write through"
    return None


def _meant(block: str | None, device: BlockDevice) -> bool:
    return block is None or block == f"/dev/{device.name}" or block in device.links
