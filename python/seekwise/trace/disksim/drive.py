"""A drive of DiskSim's library as a drive model: `.parv` or `.diskspecs`, with the layout and seek files that they name.

Every number is taken over under the name of what it means; the table below says which is which. The model file names the source
of all. What the model does not know is refused when it is switched on, and said: reading of free blocks, hits while the drive is busy
("sneaky"), writes taken in before their turn, seeks before completion, orders of service other than first come first served.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from seekwise.errors import UsageError
from seekwise.files import read_text
from seekwise.trace.disksim.syntax import ParameterBlock, read

OVERHEADS = {
    "Read hit over. after read": "read_hit_after_read",
    "Read hit over. after write": "read_hit_after_write",
    "Read miss over. after read": "read_miss_after_read",
    "Read miss over. after write": "read_miss_after_write",
    "Write hit over. after read": "write_hit_after_read",
    "Write hit over. after write": "write_hit_after_write",
    "Write miss over. after read": "write_miss_after_read",
    "Write miss over. after write": "write_miss_after_write",
    "Read completion overhead": "read_completion",
    "Write completion overhead": "write_completion",
    "Data preparation overhead": "data_preparation",
    "First reselect overhead": "first_reselect",
    "Other reselect overhead": "other_reselect",
    "Read disconnect afterread": "read_disconnect_after_read",
    "Read disconnect afterwrite": "read_disconnect_after_write",
    "Write disconnect overhead": "write_disconnect",
    "Extradisc command overhead": "extra_command",
    "Extradisc disconnect overhead": "extra_first_disconnect",
    "Extradisc inter-disconnect delay": "extra_pause",
    "Extradisc 2nd disconnect overhead": "extra_second_disconnect",
    "Extradisc seek delta": "extra_seek",
}
READ_AHEAD = ("none", "to_track_end", "to_cylinder_end", "to_segment_end", "track_by_track")
# Switched on, these change what the drive does; the model has no such behaviour.
REFUSED = {
    "Allow almost read hits": "read hits on the block that is being read ahead",
    "Allow sneaky full read hits": "read hits while the drive is busy",
    "Allow sneaky partial read hits": "read hits while the drive is busy",
    "Allow sneaky intermediate read hits": "read hits while the drive is busy",
    "Allow write prebuffering": "taking in a write before its turn",
    "Preseeking level": "seeks before completion",
    "Read any free blocks": "reading of free blocks",
}
DISTANCES_MAX = 200_000


@dataclass(frozen=True)
class DiskSimDrive:
    """A drive model as read: what goes into the model file, and what a reader should know."""

    id: str
    name: str
    extracted: dict[str, Any]
    notes: tuple[str, ...]

    def toml(self) -> str:
        """The model file."""
        from seekwise.trace.disksim.toml_text import document

        return document(self)


def load(path: Path) -> DiskSimDrive:
    """The drive that a `.parv` or `.diskspecs` file describes. Raises UsageError with one sentence."""
    blocks = read(path)
    disks = [block for block in blocks if block.kind == "disksim_disk"]
    if len(disks) != 1:
        raise UsageError(
            f"{path}: describes {len(disks)} disks; one is needed", "name the drive's .parv or .diskspecs file"
        )
    disk = _Values(disks[0], path)
    model = disk.block("Model")
    layout = model.block("Layout Model")
    if layout.kind != "dm_layout_g1":
        raise UsageError(f"{path}: layout `{layout.kind}` is not known; only dm_layout_g1 is")
    mechanics = model.block("Mechanical Model")
    if mechanics.kind != "dm_mech_g1":
        raise UsageError(f"{path}: mechanical model `{mechanics.kind}` is not known; only dm_mech_g1 is")
    notes = [f"Imported from DiskSim's {path.name}: parameters that were extracted from the real drive."]
    for key, what in REFUSED.items():
        if disk.number(key, 0):
            notes.append(
                f"DiskSim's file switches on {what} (`{key}`); this model has no such behaviour and leaves it off."
            )
    zones = [_zone(_Values(zone, path)) for zone in layout.blocks("Zones")]
    cylinders = max([model.whole("Number of cylinders"), *(zone["last_cylinder"] + 1 for zone in zones)])
    extracted = {
        "layout": {
            "surfaces": model.whole("Number of data surfaces"),
            "cylinders": cylinders,
            "mapping": layout.whole("LBN-to-PBN mapping scheme", 0),
            "sparing": layout.whole("Sparing scheme used", 0),
            "range_cylinders": layout.whole("Rangesize for sparing", 1),
            "zones": zones,
        },
        "mechanics": _mechanics(mechanics, cylinders, Path(mechanics.block_read.file).parent),
        "buffer": _buffer(disk),
        "overhead": _overhead(disk, notes),
        "bus": _bus(disk, [_Values(block, path) for block in blocks if block.kind == "disksim_bus"]),
        "queue_depth": min(max(disk.whole("Max queue length", 1), 1), 256),
    }
    name = disks[0].name
    return DiskSimDrive(
        re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_") or "drive", name, extracted, tuple(notes)
    )


class _Values:
    """A block's values, asked for by DiskSim's names; a missing or wrong one is an error that names file and key."""

    def __init__(self, block: ParameterBlock, path: Path) -> None:
        self.block_read, self.path = block, Path(block.file or path)
        self.kind = block.kind

    def _get(self, key: str, default: Any) -> Any:
        value = self.block_read.values.get(key, default)
        if value is None:
            raise UsageError(f"{self.path}: `{self.kind}` lacks `{key}`")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._get(key, default)
        if not isinstance(value, int | float):
            raise UsageError(f"{self.path}: `{key}` should be a number")
        return float(value)

    def whole(self, key: str, default: int | None = None) -> int:
        value = self.number(key, default)
        if value != int(value) or not 0 <= value < 2**40:
            raise UsageError(f"{self.path}: `{key}` should be a whole number, not {value:g}")
        return int(value)

    def flag(self, key: str) -> bool:
        return bool(self.number(key, 0))

    def word(self, key: str, default: str | None = None) -> str:
        return str(self._get(key, default))

    def numbers(self, key: str, at_least: int = 0) -> list[float]:
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, int | float) for item in value):
            raise UsageError(f"{self.path}: `{key}` should be a list of numbers")
        if len(value) < at_least:
            raise UsageError(f"{self.path}: `{key}` needs {at_least} numbers; it has {len(value)}")
        return [float(item) for item in value]

    def block(self, key: str) -> _Values:
        value = self._get(key, None)
        if not isinstance(value, ParameterBlock):
            raise UsageError(f"{self.path}: `{key}` should be a block")
        return _Values(value, self.path)

    def blocks(self, key: str) -> list[ParameterBlock]:
        value = self._get(key, None)
        if not isinstance(value, list) or not all(isinstance(item, ParameterBlock) for item in value):
            raise UsageError(f"{self.path}: `{key}` should be a list of blocks")
        return value


def _zone(zone: _Values) -> dict[str, Any]:
    defects = zone.numbers("defects")
    if len(defects) % 2:
        raise UsageError(f"{zone.path}: `defects` needs pairs: the bad sector and where its data are")
    return {
        "first_cylinder": zone.whole("First cylinder number"),
        "last_cylinder": zone.whole("Last cylinder number"),
        "sectors_per_track": zone.whole("Blocks per track"),
        "offset_sectors": zone.number("Offset of first block", 0),
        "empty_sectors": zone.whole("Empty space at zone front", 0),
        "track_skew_sectors": zone.number("Skew for track switch"),
        "cylinder_skew_sectors": zone.number("Skew for cylinder switch"),
        "spares": zone.whole("Number of spares", 0),
        "slips": [_place(zone, slip) for slip in zone.numbers("slips")],
        "defects": [[_place(zone, bad), _place(zone, to)] for bad, to in zip(defects[::2], defects[1::2], strict=True)],
    }


def _place(zone: _Values, value: float) -> int:
    if value < 0 or value != int(value):
        raise UsageError(f"{zone.path}: a slipped or remapped sector is {value:g}, not a whole number")
    return int(value)


def _mechanics(mechanics: _Values, cylinders: int, folder: Path) -> dict[str, Any]:
    kind = mechanics.word("Seek type")
    if kind not in SEEKS:
        raise UsageError(f"{mechanics.path}: seek type `{kind}` is not known; there are {', '.join(sorted(SEEKS))}")
    access = mechanics.word("Access time type", "trackSwitchPlusRotation")
    if access not in ("trackSwitchPlusRotation", "averageRotation"):
        raise UsageError(f"{mechanics.path}: access time type `{access}` is not known")
    return {
        "rpm": mechanics.number("Rotation speed (in rpms)"),
        "head_switch_ms": mechanics.number("Head switch time"),
        "write_settle_ms": mechanics.number("Add. write settling delay", 0),
        "average_rotation": access == "averageRotation",
        "seek": [[distance, ms] for distance, ms in SEEKS[kind](mechanics, cylinders, folder)],
    }


Points = list[tuple[int, float]]


def _extracted(mechanics: _Values, cylinders: int, folder: Path) -> Points:
    """A file of measured times: `Seek distances measured: N`, then `distance, ms` a line."""
    name = mechanics.word("Full seek curve")
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise UsageError(f"{mechanics.path}: the seek curve `{name}` lies outside the folder")
    try:
        lines = read_text(path, encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(f"{path}: the seek curve cannot be read: {reason}") from None
    points: Points = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        match = re.fullmatch(r"\s*(\d+)\s*,\s*([\d.eE+-]+)\s*", line)
        if not match or len(points) > DISTANCES_MAX:
            raise UsageError(f"{path}, line {number}: `{line.strip()[:40]}` is not `DISTANCE, MS`")
        points.append((int(match[1]), float(match[2])))
    if not lines or not re.match(r"Seek distances measured:\s*\d+", lines[0]) or not points:
        raise UsageError(f"{path}: should begin with `Seek distances measured: N` and have a line for each")
    # A distance that was measured twice counts once.
    return sorted(dict(points).items())


def _hpl(mechanics: _Values, cylinders: int, folder: Path) -> Points:
    """Ruemmler and Wilkes 1994: a square root below a distance, a line above it; the time of one cylinder apart."""
    bend, a, b, c, e, single = mechanics.numbers("HPL seek equation values", 6)[:6]
    points = _curve(lambda d: a + b * sqrt(d) if d < bend else c + e * d, cylinders, int(bend))
    if single >= 0:
        points[0] = (1, single)
    return points


def _hpl_after_ten(mechanics: _Values, cylinders: int, folder: Path) -> Points:
    """The same with the first ten distances measured (Worthington, Ganger, Patt and Wilkes 1995)."""
    first = mechanics.numbers("First ten seek times", 10)[:10]
    bend, a, b, c, e, _ = mechanics.numbers("HPL seek equation values", 6)[:6]
    points = _curve(lambda d: a + b * sqrt(d) if d < bend else c + e * d, cylinders, int(bend))
    return [(d, first[d - 1] if d <= 10 else ms) for d, ms in points]


def _three_points(mechanics: _Values, cylinders: int, folder: Path) -> Points:
    """Through one cylinder, the average and the full stroke: a + b·sqrt(d-1) + c·(d-1) (Lee and Katz 1993)."""
    one, mean, full = (
        mechanics.number(key) for key in ("Single cylinder seek time", "Average seek time", "Full strobe seek time")
    )
    root = (-10 * one + 15 * mean - 5 * full) / (3 * sqrt(cylinders))
    linear = (7 * one - 15 * mean + 8 * full) / (3 * cylinders)
    return _curve(lambda d: one + root * sqrt(d - 1) + linear * (d - 1), cylinders, cylinders)


def _line(mechanics: _Values, cylinders: int, folder: Path) -> Points:
    """Straight from one cylinder to a third of the way (the average), and on to the full stroke."""
    one, mean, full = (
        mechanics.number(key) for key in ("Single cylinder seek time", "Average seek time", "Full strobe seek time")
    )
    return [(1, one), (max(cylinders // 3, 2), mean), (max(cylinders - 1, 3), full)]


def _constant(mechanics: _Values, cylinders: int, folder: Path) -> Points:
    return [(1, mechanics.number("Constant seek time"))]


def _curve(ms: Callable[[float], float], cylinders: int, bend: int) -> Points:
    """Every distance up to the bend, where a curve is curved; then the two ends of the line."""
    if not 1 <= cylinders <= DISTANCES_MAX:
        raise UsageError(f"a disk with {cylinders} cylinders cannot be modelled")
    near = range(1, min(max(bend, 11), cylinders - 1) + 1)
    points = [(distance, max(ms(distance), 0.0)) for distance in near]
    if cylinders - 1 > near[-1]:
        points.append((cylinders - 1, ms(cylinders - 1)))
    return points


SEEKS: dict[str, Callable[[_Values, int, Path], Points]] = {
    "extracted": _extracted,
    "hpl": _hpl,
    "hplplus10": _hpl_after_ten,
    "curve": _three_points,
    "linear": _line,
    "constant": _constant,
}


def _buffer(disk: _Values) -> dict[str, Any]:
    ahead = disk.whole("Buffer continuous read", 0)
    if ahead >= len(READ_AHEAD):
        raise UsageError(f"{disk.path}: `Buffer continuous read` is {ahead}; there are 0 to {len(READ_AHEAD) - 1}")
    segments = max(disk.whole("Number of buffer segments"), 1)
    return {
        "segments": segments,
        "write_segments": min(max(disk.whole("Maximum number of write segments", 1), 1), segments),
        "segment_sectors": disk.whole("Segment size (in blks)"),
        "separate_write_segment": disk.flag("Use separate write segment") and segments > 1,
        "caching": disk.flag("Enable caching in buffer"),
        "read_hits_on_written": disk.flag("Allow read hits on write data"),
        "read_ahead": READ_AHEAD[ahead],
        "read_ahead_min_sectors": disk.whole("Minimum read-ahead (blks)", 0),
        "read_ahead_max_sectors": disk.whole("Maximum read-ahead (blks)", 0),
        "read_ahead_on_idle_hit": disk.flag("Read-ahead on idle hit"),
        "read_watermark": disk.number("High (read) water mark", 0),
        "write_watermark": disk.number("Low (write) water mark", 0),
        "watermark_by_request": disk.flag("Set watermark by reqsize"),
        "fast_write": disk.flag("Fast write level"),
        "combine_writes": disk.flag("Combine seq writes"),
        "zero_latency_read": disk.flag("Immediate buffer read"),
        "zero_latency_write": disk.flag("Immediate buffer write"),
        "stop_read_ahead_in_sector": disk.flag("Stop prefetch in sector"),
        "partial_hit_at_once": disk.flag("Immed transfer partial hit"),
        "hold_bus_read": disk.flag("Hold bus entire read xfer"),
        "hold_bus_write": disk.flag("Hold bus entire write xfer"),
        "never_disconnect": disk.flag("Never disconnect"),
    }


def _overhead(disk: _Values, notes: list[str]) -> dict[str, Any]:
    scale = disk.number("Time scale for overheads", 1)
    found: dict[str, Any] = {}
    for theirs, ours in OVERHEADS.items():
        ms = disk.number(theirs, 0) * scale
        if ms < 0:
            notes.append(f"`{theirs}` is {ms:g} ms in DiskSim's file; no time is below zero, so it is 0 here.")
        found[ours] = max(ms, 0.0)
    found["request"] = disk.number("Per-request overhead time", 0) * scale
    found["minimum_seek"] = disk.number("Minimum seek delay", 0)
    found["extra_disconnect"] = disk.flag("Extra write disconnect")
    return found


def _bus(disk: _Values, buses: list[_Values]) -> dict[str, float]:
    """A block moves as fast as the slowest on its way."""
    bulk = disk.number("Bulk sector transfer time", 0)
    read = max([bulk, *(bus.number("Read block transfer time", 0) for bus in buses)])
    write = max([bulk, *(bus.number("Write block transfer time", 0) for bus in buses)])
    return {"read_sector_ms": read, "write_sector_ms": write}
