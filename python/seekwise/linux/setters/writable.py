"""Which files below a device's folder are settings."""

from __future__ import annotations

import re

CACHE_TYPE = re.compile(r"(?:device/scsi_disk[:/][^/]{1,64}/|device/)?cache_type")


def attribute_of(path: str) -> str | None:
    """The attribute that a path below a device's folder names; None for what is no setting."""
    path = path.removeprefix("./")
    if path == "bdi/read_ahead_kb":
        return "queue/read_ahead_kb"
    if path.startswith(("queue/", "md/")) and len(path) <= 128 and not any(sign in path for sign in "*?["):
        return path
    if path == "device/queue_depth":
        return path
    return "queue/write_cache" if CACHE_TYPE.fullmatch(path) else None
