"""`/etc/hdparm.conf`, which Debian's udev rule 85-hdparm.rules applies to each drive that appears: after our rule.

    /dev/sda {
        read_ahead_sect = 1024
        write_cache = off
    }

Read as /usr/lib/hdparm/hdparm-functions of hdparm 9.65 does: options before the first block are for every drive.

Gentoo's and Alpine's OpenRC have `/etc/conf.d/hdparm`, with options of the program: `sda_args="-W0"`, `all_args="-a 512"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading
from seekwise.linux.setters.shell import Search

FILE = "/etc/hdparm.conf"
RULES = ("/usr/lib/udev/rules.d/85-hdparm.rules", "/lib/udev/rules.d/85-hdparm.rules")
OPENRC = "/etc/conf.d/hdparm"
ARGUMENTS = re.compile(r"\s*(\w{1,40})_args=[\"']?([^\"'#]{0,400})[\"']?")
AFTER_UDEV = assignment.UDEV + 0.5
"""It runs when udev's rules have been applied, and before anything of the later start."""


def read(reading: Reading) -> Iterator[Setter]:
    """What Debian's and OpenRC's files of hdparm set; uncertain where nothing would run them."""
    yield from _debian(reading)
    yield from _openrc(reading)


def _openrc(reading: Reading) -> Iterator[Setter]:
    starts = any("hdparm" in reading.names(f"/etc/runlevels/{level}") for level in ("boot", "default"))
    for number, line in reading.lines(OPENRC):
        if (match := ARGUMENTS.match(line)) is None:
            continue
        for device in reading.stack.devices.values():
            if device.kind != "disk" or match[1] not in (device.name, "all", "pata_all", "sata_all"):
                continue
            for write in Search(reading, OPENRC).run(f"hdparm {match[2]} /dev/{device.name}", number):
                rank = (assignment.SCRIPT, 0, OPENRC, number)
                yield Setter("hdparm", OPENRC, number, write.device, write.attribute, write.value, rank, certain=starts)


def _debian(reading: Reading) -> Iterator[Setter]:
    installed = any(reading.tree.exists(rule) for rule in RULES)
    drives = [
        drive for drive in reading.stack.devices.values() if drive.kind == "disk" and drive.transport in ("sata", "ata")
    ]
    block: str | None = None
    for number, line in reading.lines(FILE):
        line = line.partition("#")[0].strip()
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
