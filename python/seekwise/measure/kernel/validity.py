"""Why a trial does not count. A figure is thrown out for a cause that was seen, never for being far from the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seekwise.importing.fio_result import FioPhase
from seekwise.linux.diskstats import DiskCounters
from seekwise.measure.kernel.programs import ForeignProgram
from seekwise.workload.study.plan import Load, PlannedPhase

# Bytes that the devices must have moved for every byte asked. Direct: all, but for rounding at the borders of the
# phase. Buffered: random positions with replacement hit a page twice now and then, and neighbours are written together.
DEVICE_SHARE_DIRECT = 0.99
DEVICE_SHARE_BUFFERED = 0.90
# I/O of others that may pass: a journal commit, a log line. Beyond both bounds a trial measures the others too.
FOREIGN_SHARE = 0.20
FOREIGN_BYTES = 2**20
RUNTIME_SHARE = 0.99
DEPTH_SHARE_PERCENT = 50.0


@dataclass(frozen=True)
class PhaseObservation:
    """What was observed around one phase."""

    load: Load
    step: PlannedPhase | None
    result: FioPhase
    moved: DiskCounters
    amplifies: bool
    """Arrays with redundancy below: the devices rightly move more than was asked."""
    others: list[ForeignProgram]
    settings_before: dict[str, dict[str, str]]
    settings_after: dict[str, dict[str, str]]
    resync: str | None
    throttled: bool


def reason_against(seen: PhaseObservation) -> str | None:
    """The first cause that spoils the phase, or None."""
    for check in (_error, _short, _settings, lambda each: each.resync, _throttled, _cache, _foreign, _depth):
        reason = check(seen)
        if reason is not None:
            return reason
    return None


def _error(seen: PhaseObservation) -> str | None:
    if seen.result.errors:
        import os

        return f"fio reports an I/O error: {os.strerror(seen.result.errors[0])}"
    if seen.result.ios == 0:
        return "fio completed no request"
    return None


def _short(seen: PhaseObservation) -> str | None:
    asked = seen.step.runtime_s if seen.step else None
    if asked is None or seen.result.elapsed_s >= asked * RUNTIME_SHARE - 0.001:
        return None
    return f"short run: {seen.result.elapsed_s:.3f} s of {asked:.3f} s"


def _settings(seen: PhaseObservation) -> str | None:
    for device, before in seen.settings_before.items():
        after = seen.settings_after.get(device, {})
        for attribute, value in before.items():
            if after.get(attribute) != value:
                return f"{device} {attribute} was {value} before the trial and {after.get(attribute)} after it"
    return None


def _throttled(seen: PhaseObservation) -> str | None:
    return "the processor was throttled by its temperature" if seen.throttled else None


def _cache(seen: PhaseObservation) -> str | None:
    least = DEVICE_SHARE_DIRECT if seen.load.direct else DEVICE_SHARE_BUFFERED
    for what, asked, done in (
        ("read", seen.result.read_bytes, seen.moved.read_bytes),
        ("written", seen.result.write_bytes, seen.moved.write_bytes),
    ):
        if done < asked * least:
            return f"cache hits: {asked / 1e6:.1f} MB {what}, but the devices moved only {done / 1e6:.1f} MB"
    return None


def _foreign(seen: PhaseObservation) -> str | None:
    asked = seen.result.bytes
    reads_more = seen.moved.read_bytes - seen.result.read_bytes
    writes_more = seen.moved.write_bytes - seen.result.write_bytes
    if seen.amplifies:
        # A write on an array with parity reads and writes more on its own; only writes during pure reading tell.
        foreign = writes_more if seen.result.write_bytes == 0 else 0
    elif not seen.load.direct and seen.result.read_bytes:
        # Read-ahead fetches more than is used.
        foreign = writes_more
    else:
        foreign = max(reads_more, 0) + max(writes_more, 0)
    if foreign <= max(asked * FOREIGN_SHARE, FOREIGN_BYTES):
        return None
    by = f" by {', '.join(other.text for other in seen.others)}" if seen.others else ""
    return f"another program used the disk: {foreign / 1e6:.1f} MB in addition to {asked / 1e6:.1f} MB of the load{by}"


def _depth(seen: PhaseObservation) -> str | None:
    if seen.load.iodepth == 1 or not seen.result.depth_share:
        return None
    # fio reports levels 1, 2, 4, … 32, >=64; a depth of 24 is reached in level 16.
    level = min(1 << (seen.load.iodepth.bit_length() - 1), 64)
    name = ">=64" if level == 64 else str(level)
    reached = seen.result.depth_share.get(name, 0.0)
    if reached >= DEPTH_SHARE_PERCENT:
        return None
    return f"queue depth {seen.load.iodepth} was reached by {reached:.0f} % of the requests only"


def resync_running(arrays: tuple[str, ...], root: Path = Path("/")) -> str | None:
    """A sentence, if one of these md arrays repairs, checks or reshapes itself."""
    for name in arrays:
        try:
            action = (root / "sys/block" / name / "md/sync_action").read_text().strip()
        except OSError:
            continue
        if action not in ("idle", "frozen", ""):
            return f"{action} is running on {name}"
    return None


def throttle_count() -> int:
    """How often processors slowed down for their temperature since boot; 0 where the kernel does not say."""
    total = 0
    for file in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/*_throttle_count"):
        try:
            total += int(file.read_text())
        except (OSError, ValueError):
            continue
    return total
