"""Drive models against published figures.

FILE has the format of `tests/reference/devices.toml` (the default): sections `[hdd.MODEL]`, `[ssd.MODEL]`, `[flash.MODEL]`, in each the figures
of a drive with unit, source and confidence. Every rate, IOPS and access time marked `datasheet` or `review` is a row, each entry of a table too.
The model is measured in a closed loop of simulated time and the row passes within its stated range, or within 10 % where none is stated; a
minimum passes when it is reached. A figure that no rule can measure and a drive without a model are misses.

Rows that were model input - the model has this very number - are counted apart and are not in `passed` or `total`. Of the others
those are fitted for which a parameter was solved from the figure (`fits` in the model's file); `basis.toml` in the folder of the data marks the rest.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from seekwise import _core, bounds
from seekwise.files import read_text
from seekwise.lab.validate._basis import Basis, Count, added, marking
from seekwise.lab.validate.frame import FileReport, ValidationReport, files_below, unreadable, worth

SUMMARY = "drive models against data sheets and reviews"
REQUIRES_FILES = False

GROUPS = ("hdd", "ssd", "flash")
PUBLISHED = {"datasheet", "review"}
TOLERANCE = 0.10
DEFAULT = (Path(__file__).parent / "data" / "devices.toml").resolve()

KIB, MIB = 1024, 1 << 20
# Host time between a completion and the next command: a synchronous reader on SATA needs 5 us, an interrupt-driven one on
# NVMe 1.8 us, a polled one 0.39 us on one core (devices.toml, host.modern_x86_linux_5_15_plus); disks have slow hosts.
TURNAROUND_NS = {"hdd": 20_000, "sata": 5_000, "mmc": 5_000, "nvme": 1_800, "none": 0}
POLLED_NS = 390
NVME_WORKERS = 4  # Data sheets of NVMe drives quote "QD32" for four workers.
MAXIMUM_DEPTH = 512


@dataclass(frozen=True)
class PublishedFigure:
    """One published figure and what the model makes of it."""

    file: str
    drive: str
    figure: str
    unit: str
    published: float
    low: float | None
    high: float | None
    basis: str
    """`input`, `fitted`, `chosen` or `foretold`."""
    confidence: str
    model: str | None
    modelled: float | None
    problem: str | None = None

    @property
    def passed(self) -> bool:
        """Within low to high; where a bound is not published, within 10 % of the figure. False where nothing was modelled."""
        if self.modelled is None:
            return False
        low = self.published * (1 - TOLERANCE) if self.low is None else self.low
        high = self.published * (1 + TOLERANCE) if self.high is None else self.high
        return low <= self.modelled <= high

    def document(self) -> dict[str, Any]:
        """With the keys of `verify drives --json`; `passed` is null for a figure that the model was given as input."""
        return {
            "drive": self.drive,
            "figure": self.figure,
            "unit": self.unit,
            "published": self.published,
            "low": self.low,
            "high": None if self.high == float("inf") else self.high,
            "confidence": self.confidence,
            "basis": self.basis,
            "model": self.model,
            "modelled": self.modelled,
            "passed": self.passed if self.basis != "input" else None,
            "problem": self.problem,
        }


# --- what a figure means ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """How a figure is measured: requests to the core, and how their answers become one number."""

    requests: Sequence[dict[str, Any]]
    value: Callable[[Sequence[Mapping[str, float]]], float]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Drive:
    """A model and what a measurement needs to know of it."""

    name: str
    document: Mapping[str, Any]
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_disk(self) -> bool:
        """Hard disk, as against flash."""
        return bool(self.document["kind"] == "hdd")

    @property
    def attachment(self) -> str:
        """`sata`, `nvme`, `mmc` or `none`."""
        return str(self.document["attachment"])

    @property
    def turnaround_ns(self) -> int:
        """Host time from a completion to the next command; sources at TURNAROUND_NS."""
        return TURNAROUND_NS["hdd" if self.is_disk else self.attachment]

    def number(self, key: str) -> float:
        """The model's value, else the parameter's default, else 0; in the unit of the parameter."""
        if key in self.document["parameters"]:
            return float(self.document["parameters"][key]["value"])
        default = next((known["default"] for known in self.document["known_parameters"] if known["key"] == key), None)
        return float(default or 0)

    def depth(self, queue: int) -> int:
        """Commands outstanding for a quoted queue depth."""
        return queue * NVME_WORKERS if self.attachment == "nvme" and queue > 1 else queue

    def loop(self, **load: Any) -> dict[str, Any]:
        """A request to the compiled simulator: 4 KiB random reads at depth 1, unless `load` says otherwise."""
        request = {
            "model": self.name,
            "measure": "loop",
            "sequential": False,
            "write": False,
            "block_bytes": 4 * KIB,
            "depth": 1,
            "turnaround_ns": self.turnaround_ns,
            "warm_up": 200 if self.is_disk else 20_000,
            "commands": 20_000 if self.is_disk else 100_000,
            "parameters": dict(self.parameters),
        }
        return {**request, **load}

    def stream(self, write: bool, **load: Any) -> dict[str, Any]:
        """As `loop`, but sequential: 128 KiB at depth 32."""
        return self.loop(
            sequential=True,
            write=write,
            **{"block_bytes": 128 * KIB, "depth": 32, "warm_up": 1000, "commands": 8000, **load},
        )


def _first(key: str) -> Callable[[Sequence[Mapping[str, float]]], float]:
    return lambda answers: float(answers[0][key])


def _mean(key: str) -> Callable[[Sequence[Mapping[str, float]]], float]:
    return lambda answers: sum(answer[key] for answer in answers) / len(answers)


def _is_write(word: str) -> bool:
    return word == "write"


def _stream_rate(drive: Drive, write: bool) -> Recipe:
    if drive.is_disk:
        return _edge(drive, 0.0)
    # A queue of large commands, in the fast cache where the drive has one.
    return Recipe([drive.stream(write)], _first("mb_per_s"))


def _rate_after_cache(drive: Drive) -> Recipe:
    cache_bytes = drive.number("slc_cache_gb") * 1e9
    warm_up = int(cache_bytes * 1.05 / MIB) + 1000
    return Recipe([drive.stream(True, block_bytes=MIB, warm_up=warm_up, commands=8000)], _first("mb_per_s"))


def _edge(drive: Drive, place: float) -> Recipe:
    # 256 MiB at one place of the disk: enough to cross hundreds of tracks.
    share = 256 * MIB / (drive.number("capacity_sectors") * 512)
    start = place * (1 - share)
    request = drive.stream(False, depth=1, warm_up=20, commands=1900)
    return Recipe([{**request, "from": start, "to": start + share}], _first("mb_per_s"))


def _whole_disk(drive: Drive) -> Recipe:
    """Mean of the rates at forty places, as drive benchmarks draw their curve."""
    requests = []
    for part in range(40):
        start = part / 40
        requests.append({**drive.stream(False, depth=1, warm_up=20, commands=200), "from": start, "to": start + 0.01})
    return Recipe(requests, _mean("mb_per_s"))


def _random(drive: Drive, write: bool, depth: int, key: str = "iops", **load: Any) -> Recipe:
    if drive.is_disk and write:
        # Published for disks with the cache on: in the long run its destaging decides.
        load = {"warm_up": 2000, **load}
    return Recipe([drive.loop(write=write, depth=depth, **load)], _first(key))


def _steady_writes(drive: Drive) -> Recipe:
    aged = {**drive.parameters, "aged": 1.0}
    request = drive.loop(write=True, depth=128, warm_up=200_000, commands=400_000, parameters=aged)
    return Recipe([request], _first("iops"))


def _arm_overhead_us(drive: Drive) -> float:
    """What a read costs besides seek and rotation."""
    tail = 4096 / drive.number("interface_mb_s") + drive.number("link_per_command_us")
    return (drive.number("command_overhead_ms") + drive.number("arm_setup_ms")) * 1000 + tail


def _full_stroke_ms(drive: Drive) -> Recipe:
    request = {"model": drive.name, "parameters": dict(drive.parameters), "measure": "full_stroke"}
    return Recipe([request], lambda answers: (answers[0]["latency_us"] - _arm_overhead_us(drive)) / 1000)


def _mean_seek_ms(drive: Drive, write: bool) -> Recipe:
    parameters = {**drive.parameters, "write_cache": 0.0}
    half_turn_us = 30e6 / drive.number("rpm")
    return Recipe(
        [drive.loop(write=write, parameters=parameters)],
        lambda answers: (answers[0]["latency_us"] - half_turn_us - _arm_overhead_us(drive)) / 1000,
    )


def _chain_us(drive: Drive, steps: list[str], block_bytes: int, key: str = "latency_us") -> Recipe:
    request = {
        "model": drive.name,
        "parameters": dict(drive.parameters),
        "measure": "chain",
        "steps": steps,
        "block_bytes": block_bytes,
        "turnaround_ns": drive.turnaround_ns,
    }
    return Recipe([request], _first(key))


def _packets(drive: Drive, random: bool, write: bool, kib: float, command_kib: float = 1280) -> Recipe:
    """A synchronous program moving packets; what is larger than a command is split, and its parts are out together."""
    parts = max(1, -(-int(kib) // int(command_kib)))
    load = {
        "sequential": not random,
        "write": write,
        "block_bytes": int(min(kib, command_kib)) * KIB,
        "depth": parts,
        "warm_up": 500,
        "commands": 8000,
    }
    # fio of that time printed MB/s for MiB/s; see devices.md, section 4.
    return Recipe([drive.loop(**load)], lambda answers: answers[0]["mb_per_s"] * 1e6 / MIB)


def _maximum_depth(drive: Drive) -> int:
    return int(min(MAXIMUM_DEPTH, drive.number("queue_depth") or drive.number("ncq_depth")))


def _minimum(recipe: Recipe, published: float) -> Recipe:
    return Recipe(recipe.requests, recipe.value, low=published, high=float("inf"))


# A figure's key, without the edition it belongs to, and its measurement. The first that matches counts.
Rule = tuple[str, Callable[[Drive, re.Match[str], float], Recipe]]
RULES: Sequence[Rule] = (
    # disks
    (r"(datasheet_)?sustained_outer_mb_s", lambda d, m, v: _edge(d, 0.0)),
    (r"(datasheet_)?sustained_inner_mb_s", lambda d, m, v: _edge(d, 1.0)),
    (r"\w*avg\w*_mb_s", lambda d, m, v: _whole_disk(d)),
    (r"(quiet_mode_|quiet_)?(seek_)?full_stroke_ms", lambda d, m, v: _full_stroke_ms(d)),
    (r"(quiet_)?seek_avg(_(?P<op>read|write))?_ms", lambda d, m, v: _mean_seek_ms(d, _is_write(m["op"] or "read"))),
    (r"access_time(_random)?(_(?P<op>read|write))?_ms", lambda d, m, v: _milliseconds(_random_latency(d, m["op"]))),
    (r"(vendor_)?iops_qd(?P<qd>\d+)_(?P<op>read|write)", lambda d, m, v: _queued(d, m)),
    (r"iops_random_(?P<op>read|write)_4k_qd(?P<qd>\d+)", lambda d, m, v: _queued(d, m)),
    # solid state
    (r"seq_(?P<op>read|write)(_min)?_mb_s", lambda d, m, v: _or_minimum(m, v, _stream_rate(d, _is_write(m["op"])))),
    (r"seq_write_after_slc_mb_s", lambda d, m, v: _rate_after_cache(d)),
    (
        r"iops_(?P<op>read|write)_4k_qd(?P<qd>\d+)",
        lambda d, m, v: _random(d, _is_write(m["op"]), d.depth(int(m["qd"]))),
    ),
    (r"iops_(?P<op>read|write)_4k_min", lambda d, m, v: _minimum(_random(d, _is_write(m["op"]), _maximum_depth(d)), v)),
    (r"iops_(?P<op>read|write)_4k(_max)?", lambda d, m, v: _random(d, _is_write(m["op"]), _maximum_depth(d))),
    (r"iops_write_4k_steady", lambda d, m, v: _steady_writes(d)),
    (r"iops_(?P<bytes>512b|4k)_qd(?P<qd>\d+)_polled(_one_core)?", lambda d, m, v: _polled(d, m)),
    (
        r"lat_(?P<op>read|write)_4k(_qd1)?_us",
        lambda d, m, v: _with_host(d, _random(d, _is_write(m["op"]), 1, "latency_us")),
    ),
    (r"lat_seq_(?P<op>read|write)_4k_us", lambda d, m, v: _with_host(d, _small_stream(d, _is_write(m["op"])))),
    (r"o_dsync_8k_us", lambda d, m, v: _chain_us(d, ["forced_write"], 8 * KIB)),
    # XFS writes the data, flushes, and forces its log.
    (r"fsync_8k_us", lambda d, m, v: _chain_us(d, ["write", "flush", "forced_write"], 8 * KIB)),
    (r"flush(_cache)?_us", lambda d, m, v: _chain_us(d, ["write", "flush"], 8 * KIB)),
    # points of comparison
    (r"qd1_us", lambda d, m, v: _with_host(d, _random(d, False, 1, "latency_us"))),
    (r"qd(?P<qd>\d+)_us", lambda d, m, v: _with_host(d, _random(d, False, int(m["qd"]), "latency_us"))),
    (r"qd(?P<qd>\d+)_iops", lambda d, m, v: _random(d, False, int(m["qd"]))),
    (r"fsync_us", lambda d, m, v: _chain_us(d, ["write", "flush"], 4 * KIB)),
    (r"write_fsync_iops", lambda d, m, v: _chain_us(d, ["write", "flush"], 4 * KIB, "iops")),
)


def _queued(drive: Drive, match: re.Match[str]) -> Recipe:
    return _random(drive, _is_write(match["op"]), int(match["qd"]))


def _or_minimum(match: re.Match[str], published: float, recipe: Recipe) -> Recipe:
    return _minimum(recipe, published) if "_min_" in match.string else recipe


def _random_latency(drive: Drive, op: str | None) -> Recipe:
    return _random(drive, _is_write(op or "read"), 1, "latency_us")


def _milliseconds(recipe: Recipe) -> Recipe:
    return Recipe(recipe.requests, lambda answers: recipe.value(answers) / 1000)


def _with_host(drive: Drive, recipe: Recipe) -> Recipe:
    """Latencies are published as a program sees them."""
    return Recipe(recipe.requests, lambda answers: recipe.value(answers) + drive.turnaround_ns / 1000)


def _small_stream(drive: Drive, write: bool) -> Recipe:
    return Recipe([drive.loop(sequential=True, write=write, block_bytes=4 * KIB)], _first("latency_us"))


def _polled(drive: Drive, match: re.Match[str]) -> Recipe:
    """One core that polls: its time per command is in the way of everything else it does."""
    block_bytes = 512 if match["bytes"] == "512b" else 4 * KIB
    return _random(drive, False, int(match["qd"]), block_bytes=block_bytes, turnaround_ns=0, core_ns=POLLED_NS)


# Sections that hold points of several drives, and figures of a predecessor: the drive is in the key.
ELSEWHERE = (
    (r"(?:predecessor_)?p4800x_(?P<rest>.+)", "intel_p4800x"),
    (r"p3700_(?P<rest>.+)", "intel_p3700"),
    (r"micron9100_(?P<rest>.+)", "micron_9100"),
    (r"samsung_960_pro_(?P<rest>.+)", "samsung_960_pro"),
    (r"samsung_980_(?P<rest>.+)", "samsung_980"),
)

# Numbers that describe a part, not what the drive delivers.
PARTS = re.compile(
    r"t_(read|prog|erase)\w*|nand_\w+|track_\w+|rev_time_ms|avg_rot_latency_ms|seek_(track_to_track|at_|[abce]_)\w*"
    r"|write_settle_\w+|\w*overhead\w*|bus_\w+|link_\w+|interface_\w+|qd1_\w+_(a|b)_\w+|\w*_gbps"
)
# Of these, what a disk or a link is said to reach in time or rate: model input, counted apart.
PART_RATES = re.compile(
    r"rev_time_ms|avg_rot_latency_ms|write_settle_extra_ms|(link|interface|bus)_mb_s|interface_gbps"
)
RATE_UNITS = re.compile(r"^(MB/s|MiB/s|IOPS|ms|us|\[\[KiB, MB/s|\[\[QD, IOPS)")
EDITIONS = re.compile(r"^(?P<key>.+?)_(?P<edition>250|500|1tb|2tb|4tb|r|v|measured|windows)$")


# --- rows of a file --------------------------------------------------------------------------------------------------


def verify(paths: Sequence[Path], options: Mapping[str, object]) -> ValidationReport:
    """Drive models against published figures: of these files, or of the project's own reference."""
    files = files_below(paths, (".toml",)) if paths else [DEFAULT]
    if not paths and not DEFAULT.exists():
        return ValidationReport("drives", [unreadable(DEFAULT, "the project's own reference is not here; name a file")])
    rows: list[PublishedFigure] = []
    reports = []
    for path in files:
        try:
            found = rows_of(path)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            reports.append(unreadable(path, f"cannot be read: {error}"))
            continue
        if not found:
            reports.append(unreadable(path, "has no published figure of a drive"))
            continue
        rows.extend(found)
        counted = [row for row in found if row.basis != "input"]
        misses = [_sentence(row) for row in counted if not row.passed]
        inputs = [row for row in found if row.basis == "input"]
        extra = {"inputs": len(inputs), "rows": [row.document() for row in found]}
        shares = added({Basis(row.basis): Count(int(row.passed), 1)} for row in counted)
        reports.append(FileReport(str(path), len(counted) - len(misses), len(counted), misses, extra, shares))
    extra = {"inputs": sum(row.basis == "input" for row in rows)}
    return ValidationReport("drives", reports, extra, bar="every figure")


