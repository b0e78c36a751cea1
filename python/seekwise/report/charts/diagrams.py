"""Diagrams drawn from the drive models: block distance against access time, zones, the parts of an I/O system, NCQ and rotation.

Every position, time and count comes from the compiled models (`measure_drives`); only the disk's inner radius is chosen for the eye.
Readable without colour: fits, longer and shorter differ by dash and mark, too.
"""

from __future__ import annotations

import json
import math
import random
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise

import altair as alt

from seekwise import _core
from seekwise.report.charts.style import configured
from seekwise.workload.study.quantity import counted
from seekwise.workload.study.study import System

SIZE = 330
INNER = 0.42
"""Inner radius of the platters in the picture, as a share of the outer one: about that of 3.5-inch disks."""
FITS, LONGER, SHORTER = "as the distance says", "longer", "shorter"
KINDS = [FITS, LONGER, SHORTER]
COLOURS = ["#009E73", "#D55E00", "#0072B2"]
DASHES = [[1, 0], [6, 2], [2, 2]]
QUARTER = 0.25
"""An access this part of a turn away from the mean at its distance deviates."""
DRIVE = "st3250620ns"
"""Drawn when a study has no disk."""


def diagram(name: str, systems: Sequence[System]) -> alt.TopLevelMixin:
    """The diagram of that name, from the first disk (and controller) of the systems."""
    return configured(DIAGRAMS[name](systems))


def disk_of(systems: Sequence[System]) -> str:
    """The first hard disk of these systems, or a common one."""
    for system in systems:
        if system.drive is not None and _model(system.drive).get("kind") == "hdd":
            return system.drive
    return DRIVE


def _model(name: str) -> dict:
    try:
        return json.loads(_core.drive_model(name))
    except ValueError:
        return {}


def _parameter(model: dict, name: str) -> float:
    stated = model["parameters"].get(name)
    if stated is not None:
        return float(stated["value"])
    return float(next(each["default"] for each in model["known_parameters"] if each["key"] == name))


def _measured(drive: str, *requests: dict) -> list[dict]:
    answers = json.loads(_core.measure_drives(json.dumps([{"model": drive, **request} for request in requests])))
    for answer in answers:
        if "error" in answer:
            raise ValueError(answer["error"])
    return answers


def _xy(place: dict) -> tuple[float, float]:
    """Where a sector is in the picture; the outermost track has radius 1."""
    radius = 1 - (1 - INNER) * place["radius"]
    angle = 2 * math.pi * place["angle"]
    return radius * math.cos(angle), radius * math.sin(angle)


def _circle(radius: float, name: str) -> list[dict]:
    steps = range(121)
    return [
        {
            "x": radius * math.cos(2 * math.pi * i / 120),
            "y": radius * math.sin(2 * math.pi * i / 120),
            "i": i,
            "ring": name,
        }
        for i in steps
    ]


def _plane(scale: float = 1.12) -> dict:
    hidden = alt.Scale(domain=[-scale, scale])
    return {
        "x": alt.X("x:Q", axis=None, scale=hidden),
        "y": alt.Y("y:Q", axis=None, scale=hidden),
    }


TITLE_CHARACTERS = 57
"""What a line above a panel of SIZE holds at 11 points."""


def title_lines(text: str) -> list[str]:
    """A title in lines that stay above their own panel."""
    return textwrap.wrap(text, TITLE_CHARACTERS)


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(title_lines(text), fontSize=11, fontWeight="normal")


def _rings(radii: Sequence[float], colour: str = "#bbb", width: float = 1.0) -> alt.Chart:
    rows = [row for radius in radii for row in _circle(radius, f"{radius:.4f}")]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(color=colour, strokeWidth=width)
        .encode(**_plane(), order="i:Q", detail="ring:N")
    )


def _kind_scales() -> tuple[alt.Color, alt.StrokeDash]:
    colour = alt.Color("kind:N", scale=alt.Scale(domain=KINDS, range=COLOURS), title="access is")
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=KINDS, range=DASHES), title="access is")
    return colour, dash


