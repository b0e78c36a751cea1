"""Programs that keep settings of disks as NAME=VALUE, NAME: VALUE or NAME VALUE in a file of their own.

| program | file | what it sets |
|---|---|---|
| udisks2 | `/etc/udisks2/VENDOR-MODEL-SERIAL.conf`, udisks(8) | the write cache, when udisksd starts and when the drive appears |
| open-iscsi | records below `/etc/iscsi/nodes` or `/var/lib/iscsi/nodes`, as TARGET/ADDRESS/INTERFACE | the depth of a target's LUNs when the session begins; iscsid.conf is the draft of new records (iscsiadm(8)) |
| sysctl | sysctl.conf(5) | md's limits of a rebuild; it sets files below /proc/sys alone, so a line for a file of sysfs does nothing |
| multipath | multipath.conf(5) | `max_sectors_kb` of each path, before the map is made |
| Redpanda, ScyllaDB | `tune_disk_…` of redpanda.yaml, SET_NIC_AND_DISKS of scylla-server | none and nomerges 2 for the drives of its data, by a unit at each start (rpk: disk tuners; perftune.py --tune disks) |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.mounts import mount_of
from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading, is_enabled
from seekwise.linux.udev import read_udev

UDISKS = "/etc/udisks2"
CACHE_LINE = re.compile(r"\s*WriteCacheEnabled\s*=\s*(true|false|1|0)\s*", re.IGNORECASE)


def udisks(reading: Reading) -> Iterator[Setter]:
    """The write cache of each drive that has a file; uncertain, since a session may start udisksd or not."""
    files = [file for file in reading.configs(UDISKS) if not file.endswith("/udisks2.conf")]
    for device in reading.stack.devices.values() if files else ():
        entry = read_udev(reading.tree, device.name, device.major_minor)
        serial = re.sub(r"[^A-Za-z0-9]", "-", (entry.first("ID_SERIAL_SHORT") or device.serial or "").strip())
        for file in files if serial and device.kind == "disk" else ():
            for number, match in reading.found(file, CACHE_LINE) if file.endswith(f"{serial}.conf") else ():
                value = "write back" if match[1].lower() in ("true", "1") else "write through"
                rank = (assignment.SCRIPT, 0, file, number)
                yield Setter("udisks", file, number, device.name, "queue/write_cache", value, rank, certain=False)


NODES = ("/etc/iscsi/nodes", "/var/lib/iscsi/nodes")
DRAFT = "/etc/iscsi/iscsid.conf"
DEPTH_LINE = re.compile(r"\s*node\.session\.queue_depth\s*=\s*(\d{1,6})\s*")


def iscsi(reading: Reading) -> Iterator[Setter]:
    """The depth of each iSCSI disk; uncertain where several records, or the draft alone, may have been the source."""
    disks = [device.name for device in reading.stack.devices.values() if device.transport == "iscsi"]
    records = list(_records(reading)) if disks else []
    for file in records or ([DRAFT] if disks else []):
        for number, match in reading.found(file, DEPTH_LINE):
            rank = (assignment.BOOT, 3, file, number)
            for name in disks:
                yield Setter("iscsi", file, number, name, "device/queue_depth", match[1], rank, len(records) == 1)


def _records(reading: Reading) -> Iterator[str]:
    for nodes in NODES:
        for target in reading.names(nodes)[:100]:
            for address in reading.names(f"{nodes}/{target}")[:20]:
                below = f"{nodes}/{target}/{address}"
                # Older records are files without a folder for the interface.
                yield from (f"{below}/{name}" for name in reading.names(below) or ())
                if not reading.names(below):
                    yield below


SYSCTL = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
SYSFS_LINE = re.compile(
    r"\s*-?(?:/?sys[/.])?(?:(?:class[/.])?block[/.])([\w!-]{1,40})[/.]((?:queue|device|md)[/.]\w{1,60})\s*=\s*(\S{1,100})\s*"
)
REBUILD_LINE = re.compile(r"\s*-?dev[./]raid[./]speed_limit_(min|max)\s*=\s*(\d{1,12})\s*")


def sysctl(reading: Reading) -> Iterator[Setter]:
    """The limits of a rebuild, for arrays without their own; lines for files of sysfs are noted."""
    # Files act in the order of their names; sysctl.conf is read last (99-sysctl.conf).
    for file in [*sorted(reading.configs(*SYSCTL), key=lambda path: path.rpartition("/")[2]), "/etc/sysctl.conf"]:
        order = file.rpartition("/")[2] if file != "/etc/sysctl.conf" else "99-sysctl.conf"
        for number, match in reading.found(file, SYSFS_LINE, REBUILD_LINE):
            if match.re is REBUILD_LINE:
                for name, attribute in reading.settings(f"/proc/sys/dev/raid/speed_limit_{match[1]}"):
                    yield Setter("sysctl", file, number, name, attribute, match[2], (assignment.BOOT, 5, order, number))
                continue
            attribute, device = match[2].replace(".", "/"), match[1] if match[1] in reading.stack.devices else None
            place = f"/sys/block/{match[1]}/{attribute}"
            instead = f"{place} in a `w` line of tmpfiles.d, or `seekwise apply --persist udev`"
            reason = "sysctl sets what lies below /proc/sys, and this is a file of sysfs"
            reading.idle(file, number, device, attribute, match[3], reason, instead)


MULTIPATH = "/etc/multipath.conf"
SECTION_LINE = re.compile(r"\s*(\w{1,40})\s*(\{)?\s*")
VALUE_LINE = re.compile(r"\s*(max_sectors_kb|vendor|product|wwid)\s+\"?([^\"#]{1,200}?)\"?\s*(?:[#!].*)?")
END_LINE = re.compile(r"\s*(\})\s*")
SECTIONS = ("defaults", "devices", "overrides", "multipaths")
"""Each overrides those before it."""


def multipath(reading: Reading) -> Iterator[Setter]:
    """The largest request of the paths and of the map that stands on them."""
    maps = [device for device in reading.stack.devices.values() if device.kind == "multipath"]
    for file in [MULTIPATH, *reading.configs("/etc/multipath/conf.d")] if maps else []:
        section, said = "", dict[str, tuple[str, int]]()
        for number, match in reading.found(file, VALUE_LINE, SECTION_LINE, END_LINE):
            if match.re is VALUE_LINE:
                said[match[1]] = (match[2], number)
            elif match.re is SECTION_LINE:
                section, said = (match[1] if match[1] in SECTIONS else section), {}
            elif "max_sectors_kb" in said:
                value, line = said.pop("max_sectors_kb")
                rank = (assignment.UDEV + 0.6, SECTIONS.index(section) if section else 0, file, line)
                for one in maps:
                    paths = [reading.stack.devices[name] for name in one.below]
                    if any(_is_meant(said, one, path) for path in paths):
                        for name in (one.name, *one.below):
                            yield Setter("multipath", file, line, name, "queue/max_sectors_kb", value, rank)


def _is_meant(said: dict[str, tuple[str, int]], one: BlockDevice, path: BlockDevice) -> bool:
    """Whether a section is of this map: by the vendor and product of a path, or by the map's own number."""
    if "wwid" in said:
        return said["wwid"][0] == one.details.get("wwid")
    # Regular expressions, of which people use `.*` and `^`.
    words = [re.sub(r"[\^$()]", "", said[name][0]).split(".*") for name in ("vendor", "product") if name in said]
    return all(part.lower() in (path.model or "").lower() for parts in words for part in parts if "|" not in part)