def rows_of(path: Path) -> list[PublishedFigure]:
    """Every published figure of a file, measured."""
    document = bounds.toml(read_text(path))
    pending: list[tuple[PublishedFigure, Recipe | None]] = []
    for group in GROUPS:
        section = document.get(group, {})
        for name, figures in section.items() if isinstance(section, dict) else ():
            if isinstance(figures, dict):
                pending.extend(_rows_of_drive(str(path), name, figures))
    return _measured(pending)


def _rows_of_drive(file: str, name: str, figures: Mapping[str, Any]) -> list[tuple[PublishedFigure, Recipe | None]]:
    rows = []
    for key, entry in figures.items():
        if not isinstance(entry, dict) or entry.get("confidence") not in PUBLISHED:
            continue
        unit = str(entry.get("unit", ""))
        value = entry.get("value")
        if not RATE_UNITS.match(unit) and not PART_RATES.fullmatch(key):
            continue
        if PARTS.fullmatch(key) and not PART_RATES.fullmatch(key):
            continue
        if isinstance(value, list):
            rows.extend(_rows_of_table(file, name, key, entry))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            rows.append(_row(file, name, key, key, unit, float(value), entry))
    return rows


def _rows_of_table(
    file: str, name: str, key: str, entry: Mapping[str, Any]
) -> list[tuple[PublishedFigure, Recipe | None]]:
    rows = []
    plan: Callable[[Drive], Recipe] | None
    for pair in entry["value"]:
        if not (isinstance(pair, list) and len(pair) == 2):
            continue
        at, value = float(pair[0]), float(pair[1])
        if packets := re.fullmatch(r"table_(?P<pattern>rand|seq)_(?P<op>read|write)", key):
            label, unit = f"{key} {at:g} KiB", "MiB/s"
            plan = partial(_packets, random=packets["pattern"] == "rand", write=_is_write(packets["op"]), kib=at)
        elif ladder := re.fullmatch(r"iops_random_(?P<op>read|write)_4k_by_qd", key):
            label, unit = f"{key} {at:g}", "IOPS"
            plan = partial(_random, write=_is_write(ladder["op"]), depth=int(at))
        else:
            label, unit, plan = f"{key} {at:g}", str(entry.get("unit", "")), None
        rows.append(_row(file, name, key, label, unit, value, {**entry, "lo": None, "hi": None}, plan))
    return rows


