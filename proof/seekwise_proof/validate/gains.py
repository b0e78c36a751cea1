"""Gains that others measured, over a base of their own, against the simulator.

FILE begins `id,group,kernel,scheduler,…`: a row a published number. `ask` names a study in the folder `ask/` beside the
file (of `given5.csv` in `ask5/`, where there is one) and `select` (JSON) the rows of its export; `base` is the row whose
value its gain is taken over. A row without `ask` cannot be asked and is left out of the totals.

A gain passes within 10 % of the published one; required are 75 % of the gains within 10 % and 92 % within 25 %. Rows
without a base are levels of drives that are seldom the very ones of the model: how many are within 25 % is said beside
it. Orderings lie in `orderings.csv` in the same folder: `holds` says in which range rows or their ratios lie (`ROW /
ROW in LOW..HIGH; …`); every one is required. Ends with status 5 when something required is missed.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from seekwise import library
from seekwise.errors import SeekwiseError
from seekwise.files import read_text
from seekwise.simulate import gain_error
from seekwise.store.record import Phase, Record
from seekwise_proof.validate._basis import Basis, Count, marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, files_below, unreadable
from seekwise_proof.validate.frame import text as frame_text

SUMMARY = "gains that others measured against the simulator"
BEGINS = "id,group,kernel,scheduler,"
ORDERINGS = "orderings.csv"
NEAR, FAR = 0.10, 0.25
SHARE_NEAR, SHARE_FAR = 0.75, 0.92
SEED = 1
BAR = "75 % of the gains within 10 %, 92 % within 25 %, every ordering"

RATES = {"KiB/s": 2**10, "MiB/s": 2**20, "KB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9}
CONDITION = re.compile(r"(?P<row>\S+)(?: / (?P<over>\S+))? in (?P<low>[\d.]+?)\.\.(?P<high>[\d.]+)")
TIMES = {"us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class PublishedNumber:
    """A row of the table."""

    id: str
    group: str
    metric: str
    unit: str
    value: float
    base: str
    ask: str
    select: Mapping[str, Any]


@dataclass(kw_only=True)
class GainTable(FileReport):
    """A table of published numbers; its points are the gains within 10 %."""

    farther: Count
    """Gains within 25 %."""
    levels: Count
    """Rows without a base within 25 %."""
    orderings: Count
    """Orderings that hold; those that cannot be asked do not count."""
    not_asked: int
    """Rows that no study asks for."""
    groups: dict[str, Count]
    """{group: its gains}"""


@dataclass(kw_only=True)
class Gains(ValidationReport):
    """`verify gains --json`."""

    SCHEMA: ClassVar = "seekwise.validate.gains/1"

    files: Sequence[GainTable | FileReport]


def verify(paths: Sequence[Path], options: dict[str, Any]) -> Gains:
    """Tables as files, or folders that are searched for CSV files."""
    files = [_table(path) for path in files_below(paths, [".csv"]) if path.name != ORDERINGS]
    return Gains(files=files, required=BAR, met=bool(files) and all(map(_meets, files)))


def _meets(file: FileReport) -> bool:
    return (
        isinstance(file, GainTable)
        and file.passed >= SHARE_NEAR * file.total > 0
        and file.farther.passed >= SHARE_FAR * file.total
        and file.orderings.passed == file.orderings.total
    )


class AskedStudies:
    """The studies of a folder, each simulated once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, Sequence[Record] | str] = {}

    def of(self, name: str) -> Sequence[Record]:
        """Records of a study. Raises ValueError with the reason why there are none."""
        if name not in self.records:
            try:
                self.records[name] = library.run(self.folder / f"{name}.toml", seed=SEED).records
            except SeekwiseError as error:
                self.records[name] = error.message
        records = self.records[name]
        if isinstance(records, str):
            raise ValueError(f"study {name}: {records}")
        return records

    def answer(self, number: PublishedNumber) -> float:
        """The mean of the rows that a published number selects, in its unit. Raises ValueError."""
        phases = [
            phase
            for record in self.of(number.ask)
            for phase in record.phases
            if all(_value_of(record, phase, name) == str(value) for name, value in number.select.items())
        ]
        if not phases:
            raise ValueError(f"study {number.ask} has no row with {json.dumps(dict(number.select))}")
        return math.fsum(_metric(phase, number) for phase in phases) / len(phases)


def _value_of(record: Record, phase: Phase, name: str) -> str:
    return phase.operation if name == "operation" else str(record.factors.get(name))


def _metric(phase: Phase, number: PublishedNumber) -> float:
    match number.metric:
        case "iops":
            return phase.iops
        case "mean" | "p50" | "p99" if number.unit in TIMES:
            nanoseconds = phase.latency_mean_ns if number.metric == "mean" else phase.percentiles_ns[number.metric[1:]]
            return nanoseconds / TIMES[number.unit]
        case "rate" | "rate of all" if number.unit in RATES:
            return phase.rate_bytes_per_s / RATES[number.unit]
    raise ValueError(f"{number.metric} in {number.unit} is not known")


