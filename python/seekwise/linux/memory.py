"""How much memory there is: /proc/meminfo (Documentation/filesystems/proc.rst)."""

from __future__ import annotations

import re

from seekwise.linux.tree import Tree


def available_bytes(tree: Tree) -> int | None:
    """What programs can get without swapping (MemAvailable); None where the kernel does not say."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", tree.text("/proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else None