def _row(
    file: str,
    name: str,
    key: str,
    label: str,
    unit: str,
    value: float,
    entry: Mapping[str, Any],
    plan: Callable[[Drive], Recipe] | None = None,
) -> tuple[PublishedFigure, Recipe | None]:
    figure = key
    wanted = name
    for pattern, other in ELSEWHERE:
        if match := re.fullmatch(pattern, key):
            wanted, figure = other, match["rest"]
    model_name, figure, document = _model(wanted, figure)
    low, high = entry.get("lo"), entry.get("hi")

    def row(
        basis: str, problem: str | None = None, recipe: Recipe | None = None
    ) -> tuple[PublishedFigure, Recipe | None]:
        limits = (recipe.low, recipe.high) if recipe and recipe.low is not None else (low, high)
        return (
            PublishedFigure(
                file, name, label, unit, value, limits[0], limits[1], basis, str(entry["confidence"]),
                model_name if document else None, None, problem,
            ),
            recipe,
        )  # fmt: skip

    if document is None:
        return row(_basis(file, name, key, {"parameters": {}}), f"there is no model of {wanted}")
    basis = _basis(file, name, key, document)
    if PART_RATES.fullmatch(key):
        basis = "input"
    if basis == "input":
        return row("input")
    drive = Drive(model_name, document)
    recipe = plan(drive) if plan else _recipe(drive, figure, value)
    if recipe is None:
        return row(basis, "nothing measures this figure")
    return row(basis, None, recipe)