@dataclass
class AnsweredTable:
    """Published numbers and what the simulator says of each that can be asked."""

    numbers: Mapping[str, PublishedNumber]
    studies: AskedStudies

    @cached_property
    def answers(self) -> Mapping[str, float | str]:
        """{row: value, or why there is none}"""
        answers: dict[str, float | str] = {}
        for number in self.numbers.values():
            if number.ask:
                try:
                    answers[number.id] = self.studies.answer(number)
                except (ValueError, KeyError) as error:
                    answers[number.id] = str(error)
        return answers

    def answer(self, row: object) -> float:
        """Raises ValueError where a row has no answer."""
        number = self.answers.get(str(row), f"no row {row!r} that can be asked")
        if isinstance(number, str):
            raise ValueError(number)
        return number

    def error(self, number: PublishedNumber) -> tuple[float, str]:
        """Relative error of a gain, or of a level where there is no base, and how it reads. Raises ValueError."""
        published, simulated = number.value, self.answer(number.id)
        if number.base:
            published /= self.numbers[number.base].value
            simulated /= self.answer(number.base)
        return abs(simulated / published - 1), f"{published:.3g}, simulated {simulated:.3g}"

    def broken(self, conditions: str) -> str | None:
        """The first of `ROW / ROW in LOW..HIGH; …` that the answers do not meet. Raises ValueError for one that cannot
        be read or asked."""
        for condition in conditions.split(";"):
            if (match := CONDITION.fullmatch(condition.strip())) is None:
                raise ValueError(f"`{condition.strip()}` is no condition: ROW / ROW in LOW..HIGH")
            value = self.answer(match["row"]) / (self.answer(match["over"]) if match["over"] else 1)
            if not float(match["low"]) <= value <= float(match["high"]):
                return f"{condition.strip()}: simulated {value:.3g}"
        return None


def parse(text: str) -> dict[str, PublishedNumber]:
    """{id: row}. Raises ValueError with the line that is none."""
    if not text.startswith(BEGINS):
        raise ValueError(f"line 1 is no header that begins `{BEGINS}…`")
    numbers = {}
    for row in (reader := csv.DictReader(io.StringIO(text))):
        try:
            select = json.loads(row["select"] or "{}")
            words = {name: row[name] for name in ("id", "group", "metric", "unit", "base", "ask")}
            number = PublishedNumber(**words, value=float(row["value"]), select=select)
            if not (isinstance(select, dict) and math.isfinite(number.value)) or number.id in numbers:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"line {reader.line_num} is no row") from None
        numbers[number.id] = number
    for number in numbers.values():
        if number.base and (number.base not in numbers or numbers[number.base].value == 0):
            raise ValueError(f"row {number.id} has a base that is no row, or 0: {number.base}")
    return numbers


def _table(path: Path) -> FileReport:
    try:
        table = AnsweredTable(parse(read_text(path)), AskedStudies(_studies_beside(path)))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return unreadable(path, str(error))
    outcomes: list[tuple[str, bool]] = []
    misses: list[str] = []
    groups: dict[str, Count] = {}
    farther = levels = Count()
    for number in table.numbers.values():
        # A gain over a row that cannot be asked is none.
        if not number.ask or (number.base and not table.numbers[number.base].ask):
            continue
        try:
            off, reads = table.error(number)
        except ValueError as reason:
            off, reads = math.inf, str(reason)
        if not number.base:
            levels += Count(int(off <= FAR), 1)
            continue
        outcomes.append((number.id, off <= NEAR))
        groups[number.group] = groups.get(number.group, Count()) + Count(int(off <= NEAR), 1)
        farther += Count(int(off <= FAR), 1)
        if off > NEAR:
            misses.append(f"{number.id}: gain {reads}")
    orderings, broken = _orderings(path.with_name(ORDERINGS), table)
    return GainTable(
        file=str(path),
        passed=sum(passed for _, passed in outcomes),
        total=len(outcomes),
        misses=[*misses, *broken],
        shares=marking(path).shares(outcomes),
        farther=farther,
        levels=levels,
        orderings=orderings,
        not_asked=sum(not number.ask for number in table.numbers.values()),
        groups=groups,
    )


def _studies_beside(path: Path) -> Path:
    own = path.with_name("ask" + path.stem.lstrip(string.ascii_letters))
    return own if own.is_dir() else path.with_name("ask")


def _orderings(path: Path, table: AnsweredTable) -> tuple[Count, list[str]]:
    if not path.exists():
        return Count(), []
    found, broken = Count(), []
    try:
        rows = list(csv.DictReader(io.StringIO(read_text(path))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        return Count(0, 1), [f"{path.name}: {error}"]
    for row in rows:
        if not row.get("holds"):
            continue
        try:
            reason = table.broken(row["holds"])
        except ValueError as error:
            reason = str(error)
        found += Count(int(reason is None), 1)
        if reason is not None:
            broken.append(f"{row.get('id')}: {row.get('statement')}: {reason}")
    return found, broken


def text(report: Gains) -> str:
    """N of M per file with its misses, then what else is counted."""
    lines = [frame_text(report)]
    for file in report.files:
        if isinstance(file, GainTable):
            lines += [*_counted(file)]
    lines += _apart(report)
    return "\n".join(lines)


def _counted(file: GainTable) -> Iterable[str]:
    yield f"within 25 %: {file.farther.passed} of {file.farther.total} gains, {file.levels.passed} of {file.levels.total} levels"
    yield f"orderings: {file.orderings.passed} of {file.orderings.total}; rows that no study asks for: {file.not_asked}"
    yield "by group: " + ", ".join(f"{name} {group.passed} of {group.total}" for name, group in file.groups.items())


def _apart(report: Gains) -> Iterable[str]:
    """Given rows, foretold ones, and rows of groups that an interval which advice states was made without."""
    shares = report.shares
    given = shares[Basis.FITTED] + shares[Basis.CHOSEN]
    kinds = json.loads(read_text(gain_error.PATH))["kinds"]
    covered = [
        f"{kind} {100 * found['covered_left_out']:.0f} % within {1 + found['interval']:.2g}×"
        for kind, found in kinds.items()
        if "interval" in found
    ]
    yield f"within 10 %: given {given.passed} of {given.total} gains, foretold {shares[Basis.FORETOLD].passed} of {shares[Basis.FORETOLD].total}"
    yield f"groups left out, within what advice states: {', '.join(covered)}"