def deviations(drive: str, count: int, seed: int = 1) -> tuple[dict, list[dict]]:
    """A block, and others with their distance, place, access time from it, and whether that is what the distance says."""
    model = _model(drive)
    capacity = int(_parameter(model, "capacity_sectors"))
    turn = 60_000 / _parameter(model, "rpm")
    start = capacity // 50
    # From one track to the whole disk, evenly in the logarithm.
    draw = random.Random(seed)
    shares = sorted(10 ** draw.uniform(-5, math.log10(0.97)) for _ in range(count))
    sectors = [start + int(share * (capacity - start - 64)) for share in shares]
    places, times = _measured(
        drive,
        {"measure": "places", "sectors": [start, *sectors]},
        {"measure": "next", "from": start, "sectors": sectors},
    )
    rows = []
    for share, place, time in zip(shares, places["places"][1:], times["ms"], strict=True):
        expected = _measured(drive, {"measure": "access_at", "place": share})[0]["value"]
        kind = FITS if abs(time - expected) <= QUARTER * turn else LONGER if time > expected else SHORTER
        x, y = _xy(place)
        rows.append({"x": x, "y": y, "distance": 100 * share, "ms": time, "expected": expected, "kind": kind})
    x, y = _xy(places["places"][0])
    return {"x": x, "y": y}, rows


LABEL_WIDTH, LABEL_HEIGHT, LABEL_GAP = 0.36, 0.10, 0.05
"""Room of a label such as `12.3 ms`, and its distance from its mark, in radii of the picture."""

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def _overlaps(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _places(row: dict) -> list[tuple[float, float]]:
    """Where the middle of a mark's label may be: to its right, to its left, above, below."""
    dx, dy = LABEL_WIDTH / 2 + LABEL_GAP, LABEL_HEIGHT / 2 + LABEL_GAP
    x, y = row["x"], row["y"]
    sides = [(x + dx, y), (x - dx, y), (x, y + dy), (x, y - dy)]
    return [*sides, (x + dx, y + dy), (x - dx, y + dy), (x + dx, y - dy), (x - dx, y - dy)]


def labelled(rows: Sequence[dict]) -> list[dict]:
    """Rows with `label_x` and `label_y`, so that no label covers another one or a mark; rows without room are left out."""
    half = LABEL_GAP * 0.7
    marks = [(row["x"] - half, row["y"] - half, row["x"] + half, row["y"] + half) for row in rows]
    taken: list[Box] = []
    found = []
    for i, row in enumerate(rows):
        for x, y in _places(row):
            box = (x - LABEL_WIDTH / 2, y - LABEL_HEIGHT / 2, x + LABEL_WIDTH / 2, y + LABEL_HEIGHT / 2)
            others = [mark for j, mark in enumerate(marks) if j != i]
            if not any(_overlaps(box, other) for other in (*taken, *others)):
                taken.append(box)
                found.append({**row, "label_x": x, "label_y": y})
                break
    return found


def _labels(rows: Sequence[dict], size: int, scale: float = 1.12) -> alt.Chart:
    plane = alt.Scale(domain=[-scale, scale])
    return (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_text(fontSize=size)
        .encode(
            x=alt.X("label_x:Q", axis=None, scale=plane),
            y=alt.Y("label_y:Q", axis=None, scale=plane),
            text="label:N",
        )
    )


APART = 0.24
"""Least distance of two marks in a picture, in radii."""


def _apart(rows: Sequence[dict]) -> list[dict]:
    """Rows of every kind in turn, each far enough from those before it."""
    turns = [[row for row in rows if row["kind"] == kind] for kind in KINDS]
    found: list[dict] = []
    for i in range(max(len(turn) for turn in turns)):
        for turn in turns:
            if i < len(turn) and all(math.dist((turn[i]["x"], turn[i]["y"]), (o["x"], o["y"])) > APART for o in found):
                found.append(turn[i])
    return found


def locality(systems: Sequence[System]) -> alt.TopLevelMixin:
    """Accesses from one block to others: those that take what block distance says, and deviations to both sides."""
    drive = disk_of(systems)
    start, rows = deviations(drive, 150)
    far = [row for kind in KINDS for row in [each for each in rows if each["kind"] == kind and each["distance"] > 0.3]]
    shown = labelled([{**row, "label": f"{row['ms']:.1f} ms"} for row in _apart(far)])
    colour, dash = _kind_scales()
    lines = [
        {**row, "x2": row["x"], "y2": row["y"], "x": start["x"], "y": start["y"], "label": f"{row['ms']:.1f}"}
        for row in shown
    ]
    spiral = [
        {"x": r * math.cos(12 * math.pi * (1 - r)), "y": r * math.sin(12 * math.pi * (1 - r)), "i": i, "ring": "spiral"}
        for i, r in ((i, 1 - (1 - INNER) * i / 600) for i in range(601))
    ]
    turns = alt.Chart(alt.Data(values=spiral)).mark_line(color="#ddd").encode(**_plane(), order="i:Q")
    arrows = (
        alt.Chart(alt.Data(values=lines))
        .mark_rule(strokeWidth=1.8)
        .encode(**_plane(), x2="x2:Q", y2="y2:Q", color=colour, strokeDash=dash)
    )
    ends = (
        alt.Chart(alt.Data(values=shown))
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            **_plane(),
            color=colour,
            shape=alt.Shape(
                "kind:N", scale=alt.Scale(domain=KINDS, range=["circle", "triangle-up", "square"]), title="access is"
            ),
        )
    )
    labels = _labels(shown, 10)
    origin = alt.Chart(alt.Data(values=[start])).mark_point(
        shape="diamond", filled=True, size=130, color="black", opacity=1
    )
    name = _model(drive)["name"]
    platter = alt.layer(_rings([1, INNER], "#888"), turns, arrows, ends, labels, origin.encode(**_plane())).properties(
        width=SIZE, height=SIZE, title=_title(f"{name}: from one sector to others")
    )
    x = alt.X("distance:Q", scale=alt.Scale(type="log"), title="distance in block numbers [% of the capacity]")
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, opacity=0.9, size=34)
        .encode(
            x=x,
            y=alt.Y("ms:Q", title="access time [ms]"),
            color=colour,
            shape=alt.Shape(
                "kind:N", scale=alt.Scale(domain=KINDS, range=["circle", "triangle-up", "square"]), title="access is"
            ),
        )
    )
    middle = alt.Chart(alt.Data(values=rows)).mark_line(color="black", strokeWidth=1.4).encode(x=x, y="expected:Q")
    right = alt.layer(middle, points).properties(
        width=SIZE, height=SIZE - 40, title=_title("line: mean at that distance")
    )
    return alt.hconcat(platter, right)