def _model(name: str, figure: str) -> tuple[str, str, Mapping[str, Any] | None]:
    """The model of a figure: an edition of it if the key names one that exists."""
    try:
        document = json.loads(_core.drive_model(name))
    except ValueError:
        return name, figure, None
    edition = None
    if figure.startswith("quiet_") and "quiet" in document.get("variants", {}):
        edition = "quiet"
    elif match := EDITIONS.match(figure):
        figure = match["key"]
        edition = match["edition"] if match["edition"] in document.get("variants", {}) else None
    if edition is None:
        return name, figure, document
    name = f"{name}/{edition}"
    return name, figure, json.loads(_core.drive_model(name))


def _basis(file: str, drive: str, key: str, document: Mapping[str, Any]) -> str:
    parameters = document["parameters"]
    if key in parameters or any(parameter.get("reference") == key for parameter in parameters.values()):
        return "input"
    if any(key in parameter.get("fits", ()) for parameter in parameters.values()):
        return Basis.FITTED
    return marking(Path(file), DEFAULT, names(DEFAULT)).basis(f"{drive}.{key}")


@functools.cache
def names(path: Path) -> frozenset[str]:
    """The figures of a file, `DRIVE.FIGURE`."""
    document = tomllib.loads(read_text(path)) if path.exists() else {}
    return frozenset(
        f"{drive}.{key}" for group in GROUPS for drive, figures in document.get(group, {}).items() for key in figures
    )


