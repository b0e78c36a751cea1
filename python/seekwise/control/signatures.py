"""What a block device holds: a format that util-linux's `wipefs -n` or `blkid -p` knows, or anything but zeros in its first
and last MiB.

util-linux knows over a hundred formats and checks their checksums. The zeros are asked for besides, since a program's
own data without a file system (a database on a raw device, an encrypted disk without a header) has no signature at all,
and a file system whose signature alone was wiped leaves the rest of its first MiB.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from seekwise.errors import MissingError

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
    """What wipefs and blkid say that a device holds, each once. Raises MissingError where neither is installed, and where
    one fails. Nothing is written."""
    found: list[str] = []
    asked = 0
    for name, *options in (
        ("wipefs", "--no-act", "--noheadings", "--output", "TYPE"),
        ("blkid", "--probe", "--output", "export"),
    ):
        program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, *options, node], capture_output=True, text=True, check=False, timeout=SECONDS_MOST
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingError(
                f"{name} does not answer: {error}", "a device whose content is not known is not written"
            ) from error
        asked += 1
        if name == "wipefs":
            kinds = done.stdout.split() if done.returncode == 0 else [f"something that {name} cannot read"]
        else:
            kinds = re.findall(r"^(?:PT)?TYPE=(.*)$", done.stdout, re.MULTILINE)
            # 2: nothing is found; 8: several formats, and none is named (blkid(8)).
            kinds += [] if kinds or done.returncode == 2 else ["several formats, or something that cannot be read"]
        found += [f"{kind}, says {name}" for kind in kinds if not any(kind in each for each in found)]
    if not asked:
        raise MissingError("neither wipefs nor blkid is installed, so nothing proves empty", "install util-linux")
    return list(dict.fromkeys(found))