def zones_of(drive: str, samples: int = 1500) -> list[dict]:
    """Zones from the outside in: sectors per track, first and last radius (0 outer, 1 inner) and block number as a share."""
    capacity = int(_parameter(_model(drive), "capacity_sectors"))
    sectors = [int(capacity * i / samples) for i in range(samples)]
    places = _measured(drive, {"measure": "places", "sectors": sectors})[0]["places"]
    found: list[dict] = []
    for place in places:
        share = place["sector"] / capacity
        if not found or found[-1]["sectors"] != place["sectors_on_track"]:
            found.append({"sectors": place["sectors_on_track"], "radius": place["radius"], "share": share})
        found[-1] |= {"last_radius": place["radius"], "last_share": share}
    return found


def zones(systems: Sequence[System]) -> alt.TopLevelMixin:
    """Zones of a disk with their density, and the borders at which equal block distance means another number of tracks."""
    drive = disk_of(systems)
    found = zones_of(drive)
    radii = [1 - (1 - INNER) * zone["radius"] for zone in found]
    # A tick for every so many sectors: the outer tracks are visibly denser.
    each = max(1, found[0]["sectors"] // 90)
    ticks = []
    for zone, radius, next_radius in zip(found, radii, [*radii[1:], INNER], strict=True):
        count = max(8, zone["sectors"] // each)
        for i in range(count):
            angle = 2 * math.pi * i / count
            ticks.append(
                {
                    "x": radius * math.cos(angle), "y": radius * math.sin(angle),
                    "x2": next_radius * math.cos(angle), "y2": next_radius * math.sin(angle),
                }
            )  # fmt: skip
    spokes = (
        alt.Chart(alt.Data(values=ticks))
        .mark_rule(strokeWidth=0.8, color="#555")
        .encode(**_plane(), x2="x2:Q", y2="y2:Q")
    )
    borders = _rings(radii[1:], "#D55E00", 0.8)
    name = _model(drive)["name"]
    platter = alt.layer(spokes, _rings([1, INNER], "#555", 1.4), borders).properties(
        width=SIZE, height=SIZE, title=_title(f"{name}: {len(found)} zones, a stroke per {each} sectors")
    )
    steps = [
        row
        for zone in found
        for row in (
            {"share": 100 * zone["share"], "sectors": zone["sectors"]},
            {"share": 100 * zone["last_share"], "sectors": zone["sectors"]},
        )
    ]
    x = alt.X("share:Q", title="block number [% of the capacity]")
    y = alt.Y("sectors:Q", title="sectors per track", scale=alt.Scale(zero=True))
    unseen = alt.OverlayMarkDef(opacity=0, size=9)  # its values are told at the pointer and by the arrow keys
    line = alt.Chart(alt.Data(values=steps)).mark_line(color="black", strokeWidth=1.8, point=unseen).encode(x=x, y=y)
    rules = (
        alt.Chart(alt.Data(values=[{"share": 100 * zone["share"]} for zone in found[1:]]))
        .mark_rule(color="#D55E00", strokeDash=[4, 2])
        .encode(x=x)
    )
    ratio = found[0]["sectors"] / found[-1]["sectors"]
    right = alt.layer(rules, line).properties(
        width=SIZE, height=SIZE - 40, title=_title(f"outermost track: {ratio:.2f} times the innermost")
    )
    return alt.hconcat(platter, right)


def parts(systems: Sequence[System]) -> alt.TopLevelMixin:
    """Kernel with its schedulers, controller, disks: what each knows, and that neither end sees the other's costs."""
    system = next(
        (each for each in systems if each.controller), systems[0] if systems else System(name="x", drive=DRIVE)
    )
    model = _model(disk_of([system]))
    outer, inner = _boxes(system)
    rows = [
        {"x": a, "x2": b, "y": y, "y2": y, "mark": f"triangle-{to}"}
        for a, b, y, to in ((31, 41, 40, "right"), (41, 31, 32, "left"), (67, 77, 40, "right"), (77, 67, 32, "left"))
    ]
    plane = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-1, 109])),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-2, 62])),
    }

    def drawn(values: list[dict], **mark: object) -> alt.Chart:
        return alt.Chart(alt.Data(values=values)).mark_rect(**mark).encode(**plane, x2="x2:Q", y2="y2:Q")

    def written(values: list[dict], **mark: object) -> alt.Chart:
        return alt.Chart(alt.Data(values=values)).mark_text(**mark).encode(**plane, text="text:N")

    titles = [{"x": (b["x"] + b["x2"]) / 2, "y": 56, "text": b["title"]} for b in outer]
    names = [{"x": (b["x"] + b["x2"]) / 2, "y": (b["y"] + b["y2"]) / 2, "text": b["title"]} for b in inner]
    shafts = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=1.6).encode(**plane, x2="x2:Q", y2="y2:Q")
    ends = [{**row, "x": row["x2"]} for row in rows]
    heads = [
        alt.Chart(alt.Data(values=[row for row in ends if row["mark"] == shape]))
        .mark_point(shape=shape, filled=True, size=90, color="black", opacity=1)
        .encode(**plane)
        for shape in ("triangle-right", "triangle-left")
    ]
    labels = [(36, 43, "requests"), (72, 43, "commands"), (36, 29, "data"), (72, 29, "data")]
    return alt.layer(
        drawn(outer, color="#f3f5f7", stroke="#555"),
        drawn(inner, color="white", stroke="#888"),
        written(titles, fontSize=13, fontWeight="bold"),
        written(names, fontSize=12),
        written(_knowledge(model), align="left", fontSize=10.5, baseline="middle"),
        shafts,
        *heads,
        written([{"x": x, "y": y, "text": text} for x, y, text in labels], fontSize=10.5),
    ).properties(width=860, height=330)


