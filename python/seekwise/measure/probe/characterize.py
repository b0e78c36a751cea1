"""All measurements of a drive in one document, and for a disk the start of a drive model.

What could not be seen is listed with the reason; nothing is guessed in its place. Reading cannot show a write cache, the time to write, or
how many surfaces a disk has: the model file says which numbers are assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from seekwise.linux.buses import BUS_BYTES_PER_S, FASTEST
from seekwise.measure.probe import measure
from seekwise.measure.probe.drives import Probed
from seekwise.measure.probe.measure import Estimate

STROKES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9)
SIZES_KIB = (4, 16, 64, 256)
DEPTHS = (1, 4, 16, 32)
LITTLE_MOST = 2.0
"""Rate × latency over the depth. Median and mean differ, and the two are measured one after the other."""
UNSEEN = (
    "write cache, write latency and steady state: this measurement only reads",
    "number of surfaces: it does not show in the times of reads",
)


@dataclass(frozen=True)
class Zone:
    """Sequential rate at a place."""

    place: float
    """0 at the start of the drive, 1 at its end."""
    rate: Estimate


@dataclass(frozen=True)
class Seek:
    """Time of a seek."""

    stroke: float
    """Share of the full stroke."""
    time: Estimate


@dataclass(frozen=True)
class Latency:
    """Median latency."""

    kib: int
    depth: int
    median: Estimate


@dataclass(frozen=True)
class Iops:
    """Random reads of 4 KiB at a queue depth."""

    depth: int
    rate: Estimate


@dataclass
class Characterization:
    """`characterize DEVICE --json`."""

    SCHEMA: ClassVar = "seekwise.characterize/1"
    SHOWN: ClassVar = ("rpm",)

    capacity_sectors: int
    rotational: bool
    turn_ms: Estimate
    zones: list[Zone]
    seek: list[Seek] = field(default_factory=list)
    read_ahead: Estimate | None = None
    cache_segments: Estimate | None = None
    latency: list[Latency] = field(default_factory=list)
    iops: list[Iops] = field(default_factory=list)
    unseen: tuple[str, ...] = UNSEEN
    """What reading cannot show."""
    doubts: tuple[str, ...] = ()
    """What of it cannot be."""
    device: str = ""

    @property
    def rpm(self) -> float | None:
        """Revolutions per minute; null for flash, and where no rotation was seen in the read times."""
        return 60e3 / self.turn_ms.value if self.turn_ms.value else None


def characterize(drive: Probed, tell: Callable[[str], None] = lambda what: None) -> Characterization:
    """Measures a drive; in simulated time at once, on a real disk within some minutes."""
    tell("rotation")
    turn = measure.turn_ms(drive)
    tell("zones")
    zones = measure.zone_rates(drive)
    found = Characterization(
        drive.capacity, turn.value is not None, turn, [Zone(round(part, 4), rate) for part, rate in zones]
    )
    if turn.value is not None:
        tell("read-ahead and cache")
        found.read_ahead = measure.read_ahead_sectors(drive, turn.value)
        found.cache_segments = measure.cache_segments(drive, turn.value)
        for part in STROKES:
            tell(f"seeks over {part:.0%} of the stroke")
            found.seek.append(Seek(part, measure.seek_ms(drive, part, turn.value, zones)))
    else:
        found.unseen = (*UNSEEN, f"rotation, seeks: {turn.why}")
    tell("latency")
    for kib in SIZES_KIB:
        found.latency.append(Latency(kib, 1, measure.latency_us(drive, kib * 2, 1)))
    for depth in DEPTHS:
        if depth > 1:
            found.latency.append(Latency(4, depth, measure.latency_us(drive, 8, depth)))
        found.iops.append(Iops(depth, measure.iops(drive, depth)))
    if drive.rate_max and any((each.rate.value or 0) > drive.rate_max for each in found.iops):
        found.unseen = (
            *found.unseen,
            f"true rates beyond {drive.rate_max:,.0f} IOPS, and latencies there: this program's own time is part of them; fio shows them",
        )
    return found


def doubts(found: Characterization, transport: str | None = None, *, is_partition: bool = False) -> tuple[str, ...]:
    """What of the figures cannot be, or is not what the device's name says; `transport` as in `seekwise devices --json`."""
    said = (
        ["this is a partition: scheduler and queue are those of its disk, and seeks end at its borders"]
        if is_partition
        else []
    )
    limit, bus = BUS_BYTES_PER_S.get(transport or "", FASTEST)
    rates = [(each.rate.value or 0) * 1e6 for each in found.zones]
    rates += [(each.rate.value or 0) * 4096 for each in found.iops]
    if max(rates, default=0.0) > limit:
        said.append(f"{max(rates) / 1e6:,.0f} MB/s are above what the bus carries ({bus}): memory answered")
    latencies = {each.depth: each.median.value for each in found.latency if each.kib == 4 and each.median.value}
    for each in found.iops:
        rate, depth = each.rate.value, each.depth
        if rate and depth in latencies and (held := rate * latencies[depth] / 1e6) > LITTLE_MOST * depth:
            said.append(
                f"at depth {depth} {rate:,.0f} reads/s of {latencies[depth]:.3g} µs are {held:.3g} at once (Little's law): "
                "something else used the drive between the two measurements"
            )
    return tuple(said)


def lines(found: Characterization) -> list[str]:
    """What is printed."""
    gb = found.capacity_sectors * 512 / 1e9
    said = [f"{_digits(gb)} GB, {'rotating' if found.rotational else 'not rotating, as far as reads show'}"]
    if found.turn_ms.value:
        said.append(f"turn        {found.turn_ms.value:.4f} ms, {60e3 / found.turn_ms.value:.1f} rpm")
    rates = [each.rate.value for each in found.zones if each.rate.value]
    said.append(f"sequential  {_digits(rates[0])} MB/s at the start, {_digits(rates[-1])} MB/s at the end")
    for seek in found.seek:
        said.append(f"seek        {seek.stroke:4.0%} of the stroke {_with_range(seek.time)}")
    if found.read_ahead:
        said.append(f"read-ahead  {_with_range(found.read_ahead)}")
    if found.cache_segments:
        said.append(f"cache       {_with_range(found.cache_segments)}")
    for each in found.latency:
        said.append(f"latency     {each.kib:3} KiB, depth {each.depth:2}  {_with_range(each.median)}")
    for point in found.iops:
        said.append(f"rate        4 KiB, depth {point.depth:2}   {_with_range(point.rate)}")
    said += ["", "Not seen:", *(f"  {what}" for what in found.unseen)]
    if found.doubts:
        said += ["", "Not believable:", *(f"  {what}" for what in found.doubts)]
    return said


def _with_range(figure: Estimate) -> str:
    if figure.value is None:
        return f"not seen: {figure.why}"
    text = f"{_digits(figure.value)} {'µs' if figure.unit == 'us' else figure.unit}"
    if figure.low is not None and figure.high is not None and figure.low != figure.high:
        text += f" ({_digits(figure.low)} to {_digits(figure.high)})"
    return text


def _digits(value: float) -> str:
    """Three significant digits, thousands with a comma: `37.9`, `34,100`."""
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 100 else f"{value:.3g}"
