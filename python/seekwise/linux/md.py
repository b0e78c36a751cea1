"""Software RAID: `/sys/block/mdN/md/` (Documentation/admin-guide/md.rst in the kernel) and, where it is missing,
`/proc/mdstat`.

External metadata means that firmware invented the array and `mdmon` keeps its records: Intel IMSM (Rapid Storage
Technology, VROC) and DDF. The kernel's md still moves the data, so such an array is firmware RAID by name and software
RAID by mechanism. A *container* holds the drives; *volumes* inside it name it as `external:/md127/0`.
"""

from __future__ import annotations

import re
from typing import TypedDict

from seekwise.linux import sysfs
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree

FIRMWARE_RAID = {"imsm": "Intel IMSM (Rapid Storage Technology / VROC)", "ddf": "SNIA DDF"}

RESYNCING = frozenset({"resync", "recover", "reshape", "check", "repair"})
"""`sync_action` values that mean extra I/O on the members now."""


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """An md array: level, members, state, from sysfs or, on old kernels, /proc/mdstat; None for a device of another
    kind. Facts as `BlockDevice` takes them."""
    if node.disk or not re.match(r"md(_|\d)", node.name):
        return None
    in_sysfs = tree.is_folder(node.path("md"))
    details, members = _from_sysfs(tree, node) if in_sysfs else _from_mdstat(tree, node.name)
    below = sysfs.slaves(tree, node) or tuple(member["name"] for member in members)
    return {"kind": "md", "below": below, "details": {**details, "members": members}}


class Member(TypedDict):
    """A member of an array. `slot` None: a spare, or one that has failed."""

    name: str
    slot: int | None
    state: str
    errors: int | None


def _from_sysfs(tree: Tree, node: Node) -> tuple[dict[str, object], list[Member]]:
    def text(name: str) -> str | None:
        return tree.word(node.path("md", name))

    def number(name: str) -> int | None:
        return tree.number(node.path("md", name))

    details: dict[str, object] = {
        "level": text("level"),
        "chunk_bytes": number("chunk_size") or None,
        "layout": number("layout"),
        "raid_disks": number("raid_disks"),
        "metadata": text("metadata_version"),
        "uuid": text("uuid"),
        "array_state": text("array_state"),
        "degraded": number("degraded"),
        "sync_action": text("sync_action"),
        "sync_completed": text("sync_completed"),
        "mismatch_count": number("mismatch_cnt"),
        "stripe_cache_size": number("stripe_cache_size"),
        "group_thread_cnt": number("group_thread_cnt"),
        "sync_speed_min": number("sync_speed_min"),
        "sync_speed_max": number("sync_speed_max"),
        "bitmap": text("bitmap/location"),
        "consistency_policy": text("consistency_policy"),
    }
    if details["level"] == "raid10" and isinstance(details["layout"], int):
        details["layout_name"] = raid10_layout(details["layout"])
    details.update(_external(str(details["metadata"] or "")))
    details["sync_fraction"] = _fraction(details["sync_completed"])
    members = [_member(tree, node, entry) for entry in tree.names(node.path("md")) if entry.startswith("dev-")]
    members.sort(key=lambda member: (member["slot"] is None, member["slot"] or 0, member["name"]))
    return {key: value for key, value in details.items() if value not in (None, "")}, members


def _member(tree: Tree, node: Node, entry: str) -> Member:
    folder = node.path("md", entry)
    slot = tree.word(f"{folder}/slot")
    return {
        # The link knows names with a `!`; the folder's own name is the fallback.
        "name": tree.link(f"{folder}/block") or entry.removeprefix("dev-"),
        "slot": int(slot) if slot and slot.isdigit() else None,
        "state": tree.word(f"{folder}/state") or "unknown",
        "errors": tree.number(f"{folder}/errors"),
    }


def raid10_layout(layout: int) -> str:
    """Copies as mdadm writes them: low byte near copies, next byte far copies, bit 16 makes `far` an offset (md(4))."""
    near, far = layout & 0xFF, (layout >> 8) & 0xFF
    if far > 1:
        return f"{'offset' if layout & (1 << 16) else 'far'}={far}" + (f",near={near}" if near > 1 else "")
    return f"near={near}"


def _external(metadata: str) -> dict[str, object]:
    if not metadata.startswith("external:"):
        return {}
    what = metadata.removeprefix("external:").lstrip("-/")
    # A read-only volume is written `external:-md127/0`.
    container, slash, index = what.partition("/")
    if slash:
        return {"container": container, "container_index": index}
    return {"container_of": what, "firmware_raid": FIRMWARE_RAID.get(what, what)}


def _fraction(completed: object) -> float | None:
    match = re.match(r"(\d+)\s*/\s*(\d+)", str(completed or ""))
    return None if match is None or not int(match[2]) else round(int(match[1]) / int(match[2]), 4)


def _from_mdstat(tree: Tree, name: str) -> tuple[dict[str, object], list[Member]]:
    """What `/proc/mdstat` tells: `md0 : active raid5 sdc1[2] sdb1[1](F) sda1[0]` and the line below."""
    lines = (tree.text("/proc/mdstat") or "").splitlines()
    for index, line in enumerate(lines):
        match = re.match(rf"{re.escape(name)}\s*:\s*(\S+)\s+(?:\((?:auto-)?read-only\)\s+)?(.*)", line)
        if match is None:
            continue
        words = match[2].split()
        level = next((word for word in words if "[" not in word), None)
        members: list[Member] = []
        for word in words:
            if parts := re.match(r"([^\[]+)\[(\d+)\](.*)", word):
                state = "faulty" if "(F)" in parts[3] else "spare" if "(S)" in parts[3] else "in_sync"
                members.append({"name": parts[1], "slot": int(parts[2]), "state": state, "errors": None})
        rest = " ".join(lines[index + 1 : index + 3])
        chunk = re.search(r"(\d+)k chunk", rest)
        up = re.search(r"\[(\d+)/(\d+)\]", rest)
        details: dict[str, object] = {
            "array_state": match[1],
            "level": level,
            "chunk_bytes": int(chunk[1]) * 1024 if chunk else None,
            "raid_disks": int(up[1]) if up else None,
            "degraded": int(up[1]) - int(up[2]) if up else None,
        }
        if progress := re.search(r"(resync|recovery|reshape|check)\s*=\s*([\d.]+)%", rest):
            details["sync_action"] = "recover" if progress[1] == "recovery" else progress[1]
            details["sync_fraction"] = round(float(progress[2]) / 100, 4)
        members.sort(key=lambda member: member["slot"] or 0)
        return {key: value for key, value in details.items() if value is not None}, members
    return {}, []
