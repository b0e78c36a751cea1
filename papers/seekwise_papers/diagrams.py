"""Diagrams drawn from the drive models: block distance against access time, zones, NCQ and rotation; and the parts of
an I/O system.

Every position, time and count comes from the compiled models (`measure_drives`); only the disk's inner radius is chosen
for the eye. Readable without colour: fits, longer and shorter differ by dash and mark, too.
"""

from __future__ import annotations

import json
import math
import random
import textwrap
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

from seekwise import core
from seekwise.report.charts.plot import Place, Point, axes, curve, legend, line, mark, picture, text
from seekwise.simulate.setups.setup import drive_model
from seekwise.workload.study.study import System
from seekwise_papers.simulated import measured

SIZE, TOP, AXIS = 330, 40, 50
INNER = 0.42
"""Inner radius of the platters in the picture, as a share of the outer one: about that of 3.5-inch disks."""
FITS, LONGER, SHORTER = "as the distance says", "longer", "shorter"
KINDS = {
    FITS: ("#009E73", "", "circle"),
    LONGER: ("#D55E00", "6 2", "triangle-up"),
    SHORTER: ("#0072B2", "2 2", "square"),
}
"""Colour, dash and mark of an access."""
QUARTER = 0.25
"""An access this part of a turn away from the mean at its distance deviates."""
SHOWN_EACH = 7
"""Of the accesses of the graph these are drawn on the platter, too."""
DRIVE = "st3250620ns"
"""Drawn when a study has no disk."""
Row = dict[str, Any]


def group(x: float, y: float, *parts: str) -> str:
    """The parts, moved."""
    return f'<g transform="translate({x:.0f} {y:.0f})">{"".join(parts)}</g>'


def diagram(name: str, systems: Sequence[System]) -> str:
    """The SVG of that diagram, from the first disk (and controller) of the systems."""
    return DIAGRAMS[name](systems)


def disk_of(systems: Sequence[System]) -> str:
    """The first hard disk of these systems, or a common one."""
    return next((s.drive for s in systems if s.drive is not None and drive_model(s.drive).get("kind") == "hdd"), DRIVE)


def _title(name: str) -> str:
    return str(json.loads(core.drive_model(name))["name"])


def deviations(drive: str, count: int, seed: int = 1) -> tuple[Row, list[Row]]:
    """A block, and others with their distance, place, access time from it, and whether that is what the distance
    says."""
    capacity = int(drive_model(drive)["capacity_sectors"])
    turn = 60_000 / drive_model(drive)["rpm"]
    start = capacity // 50
    # From one track to the whole disk, evenly in the logarithm.
    draw = random.Random(seed)
    shares = sorted(10 ** draw.uniform(-5, math.log10(0.97)) for _ in range(count))
    sectors = [start + int(share * (capacity - start - 64)) for share in shares]
    places = measured(drive, "places", sectors=[start, *sectors])["places"]
    times = measured(drive, "next", **{"from": start}, sectors=sectors)["ms"]
    rows = []
    for share, place, time in zip(shares, places[1:], times, strict=True):
        expected = measured(drive, "access_at", place=share)["value"]
        kind = FITS if abs(time - expected) <= QUARTER * turn else LONGER if time > expected else SHORTER
        x, y = _xy(place)
        rows.append({"x": x, "y": y, "distance": 100 * share, "ms": time, "expected": expected, "kind": kind})
    x, y = _xy(places[0])
    return {"x": x, "y": y}, rows


def zones_of(drive: str, samples: int = 1500) -> list[Row]:
    """Zones from the outside in: sectors per track, first and last radius (0 outer, 1 inner) and block number as a
    share."""
    capacity = int(drive_model(drive)["capacity_sectors"])
    sectors = [int(capacity * i / samples) for i in range(samples)]
    places = measured(drive, "places", sectors=sectors)["places"]
    rows: list[Row] = []
    for place in places:
        share = place["sector"] / capacity
        if not rows or rows[-1]["sectors"] != place["sectors_on_track"]:
            rows.append({"sectors": place["sectors_on_track"], "radius": place["radius"], "share": share})
        rows[-1] |= {"last_radius": place["radius"], "last_share": share}
    return rows


