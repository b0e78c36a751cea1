"""Small facts about the running machine that a record keeps: kernel, temperature, counters, controller driver."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seekwise.linux import nvme, sysfs
from seekwise.linux.tree import Tree


def kernel_release(tree: Tree) -> str | None:
    """`6.1.0-56-amd64`."""
    if release := tree.word("/proc/sys/kernel/osrelease"):
        return release
    match = re.match(r"Linux version (\S+)", tree.text("/proc/version") or "")
    return match[1] if match else None


def kernel_version(release: str | None) -> tuple[int, ...]:
    """`6.1.0-56-amd64` → (6, 1, 0); empty when unknown."""
    match = re.match(r"\d{1,9}(\.\d{1,9})*", release or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


@dataclass(frozen=True)
class DiskCounters:
    """One line of `/proc/diskstats` (Documentation/admin-guide/iostats.rst). Sectors are of 512 bytes."""

    reads_completed: int
    reads_merged: int
    sectors_read: int
    read_ms: int
    writes_completed: int
    writes_merged: int
    sectors_written: int
    write_ms: int
    in_flight: int
    busy_ms: int
    weighted_ms: int

    @property
    def bytes_read(self) -> int:
        return self.sectors_read * sysfs.SECTOR_BYTES

    @property
    def bytes_written(self) -> int:
        return self.sectors_written * sysfs.SECTOR_BYTES


COUNTER_COUNT = 11
"""Later kernels append discards (4.18) and flushes (5.5); the first eleven have kept their meaning."""


def disk_counters(tree: Tree) -> dict[str, DiskCounters]:
    """{device: counters since the start} from /proc/diskstats; `/` in names is `!`, as in sysfs."""
    found = {}
    for line in (tree.text("/proc/diskstats") or "").splitlines():
        words = line.split()
        # Partitions before 2.6.25 had four numbers only; they are left out.
        if len(words) >= 3 + COUNTER_COUNT and all(word.isdigit() for word in words[3 : 3 + COUNTER_COUNT]):
            found[words[2].replace("/", "!")] = DiskCounters(*map(int, words[3 : 3 + COUNTER_COUNT]))
    return found


def temperature_celsius(tree: Tree, name: str) -> float | None:
    """The drive's own sensor through hwmon: module drivetemp for ATA (5.6), NVMe's driver (5.5). None where there is none."""
    node = sysfs.block_nodes(tree).get(name)
    if node is None:
        return None
    hardware = sysfs.hardware_path(tree, sysfs.Node(node.disk, node.folder.rpartition("/")[0]) if node.disk else node)
    owners = {hardware, nvme.controller_of(tree, hardware) if hardware else None} - {None}
    for entry in tree.names("/sys/class/hwmon"):
        folder = f"/sys/class/hwmon/{entry}"
        if tree.resolve(f"{folder}/device") in owners and (value := tree.number(f"{folder}/temp1_input")) is not None:
            return value / 1000
    return None