def _recipe(drive: Drive, figure: str, published: float) -> Recipe | None:
    for pattern, recipe in RULES:
        if match := re.fullmatch(pattern, figure):
            return recipe(drive, match, published)
    return None


def _measured(pending: Sequence[tuple[PublishedFigure, Recipe | None]]) -> list[PublishedFigure]:
    requests = [request for _, recipe in pending if recipe for request in recipe.requests]
    answers = iter(json.loads(_core.measure_drives(json.dumps(requests))) if requests else ())
    rows = []
    for row, recipe in pending:
        if recipe is None:
            rows.append(row)
            continue
        got = [next(answers) for _ in recipe.requests]
        error = next((str(answer["error"]) for answer in got if "error" in answer), None)
        modelled = None if error else recipe.value(got)
        rows.append(PublishedFigure(**{**row.__dict__, "modelled": modelled, "problem": error}))
    return rows


# --- for people ------------------------------------------------------------------------------------------------------


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return "10 %"
    return f"at least {_number(low)}" if high == float("inf") else f"{_number(low)} to {_number(high)}"


def _sentence(row: PublishedFigure) -> str:
    if row.problem:
        return f"{row.drive} {row.figure}: {row.problem}"
    return (
        f"{row.drive} {row.figure}: {_number(row.modelled)} {row.unit} modelled, "
        f"{_number(row.published)} published ({_range(row.low, row.high)})"
    )


def text(report: ValidationReport) -> str:
    """The table: every row, then what was counted."""
    lines = []
    for file in report.files:
        lines.append(file.file)
        header = ("", "drive", "figure", "published", "allowed", "modelled", "unit", "basis")
        table = [header]
        for row in file.extra.get("rows", ()):
            mark = {True: "ok", False: "MISS", None: ""}[row["passed"]]
            high = float("inf") if row["low"] is not None and row["high"] is None else row["high"]
            allowed = "" if row["basis"] == "input" else _range(row["low"], high)
            unit = row["unit"].split(" ")[0].strip("[")
            table.append(
                (mark, row["drive"], row["figure"], _number(row["published"]), allowed, _number(row["modelled"]), unit, row["basis"])
            )  # fmt: skip
        widths = [max(len(line[column]) for line in table) for column in range(len(header))]
        right = {3, 5}
        for line in table:
            cells = (
                c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            lines.append("  ".join(cells).rstrip())
        if not file.extra:
            lines.extend(str(miss) for miss in file.misses)
        lines.append("")
    lines.append(f"drives: {report.passed} of {report.total}; {report.extra.get('inputs', 0)} more are model input")
    return "\n".join([*lines, *worth(report)])