DRAWS, READS = 41, 12


def service(drive: str) -> tuple[list[Row], dict[bool, list[Row]]]:
    """Reads at random over the disk: their places, and order and times of service one by one and all at once.

    Of many draws the one whose gain is the median: neither a lucky nor an unlucky picture.
    """
    capacity = int(drive_model(drive)["capacity_sectors"])
    draw = random.Random(1)
    draws = [[draw.randrange(capacity - 64) for _ in range(READS)] for _ in range(DRAWS)]
    served = [
        [measured(drive, "served", sectors=sectors, together=together)["served"] for together in (False, True)]
        for sectors in draws
    ]
    pairs = sorted(zip(draws, served, strict=True), key=lambda pair: pair[1][1][-1]["ms"] / pair[1][0][-1]["ms"])
    sectors, (single, together) = pairs[DRAWS // 2]
    places = measured(drive, "places", sectors=sectors)["places"]
    return places, {False: single, True: together}


def _xy(place: Row) -> tuple[float, float]:
    """Where a sector is in the picture; the outermost track has radius 1."""
    radius = 1 - (1 - INNER) * place["radius"]
    angle = 2 * math.pi * place["angle"]
    return radius * math.cos(angle), radius * math.sin(angle)


TITLE_CHARACTERS = 57
"""What a line above a panel of SIZE holds at 10.5 points."""


def _panel(x: float, title: str, *parts: str) -> str:
    lines = textwrap.wrap(title, TITLE_CHARACTERS)
    said = (text(0, 12 + 13 * i, words, anchor="start") for i, words in enumerate(lines))
    return group(x + 18, 4, *said, *parts)


def _graph(x: Point, most: float, titles: tuple[str, str], *, log: bool = False) -> tuple[Place, str]:
    """Beside a platter, from zero to `most`."""
    return axes(((AXIS, TOP), (SIZE - 14, TOP + SIZE - 44)), x, (0.0, most), titles, log=log)


def _plane(scale: float = 1.12) -> Place:
    """From radii of the platter to points of its panel."""
    return lambda x, y: (SIZE / 2 * (1 + x / scale), TOP + SIZE / 2 * (1 - y / scale))


def _rings(radii: Iterable[float], colour: str = "#888", width: float = 1.0, scale: float = 1.12) -> str:
    x, y = _plane(scale)(0, 0)
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" fill="none" stroke="{colour}" stroke-width="{width}"'
    return "".join(f'{circle} r="{SIZE / 2 / scale * radius:.1f}"/>' for radius in radii)


def locality(systems: Sequence[System]) -> str:
    """Accesses from one block to others: those that take what block distance says, and deviations to both sides."""
    drive = disk_of(systems)
    start, rows = deviations(drive, 150)
    at = _plane()
    spiral = ((1 - (1 - INNER) * i / 600, 12 * math.pi * (1 - INNER) * i / 600) for i in range(601))
    platter = [_rings([1, INNER]), curve((at(r * math.cos(a), r * math.sin(a)) for r, a in spiral), "#ddd", 1)]
    origin = at(start["x"], start["y"])
    for row in rows[::SHOWN_EACH]:
        colour, dash, shape = KINDS[row["kind"]]
        end = at(row["x"], row["y"])
        platter += [
            line(origin, end, colour, 1.8, dash),
            mark(end, shape, colour, f"{row['ms']:.1f} ms, {row['kind']}"),
        ]
    platter.append(mark(origin, "diamond", "#000", "from here", 1.2))
    title = ("distance in block numbers [% of the capacity]", "access time [ms]")
    most = max(row["ms"] for row in rows)
    to, frame = _graph((rows[0]["distance"], 100.0), most, title, log=True)
    graph = [frame, *(
        mark(to(row["distance"], row["ms"]), KINDS[row["kind"]][2], KINDS[row["kind"]][0], f"{row['ms']:.1f} ms, {row['kind']}", 0.55)
        for row in rows
    ), curve(to(row["distance"], row["expected"]) for row in rows)]  # fmt: skip
    keys = [(f"access is {kind}", *look) for kind, look in KINDS.items()]
    return picture(
        2 * SIZE + 80,
        TOP + SIZE + 40,
        "Access times and distances",
        _panel(0, f"{_title(drive)}: from one sector to others", *platter),
        _panel(SIZE + 45, "line: mean at that distance", *graph),
        legend(8, TOP + SIZE + 24, keys),
    )


def zones(systems: Sequence[System]) -> str:
    """Zones of a disk with their density, and the borders at which equal block distance means another number of
    tracks."""
    drive = disk_of(systems)
    rows = zones_of(drive)
    radii = [1 - (1 - INNER) * zone["radius"] for zone in rows]
    # A tick for every so many sectors: the outer tracks are visibly denser.
    each = max(1, rows[0]["sectors"] // 90)
    at = _plane()
    strokes = []
    for zone, radius, next_radius in zip(rows, radii, [*radii[1:], INNER], strict=True):
        count = max(8, zone["sectors"] // each)
        for x, y in ((math.cos(a), math.sin(a)) for a in (2 * math.pi * i / count for i in range(count))):
            strokes.append(line(at(radius * x, radius * y), at(next_radius * x, next_radius * y), "#555", 0.8))
    title = ("block number [% of the capacity]", "sectors per track")
    to, frame = _graph((0.0, 100.0), rows[0]["sectors"] * 1.04, title)
    steps = [
        to(100 * share, zone["sectors"]) for zone in rows for share in (zone["share"], zone["last_share"])
    ]  # fmt: skip
    rules = [
        line(to(100 * z["share"], 0), to(100 * z["share"], rows[0]["sectors"]), "#D55E00", 1, "4 2") for z in rows[1:]
    ]
    ratio = rows[0]["sectors"] / rows[-1]["sectors"]
    name = f"{_title(drive)}: {len(rows)} zones, a stroke per {each} sectors"
    platter = (*strokes, _rings([1, INNER], "#555", 1.4), _rings(radii[1:], "#D55E00", 0.8))
    graph = _panel(
        SIZE + 45, f"outermost track: {ratio:.2f} times the innermost", frame, *rules, curve(steps, width=1.8)
    )
    return picture(2 * SIZE + 80, TOP + SIZE + 10, "Zones", _panel(0, name, *platter), graph)


def rotation(systems: Sequence[System]) -> str:
    """Reads at random, one by one and all at once: which order the drive chooses, and how long it takes."""
    places, served = service(disk_of(systems))
    xy = {place["sector"]: _xy(place) for place in places}
    at = _plane(1.25)
    panels: list[str] = []
    for with_ncq, title in (
        (False, "without NCQ: in order of arrival"),
        (True, "with NCQ: by seek and rotation together"),
    ):
        order = served[with_ncq]
        points = [at(*xy[row["sector"]]) for row in order]
        drawn = [_rings([1, INNER], scale=1.25), *(line(a, b, "#0072B2", 1.3) for a, b in pairwise(points))]
        for number, ((x, y), row) in enumerate(zip(points, order, strict=True), start=1):
            drawn += [mark((x, y), "circle", "#000", f"{number}: {row['ms']:.0f} ms"), text(x + 12, y + 3.5, number)]
        panels.append(_panel(len(panels) * (SIZE + 45), f"{title}, {order[-1]['ms']:.0f} ms in all", *drawn))
    return picture(2 * SIZE + 80, TOP + SIZE + 10, "Order of service", *panels)


def parts(systems: Sequence[System]) -> str:
    """Kernel with its schedulers, controller, disks: what each knows, and that neither end sees the other's costs.
    Nothing in it is computed."""
    return (files("seekwise_papers") / "printed/parts.svg").read_text(encoding="utf-8")


DIAGRAMS: dict[str, Callable[[Sequence[System]], str]] = {
    draw.__name__: draw for draw in (locality, zones, parts, rotation)
}
