"""What the beginning and the end of a block device hold: nothing but zeros, or something that `wipefs -n` may have a
name for.

Whether a device is empty hangs on the bytes alone: formats leave their signatures in the first and last MiB, so
anything but zeros there is data. The name is util-linux's to give, which knows over a hundred formats and checks their
checksums.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

WINDOW_BYTES = 1 << 20
SECONDS_MOST = 60


@dataclass(frozen=True)
class Windows:
    """The beginning and the end of a device."""

    first: bytes
    last: bytes

    @property
    def all_zero(self) -> bool:
        """Of the two windows alone; nothing in between was read."""
        return not any(self.first) and not any(self.last)


def read_windows(descriptor: int, size_bytes: int) -> Windows:
    """The first and last bytes of a device, where formats leave their signatures."""
    length = min(WINDOW_BYTES, size_bytes)
    return Windows(_read(descriptor, 0, length), _read(descriptor, size_bytes - length, length))


def _read(descriptor: int, offset: int, length: int) -> bytes:
    parts = []
    while length:
        part = os.pread(descriptor, length, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)


def signatures_on(node: str) -> list[str]:
    """Formats whose signatures `wipefs` finds, each once; empty where there is none or util-linux is not installed.
    Nothing is written."""
    wipefs = shutil.which("wipefs") or shutil.which("wipefs", path="/usr/sbin:/sbin")
    if wipefs is None:
        return []
    try:
        done = subprocess.run(
            [wipefs, "--no-act", "--json", node], capture_output=True, text=True, check=False, timeout=SECONDS_MOST
        )
        signatures = json.loads(done.stdout or "{}").get("signatures", ())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []
    return list(dict.fromkeys(f"{signature['type']}, says wipefs" for signature in signatures if signature.get("type")))
