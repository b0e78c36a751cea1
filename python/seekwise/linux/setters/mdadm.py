"""`SYSFS` lines of mdadm.conf(5): files below `md/` that are written when the array is assembled (mdadm 4.1 and later).

SYSFS name=/dev/md0 stripe_cache_size=8192 group_thread_cnt=4
SYSFS uuid=bead5eb6:31c17a27:da120ba2:7dfda40d sync_speed_max=1000000
"""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading
from seekwise.linux.udev import read_udev

FILES = ("/etc/mdadm.conf", "/etc/mdadm/mdadm.conf")
FOLDERS = ("/etc/mdadm.conf.d", "/etc/mdadm/mdadm.conf.d")
BEFORE_UDEV = assignment.UDEV - 0.5
"""mdadm writes them as it assembles the array, before the change event with which udev's rules meet a usable array."""


def read(reading: Reading) -> Iterator[Setter]:
    """What SYSFS lines set on each array that they name."""
    arrays = [device for device in reading.stack.devices.values() if device.kind == "md"]
    for file in (*FILES, *reading.configs(*FOLDERS)):
        for number, words in _lines(reading, file):
            if words[0].lower()[:5] != "sysfs":
                continue
            pairs = [(key, value) for key, sign, value in (word.partition("=") for word in words[1:]) if sign]
            names = {key.lower(): value for key, value in pairs if key.lower() in ("name", "uuid")}
            for array in arrays:
                reading.spend(2)
                if not _is_meant(names, array, reading):
                    continue
                for key, value in pairs:
                    if key.lower() not in names:
                        rank = (BEFORE_UDEV, 0, file, number)
                        yield Setter("mdadm", file, number, array.name, f"md/{key}", value, rank)


def _lines(reading: Reading, file: str) -> Iterator[tuple[int, list[str]]]:
    """Each line's words with those of the lines that go on with white space."""
    current: tuple[int, list[str]] | None = None
    for number, line in reading.lines(file):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if current is not None and line[0].isspace() and len(current[1]) < 200:
            current[1].extend(words)
            continue
        if current is not None:
            yield current
        current = (number, words)
    if current is not None:
        yield current


def _is_meant(names: dict[str, str], array: BlockDevice, reading: Reading) -> bool:
    if name := names.get("name"):
        path = name if name.startswith("/dev/") else f"/dev/md/{name}"
        if reading.name_of(path) == array.name or path.rpartition("/")[2] == array.name:
            return True
        entry = read_udev(reading.tree, array.name, array.major_minor)
        short = path.removeprefix("/dev/md/").rpartition("/")[2]
        return short in (entry.properties.get("MD_DEVNAME"), (entry.properties.get("MD_NAME") or "").rpartition(":")[2])
    wanted = _digits(names.get("uuid", ""))
    entry = read_udev(reading.tree, array.name, array.major_minor)
    return bool(wanted) and wanted in (
        _digits(str(array.details.get("uuid", ""))),
        _digits(entry.properties.get("MD_UUID", "")),
    )


def _digits(uuid: str) -> str:
    return "".join(digit for digit in uuid.lower() if digit in "0123456789abcdef")
