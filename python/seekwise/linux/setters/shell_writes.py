"""Shell text that writes to sysfs: `echo bfq > /sys/block/sda/queue/scheduler`, `… | tee`, `blockdev --setra`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from seekwise.linux.block_device import Stack

WRITE = re.compile(
    r"""(?:echo|printf)\s+(?:-[ne]+\s+)*(?:'%s(?:\\n)?'\s+)?
        (?P<quote>["']?)(?P<value>[^"'|;>]+?)(?P=quote)\s*
        (?:>|\|\s*(?:sudo\s+)?tee\s+(?:-a\s+)?)\s*
        ["']?(?P<path>/sys/(?:class/)?block/[^\s;"'&|)]+)""",
    re.VERBOSE,
)
SETRA = re.compile(r"blockdev\s+(?:\S+\s+)*?--setra\s+(?P<sectors>\d+)\s+(?P<devices>(?:/dev/\S+\s*)+)")
IN_SYSFS = re.compile(r"/sys/(?:class/)?block/([^/]+)/(.+)")

INTERESTING = re.compile(r"/sys/(?:class/)?block/|--setra")


def attribute_of(path: str) -> str | None:
    """The attribute that a path below a device's folder names; None for what is no setting."""
    path = path.removeprefix("./")
    if path == "bdi/read_ahead_kb":
        return "queue/read_ahead_kb"
    if path.startswith(("queue/", "md/")) or path in ("device/queue_depth",):
        return path
    if re.fullmatch(r"device/scsi_disk[:/].*cache_type|cache_type", path):
        return "queue/write_cache"
    return None


def devices_matching(pattern: str, stack: Stack) -> Iterator[str]:
    """Whole devices that a glob in a path names; `!` in sysfs names stays."""
    for name, device in stack.devices.items():
        if device.kind != "partition" and fnmatch.fnmatchcase(name, pattern):
            yield name


def path_sets(path: str, stack: Stack) -> Iterator[tuple[str, str]]:
    """Device and attribute of each file that a path (with globs) below /sys/block means."""
    match = IN_SYSFS.fullmatch(path)
    if match and (attribute := attribute_of(match[2])):
        for device in devices_matching(match[1], stack):
            yield device, attribute


def writes(text: str, stack: Stack) -> Iterator[tuple[str, str, str]]:
    """Device, attribute and value of each write in one line of shell. Variables match every device: see `certain` there."""
    for match in WRITE.finditer(text):
        path = re.sub(r"\$\{?\w+\}?", "*", match["path"])
        for device, attribute in path_sets(path, stack):
            yield device, attribute, match["value"].strip()
    for match in SETRA.finditer(text):
        for node in match["devices"].split():
            for device in devices_matching(node.removeprefix("/dev/").replace("/", "!"), stack):
                # blockdev(8) counts in 512-byte sectors.
                yield device, "queue/read_ahead_kb", str(int(match["sectors"]) // 2)
