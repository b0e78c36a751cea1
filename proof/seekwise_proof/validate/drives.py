"""Drive models against published figures.

FILE has the format of `tests/reference/devices.toml` (the default): sections `[hdd.MODEL]`, `[ssd.MODEL]`,
`[flash.MODEL]`, in each the figures of a drive with unit, source and confidence. Every rate, IOPS and access time
marked `datasheet` or `review` is a row, each entry of a table too. The model is measured in a closed loop of simulated
time and the row passes within its stated range, or within 10 % where none is stated; a minimum passes when it is
reached. A figure that no rule can measure and a drive without a model are misses.

Rows that were model input - the model has this very number - are counted apart and are not in `passed` or `total`. Of
the others those are fitted for which a parameter was solved from the figure (`fits` in the model's file); `basis.toml`
in the folder of the data marks the rest.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from seekwise import bounds, core
from seekwise.files import read_text
from seekwise_proof import _proof
from seekwise_proof.validate._basis import Basis, Count, added, marking
from seekwise_proof.validate._drive_recipes import CHAIN, Drive, Recipe, is_write, packets, random_load, recipe_of
from seekwise_proof.validate.frame import FileReport, ValidationReport, all_passed, files_below, unreadable, worth

SUMMARY = "drive models against data sheets and reviews"
REQUIRES_FILES = False

GROUPS = ("hdd", "ssd", "flash")
PUBLISHED = {"datasheet", "review"}
TOLERANCE = 0.10
DEFAULT = (Path(__file__).parent / "data" / "devices.toml").resolve()
BAR = "every figure"


@dataclass(frozen=True)
class PublishedFigure:
    """One published figure and what the model makes of it."""

    HIDDEN: ClassVar = ("file",)
    SHOWN: ClassVar = ("passed",)

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
    def passed(self) -> bool | None:
        """Within low to high; where a bound is not published, within 10 % of the figure. Null for a figure that the
        model was given as input."""
        if self.basis == "input":
            return None
        if self.modelled is None:
            return False
        low = self.published * (1 - TOLERANCE) if self.low is None else self.low
        high = self.published * (1 + TOLERANCE) if self.high is None else self.high
        return low <= self.modelled <= high


@dataclass(kw_only=True)
class DriveFile(FileReport):
    """A file of published figures."""

    inputs: int
    """Figures that the model has as input; not counted in `passed` and `total`."""
    rows: list[PublishedFigure]


@dataclass(kw_only=True)
class Drives(ValidationReport):
    """`verify drives --json`."""

    SCHEMA: ClassVar = "seekwise.validate.drives/1"

    files: Sequence[DriveFile | FileReport]
    inputs: int
    """Figures that the model has as input; not counted in `passed` and `total`."""


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


def verify(paths: Sequence[Path], options: Mapping[str, object]) -> Drives:
    """Drive models against published figures: of these files, or of the project's own reference."""
    files = files_below(paths, (".toml",)) if paths else [DEFAULT]
    if not paths and not DEFAULT.exists():
        missing = unreadable(DEFAULT, "the project's own reference is not here; name a file")
        return Drives(files=[missing], required=BAR, met=False, inputs=0)
    reports: list[DriveFile | FileReport] = []
    for path in files:
        try:
            rows = rows_of(path)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            reports.append(unreadable(path, f"cannot be read: {error}"))
            continue
        if not rows:
            reports.append(unreadable(path, "has no published figure of a drive"))
            continue
        counted = [row for row in rows if row.basis != "input"]
        misses = [_sentence(row) for row in counted if not row.passed]
        shares = added({Basis(row.basis): Count(int(bool(row.passed)), 1)} for row in counted)
        made = DriveFile(
            file=str(path),
            passed=len(counted) - len(misses),
            total=len(counted),
            misses=misses,
            shares=shares,
            inputs=len(rows) - len(counted),
            rows=rows,
        )
        reports.append(made)
    inputs = sum(report.inputs for report in reports if isinstance(report, DriveFile))
    return Drives(files=reports, required=BAR, met=all_passed(reports), inputs=inputs)


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
        if table := re.fullmatch(r"table_(?P<pattern>rand|seq)_(?P<op>read|write)", key):
            label, unit = f"{key} {at:g} KiB", "MiB/s"
            plan = partial(packets, random=table["pattern"] == "rand", write=is_write(table["op"]), kib=at)
        elif ladder := re.fullmatch(r"iops_random_(?P<op>read|write)_4k_by_qd", key):
            label, unit = f"{key} {at:g}", "IOPS"
            plan = partial(random_load, write=is_write(ladder["op"]), depth=int(at))
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
    recipe = plan(drive) if plan else recipe_of(drive, figure, value)
    if recipe is None:
        return row(basis, "nothing measures this figure")
    return row(basis, None, recipe)


def _model(name: str, figure: str) -> tuple[str, str, Mapping[str, Any] | None]:
    """The model of a figure: an edition of it if the key names one that exists."""
    try:
        document = json.loads(core.drive_model(name))
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
    return name, figure, json.loads(core.drive_model(name))


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


def _measured(pending: Sequence[tuple[PublishedFigure, Recipe | None]]) -> list[PublishedFigure]:
    requests = [request for _, recipe in pending if recipe for request in recipe.requests]
    others = [request for request in requests if request["measure"] != CHAIN]
    measured = iter(json.loads(core.measure_drives(json.dumps(others))) if others else ())
    answers = (
        json.loads(_proof.measure_chain(json.dumps(request))) if request["measure"] == CHAIN else next(measured)
        for request in requests
    )
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


def text(report: Drives) -> str:
    """The table: every row, then what was counted."""
    lines = []
    for file in report.files:
        lines.append(file.file)
        header = ("", "drive", "figure", "published", "allowed", "modelled", "unit", "basis")
        table = [header]
        for row in file.rows if isinstance(file, DriveFile) else ():
            mark = {True: "ok", False: "MISS", None: ""}[row.passed]
            allowed = "" if row.basis == "input" else _range(row.low, row.high)
            unit = row.unit.split(" ")[0].strip("[")
            table.append(
                (mark, row.drive, row.figure, _number(row.published), allowed, _number(row.modelled), unit, row.basis)
            )
        widths = [max(len(line[column]) for line in table) for column in range(len(header))]
        right = {3, 5}
        for line in table:
            cells = (
                c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            lines.append("  ".join(cells).rstrip())
        if file.broken:
            lines.extend(str(miss) for miss in file.misses)
        lines.append("")
    lines.append(f"drives: {report.passed} of {report.total}; {report.inputs} more are model input")
    return "\n".join([*lines, *worth(report)])
