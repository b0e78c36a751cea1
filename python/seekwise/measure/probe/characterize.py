"""All measurements of a drive in one document, and for a disk the start of a drive model.

What could not be seen is listed with the reason; nothing is guessed in its place. Reading cannot show a write cache, the time to write, or
how many surfaces a disk has: the model file says which numbers are assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from seekwise.linux.buses import BUS_BYTES_PER_S, FASTEST
from seekwise.measure.probe import measure
from seekwise.measure.probe.drives import Probed
from seekwise.measure.probe.measure import Figure

STROKES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9)
SIZES_KIB = (4, 16, 64, 256)
DEPTHS = (1, 4, 16, 32)
LITTLE_MOST = 2.0
"""Rate × latency over the depth. Median and mean differ, and the two are measured one after the other."""
UNSEEN = (
    "write cache, write latency and steady state: this measurement only reads",
    "number of surfaces: it does not show in the times of reads",
)


@dataclass
class Found:
    """Everything that was measured."""

    capacity_sectors: int
    rotational: bool
    turn_ms: Figure
    zones: list[tuple[float, Figure]]
    seek: list[tuple[float, Figure]] = field(default_factory=list)
    read_ahead: Figure | None = None
    segments: Figure | None = None
    latency: list[tuple[int, int, Figure]] = field(default_factory=list)
    """KiB, depth, median."""
    iops: list[tuple[int, Figure]] = field(default_factory=list)
    unseen: tuple[str, ...] = UNSEEN
    doubts: tuple[str, ...] = ()
    """What of it cannot be."""

    def document(self) -> dict[str, Any]:
        """For `--json` and the file."""
        rpm = 60e3 / self.turn_ms.value if self.turn_ms.value else None
        return {
            "schema": "seekwise.characterize/1",
            "capacity_sectors": self.capacity_sectors,
            "rotational": self.rotational,
            "turn_ms": asdict(self.turn_ms),
            "rpm": rpm,
            "zones": [{"place": round(part, 4), "rate": asdict(figure)} for part, figure in self.zones],
            "seek": [{"stroke": part, "time": asdict(figure)} for part, figure in self.seek],
            "read_ahead": asdict(self.read_ahead) if self.read_ahead else None,
            "cache_segments": asdict(self.segments) if self.segments else None,
            "latency": [{"kib": kib, "depth": depth, "median": asdict(figure)} for kib, depth, figure in self.latency],
            "iops": [{"depth": depth, "rate": asdict(figure)} for depth, figure in self.iops],
            "unseen": list(self.unseen),
            "doubts": list(self.doubts),
        }


def characterize(drive: Probed, tell: Callable[[str], None] = lambda what: None) -> Found:
    """Measures a drive; in simulated time at once, on a real disk within some minutes."""
    tell("rotation")
    turn = measure.turn_ms(drive)
    tell("zones")
    zones = measure.zone_rates(drive)
    found = Found(drive.capacity, turn.value is not None, turn, zones)
    if turn.value is not None:
        tell("read-ahead and cache")
        found.read_ahead = measure.read_ahead_sectors(drive, turn.value)
        found.segments = measure.cache_segments(drive, turn.value)
        for part in STROKES:
            tell(f"seeks over {part:.0%} of the stroke")
            found.seek.append((part, measure.seek_ms(drive, part, turn.value, zones)))
    else:
        found.unseen = (*UNSEEN, f"rotation, seeks: {turn.why}")
    tell("latency")
    for kib in SIZES_KIB:
        found.latency.append((kib, 1, measure.latency_us(drive, kib * 2, 1)))
    for depth in DEPTHS:
        if depth > 1:
            found.latency.append((4, depth, measure.latency_us(drive, 8, depth)))
        found.iops.append((depth, measure.iops(drive, depth)))
    if drive.rate_max and any((figure.value or 0) > drive.rate_max for _, figure in found.iops):
        found.unseen = (
            *found.unseen,
            f"rates and latencies beyond {drive.rate_max:,.0f} IOPS: this program asks no faster; fio does",
        )
    return found


def doubts(found: Found, transport: str | None = None, *, is_partition: bool = False) -> tuple[str, ...]:
    """What of the figures cannot be, or is not what the device's name says; `transport` as in `seekwise devices --json`."""
    said = (
        ["this is a partition: scheduler and queue are those of its disk, and seeks end at its borders"]
        if is_partition
        else []
    )
    limit, bus = BUS_BYTES_PER_S.get(transport or "", FASTEST)
    rates = [(figure.value or 0) * 1e6 for _, figure in found.zones]
    rates += [(figure.value or 0) * 4096 for _, figure in found.iops]
    if max(rates, default=0.0) > limit:
        said.append(f"{max(rates) / 1e6:,.0f} MB/s are above what the bus carries ({bus}): memory answered")
    latencies = {depth: figure.value for kib, depth, figure in found.latency if kib == 4 and figure.value}
    for depth, figure in found.iops:
        if (
            figure.value
            and depth in latencies
            and (held := figure.value * latencies[depth] / 1e6) > LITTLE_MOST * depth
        ):
            said.append(
                f"at depth {depth} {figure.value:,.0f} reads/s of {latencies[depth]:.3g} µs are {held:.3g} at once (Little's law): "
                "something else used the drive between the two measurements"
            )
    return tuple(said)


def lines(found: Found) -> list[str]:
    """What is printed."""
    gb = found.capacity_sectors * 512 / 1e9
    said = [f"{gb:.4g} GB, {'rotating' if found.rotational else 'not rotating, as far as reads show'}"]
    if found.turn_ms.value:
        said.append(f"turn        {found.turn_ms.value:.4f} ms, {60e3 / found.turn_ms.value:.1f} rpm")
    rates = [figure.value for _, figure in found.zones if figure.value]
    said.append(f"sequential  {rates[0]:.4g} MB/s at the start, {rates[-1]:.4g} MB/s at the end")
    for part, figure in found.seek:
        said.append(f"seek        {part:4.0%} of the stroke {_with_range(figure)}")
    if found.read_ahead:
        said.append(f"read-ahead  {_with_range(found.read_ahead)}")
    if found.segments:
        said.append(f"cache       {_with_range(found.segments)}")
    for kib, depth, figure in found.latency:
        said.append(f"latency     {kib:3} KiB, depth {depth:2}  {_with_range(figure)}")
    for depth, figure in found.iops:
        said.append(f"rate        4 KiB, depth {depth:2}   {_with_range(figure)}")
    said += ["", "Not seen:", *(f"  {what}" for what in found.unseen)]
    if found.doubts:
        said += ["", "Not believable:", *(f"  {what}" for what in found.doubts)]
    return said


def _with_range(figure: Figure) -> str:
    if figure.value is None:
        return f"not seen: {figure.why}"
    text = f"{figure.value:.4g} {figure.unit}"
    if figure.low is not None and figure.high is not None and figure.low != figure.high:
        text += f" ({figure.low:.4g} to {figure.high:.4g})"
    return text
