"""Small facts about the running machine: kernel, memory, temperature, I/O pressure."""

from __future__ import annotations

import re

from seekwise.linux import nvme, sysfs
from seekwise.linux.tree import Tree


def kernel_release(tree: Tree) -> str | None:
    """`6.1.0-56-amd64`."""
    if release := tree.word("/proc/sys/kernel/osrelease"):
        return release
    # `uname -a` says it in a sos report.
    for path, form in (("/proc/version", r"Linux version (\S+)"), ("/uname", r"Linux \S+ (\S+)")):
        if match := re.match(form, tree.text(path) or ""):
            return match[1]
    return None


def kernel_version(release: str | None) -> tuple[int, ...]:
    """`6.1.0-56-amd64` → (6, 1, 0); empty when unknown."""
    match = re.match(r"\d{1,9}(\.\d{1,9})*", release or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def available_memory_bytes(tree: Tree) -> int | None:
    """What programs can get without swapping (MemAvailable, Documentation/filesystems/proc.rst); None where
    the kernel does not say."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", tree.text("/proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def pressure_s(tree: Tree, resource: str = "io") -> float | None:
    """Seconds since the start in which some task waited for `cpu`, `io` or `memory` (Documentation/accounting/psi.rst, since 4.20); None without PSI."""
    match = re.search(r"^some .*total=(\d+)", tree.text(f"/proc/pressure/{resource}") or "", re.MULTILINE)
    return int(match[1]) / 1e6 if match else None


def temperature_celsius(tree: Tree, name: str) -> float | None:
    """The drive's own sensor through hwmon: module drivetemp for ATA (5.6), NVMe's driver (5.5). None where there is
    none."""
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