def _boxes(system: System) -> tuple[list[dict], list[dict]]:
    """(kernel, controller and disks; what stands in them)."""
    outer = [
        {"x": 0, "x2": 30, "y": 0, "y2": 60, "title": f"Kernel {system.kernel or ''}".strip()},
        {"x": 42, "x2": 66, "y": 0, "y2": 60, "title": f"Controller {system.controller or 'none (md in the kernel)'}"},
        {"x": 78, "x2": 108, "y": 0, "y2": 60, "title": counted(system.drives, "disk")},
    ]
    inner = [
        {"x": 3, "x2": 27, "y": 44 - 8 * i, "y2": 50 - 8 * i, "title": name}
        for i, name in enumerate(("noop", "deadline", "anticipatory", "cfq"))
    ]
    inner += [
        {"x": 81, "x2": 105, "y": 44 - 10 * i, "y2": 51 - 10 * i, "title": f"disk {i + 1}"}
        for i in range(min(system.drives, 4))
    ]
    level = (system.raid_level or "").replace("raid", "RAID ") or "single drive"
    inner += [
        {"x": 45, "x2": 63, "y": 40, "y2": 48, "title": level},
        {"x": 45, "x2": 63, "y": 28, "y2": 36, "title": "cache"},
    ]
    return outer, inner


