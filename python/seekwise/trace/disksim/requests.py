"""DiskSim's validation traces: requests to a real drive, one at a time, with the service time that was measured.

`R|W  Hit|Miss|Doub|Trip  block  count  service_us  gap_us`, a line each, plain or gzip. The gap lies between the completion of this
request and the arrival of the next one.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from seekwise.errors import UsageError

REQUESTS_MAX = 5_000_000
LINE_MAX = 1000


@dataclass
class DiskSimRequests:
    """Columns of equal length; blocks of 512 bytes, times in ns."""

    writes: list[bool] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    service_ns: list[int] = field(default_factory=list)
    gaps_ns: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.blocks)


def read(path: Path) -> DiskSimRequests:
    """The trace. Raises UsageError with one sentence that names file and line."""
    requests = DiskSimRequests()
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        opener = gzip.open if zipped else open
        with opener(path, "rb") as lines:
            number = 0
            while line := lines.readline(LINE_MAX):
                number += 1
                if number > REQUESTS_MAX:
                    raise UsageError(f"{path}: more than {REQUESTS_MAX} requests; a validation trace has some 10,000")
                _add(requests, line, f"{path}, line {number}")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: cannot be read: {reason}") from None
    if not len(requests):
        raise UsageError(f"{path}: has no requests")
    return requests


def _add(requests: DiskSimRequests, line: bytes, where: str) -> None:
    words = line.split()
    if not words:
        return
    try:
        if len(words) != 6 or words[0] not in (b"R", b"W"):
            raise ValueError
        block, count = int(words[2]), int(words[3])
        service, gap = float(words[4]), float(words[5])
    except ValueError:
        shown = line[:60].decode("ascii", "replace").strip()
        raise UsageError(f"{where}: `{shown}` is not `R|W ACTION BLOCK COUNT SERVICE_US GAP_US`") from None
    if not (0 <= block < 2**48 and 0 < count <= 65_536):
        raise UsageError(f"{where}: {count} blocks from {block} cannot be")
    if not (isfinite(service) and isfinite(gap) and 0 <= service < 1e9 and 0 <= gap < 1e10):
        raise UsageError(f"{where}: a service time of {service:g} us and a gap of {gap:g} us cannot be")
    requests.writes.append(words[0] == b"W")
    requests.blocks.append(block)
    requests.counts.append(count)
    requests.service_ns.append(round(service * 1000))
    requests.gaps_ns.append(round(gap * 1000))
