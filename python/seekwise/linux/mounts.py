"""Mounted filesystems (`/proc/self/mountinfo`) and swap areas (`/proc/swaps`).

`mountinfo` has been there since Linux 2.6.26; for older kernels and thin captures `/proc/mounts` is read instead, which
knows neither device numbers nor bind mounts.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from seekwise.linux.block_device import Mount
from seekwise.linux.tree import Tree

MOUNTINFO = ("/proc/self/mountinfo", "/proc/1/mountinfo", "/proc/mountinfo")
MOUNTS = ("/proc/self/mounts", "/proc/mounts", "/proc/1/mounts", "/etc/mtab")


def unescaped(text: str) -> str:
    """Octal escapes of space, tab, newline and backslash back to characters (proc_pid_mountinfo(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def read_mounts(tree: Tree) -> tuple[Mount, ...]:
    """All mounts, in the kernel's order: a later one hides an earlier one at the same place."""
    # In a copied tree `self` may lead to a process that was not copied; any other one's list is as good.
    others = () if tree.live else (f"/proc/{name}/mountinfo" for name in tree.names("/proc") if name.isdigit())
    for path in (*MOUNTINFO, *others):
        if text := tree.text(path):
            return tuple(mount for line in text.splitlines() if (mount := _from_mountinfo(line)) is not None)
    for path in MOUNTS:
        if text := tree.text(path):
            return tuple(mount for line in text.splitlines() if (mount := _from_mounts(line)) is not None)
    return ()


def _from_mountinfo(line: str) -> Mount | None:
    fields = line.split(" ")
    try:
        dash = fields.index("-", 6)
        number, parent, major_minor, root_within, mount_point, options = fields[:6]
        filesystem, source = fields[dash + 1 : dash + 3]
    except ValueError:
        return None
    per_super = fields[dash + 3].split(",") if len(fields) > dash + 3 else []
    # Options of this mount first, then those of the filesystem that are not said already.
    merged = [*options.split(",")]
    merged += [option for option in per_super if option not in merged and option not in ("rw", "ro")]
    if "ro" in per_super and "ro" not in merged:
        merged = ["ro" if option == "rw" else option for option in merged]
    return Mount(
        mount_point=Path(unescaped(mount_point)),
        source=unescaped(source),
        filesystem=filesystem,
        options=tuple(option for option in merged if option),
        major_minor=major_minor,
        root_within=unescaped(root_within),
        mount_id=int(number) if number.isdigit() else None,
        parent_id=int(parent) if parent.isdigit() else None,
    )


def _from_mounts(line: str) -> Mount | None:
    fields = line.split()
    if len(fields) < 4:
        return None
    return Mount(
        mount_point=Path(unescaped(fields[1])),
        source=unescaped(fields[0]),
        filesystem=fields[2],
        options=tuple(fields[3].split(",")),
        major_minor="",
    )


def mount_of(mounts: tuple[Mount, ...], path: PurePosixPath) -> Mount | None:
    """The mount that an absolute, already resolved path lies on.

    The kernel walks down from the root and steps onto whatever is mounted at each folder. Following parent numbers
    does the same, so that a mount hidden under a later one is not found; without them the longest, last one is taken.
    """
    covering = [mount for mount in mounts if path.is_relative_to(PurePosixPath(mount.mount_point))]
    if not covering:
        return None
    numbers = {mount.mount_id for mount in covering}
    roots = [mount for mount in covering if mount.parent_id not in numbers or mount.parent_id == mount.mount_id]
    if None in numbers or not roots:
        longest = max(len(mount.mount_point.parts) for mount in covering)
        return [mount for mount in covering if len(mount.mount_point.parts) == longest][-1]
    current = min(roots, key=lambda mount: len(mount.mount_point.parts))
    seen = {current.mount_id}
    while True:
        children = [mount for mount in covering if mount.parent_id == current.mount_id and mount.mount_id not in seen]
        if not children:
            return current
        nearest = min(len(mount.mount_point.parts) for mount in children)
        current = [mount for mount in children if len(mount.mount_point.parts) == nearest][-1]
        seen.add(current.mount_id)


def read_swaps(tree: Tree) -> tuple[str, ...]:
    """Files and devices in use as swap."""
    lines = (tree.text("/proc/swaps") or "").splitlines()[1:]
    return tuple(unescaped(line.split()[0]) for line in lines if line.split())