def _knowledge(model: dict) -> list[dict]:
    """What each part knows and what it does not."""
    depth = _parameter(model, "ncq_depth") if "ncq_depth" in {p["key"] for p in model["known_parameters"]} else 32
    texts = (
        (79.5, 9, model["name"].split(",")[0]),
        (1.5, 5, "knows processes, nice levels, priorities"),
        (1.5, 2, "not: layout, angle of the platters"),
        (43.5, 5, "knows levels, queue of each disk"),
        (43.5, 2, "not: processes, tracks"),
        (79.5, 5, f"knows layout and angle; NCQ holds {depth:.0f}"),
        (79.5, 2, "not: processes, priorities"),
    )
    return [{"x": x, "y": y, "text": text} for x, y, text in texts]


DRAWS = 41
READS = 12


def service(drive: str) -> tuple[list[dict], dict[bool, list[dict]]]:
    """Reads at random over the disk: their places, and order and times of service one by one and all at once.

    Of many draws the one whose gain is the median: neither a lucky nor an unlucky picture.
    """
    capacity = int(_parameter(_model(drive), "capacity_sectors"))
    draw = random.Random(1)
    draws = [[draw.randrange(capacity - 64) for _ in range(READS)] for _ in range(DRAWS)]
    requests = [
        {"measure": "served", "sectors": each, "together": together} for each in draws for together in (False, True)
    ]
    answers = [answer["served"] for answer in _measured(drive, *requests)]
    pairs = list(zip(draws, answers[::2], answers[1::2], strict=True))
    pairs.sort(key=lambda each: each[2][-1]["ms"] / each[1][-1]["ms"])
    sectors, single, together = pairs[DRAWS // 2]
    places = _measured(drive, {"measure": "places", "sectors": sectors})[0]["places"]
    return places, {False: single, True: together}


def rotation(systems: Sequence[System]) -> alt.TopLevelMixin:
    """The same requests one by one in their order, and all at once in the order that the drive chooses."""
    drive = disk_of(systems)
    places, served = service(drive)
    xy = {place["sector"]: _xy(place) for place in places}
    panels = []
    for with_ncq, title in (
        (False, "without NCQ: in order of arrival"),
        (True, "with NCQ: by seek and rotation together"),
    ):
        order = served[with_ncq]
        rows = [
            {"x": xy[row["sector"]][0], "y": xy[row["sector"]][1], "label": f"{i}: {row['ms']:.0f} ms", "i": i}
            for i, row in enumerate(order, start=1)
        ]
        path = [{"x": a["x"], "y": a["y"], "x2": b["x"], "y2": b["y"]} for a, b in pairwise(rows)]
        lines = alt.Chart(alt.Data(values=path)).mark_rule(color="#0072B2", strokeWidth=1.3, opacity=0.75)
        points = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=70, color="black", opacity=1)
        labels = _labels(labelled(rows), 10, 1.25)
        panels.append(
            alt.layer(
                _rings([1, INNER], "#888"),
                lines.encode(**_plane(1.25), x2="x2:Q", y2="y2:Q"),
                points.encode(**_plane(1.25)),
                labels,
            ).properties(width=SIZE, height=SIZE, title=_title(f"{title}, {order[-1]['ms']:.0f} ms in all"))
        )
    return alt.hconcat(*panels)


DIAGRAMS: dict[str, Callable[[Sequence[System]], alt.TopLevelMixin]] = {
    "locality": locality,
    "zones": zones,
    "parts": parts,
    "rotation": rotation,
}