TUNERS = (
    ("redpanda", "redpanda-tuner.service", ("/etc/redpanda/redpanda.yaml",), {"tune_disk_scheduler": "queue/scheduler", "tune_disk_nomerges": "queue/nomerges"}, "/var/lib/redpanda"),
    ("scylla", "scylla-server.service", ("/etc/default/scylla-server", "/etc/sysconfig/scylla-server"), {"SET_NIC_AND_DISKS": "queue/scheduler", " SET_NIC_AND_DISKS": "queue/nomerges"}, "/var/lib/scylla"),
)  # fmt: skip
"""Unit, its files, what each switch sets, where its data lie."""
SWITCH_LINE = re.compile(r"\s*(\w{1,60}|data_directory)\s*[:=]\s*[\"']?([\w/.-]{1,200})[\"']?\s*(?:#.*)?")


def tuners(reading: Reading) -> Iterator[Setter]:
    """What databases set for the drives of their data when their unit starts; uncertain where it is not enabled."""
    for kind, unit, files, switches, data in TUNERS:
        starts = is_enabled(reading.tree, unit)
        for file in files:
            lines = [(number, match[1], match[2]) for number, match in reading.found(file, SWITCH_LINE)]
            folder = next((value for _, name, value in lines if name == "data_directory"), data)
            drives = _drives(reading, folder) if lines else []
            for number, name, value in lines:
                for key, attribute in switches.items():
                    if key.strip() != name or value.lower() not in ("true", "yes"):
                        continue
                    for drive in drives:
                        none = "none" if "none" in drive.schedulers_offered else "noop"
                        wanted = none if attribute == "queue/scheduler" else "2"
                        rank = (assignment.SCRIPT, 0, file, number)
                        sure = starts and len(drives) == 1
                        yield Setter(kind, file, number, drive.name, attribute, wanted, rank, certain=sure)


def _drives(reading: Reading, folder: str) -> list[BlockDevice]:
    """The drives below a folder; every one where its mount is not known."""
    stack = reading.stack
    mount = mount_of(stack.mounts, PurePosixPath(folder))
    under = [
        name for name, device in stack.devices.items() if mount is not None and device.major_minor == mount.major_minor
    ]
    found = {drive.name: drive for name in under for drive in stack.leaves(name)}
    return list(found.values()) or [
        drive for drive in stack.devices.values() if drive.kind in ("disk", "nvme", "virtio") and not drive.below
    ]
