"""Verdicts against known truth: false winners, false ties, and power.

FILE is a table `table,block,cell,setting,metric,value` with its truth in `FILE.truth.csv` (or `NAME.truth.csv` for
`NAME.csv`): `table,cell,metric,setting_a,setting_b,ratio`, ratio = true a / b. It is analysed as the records of a study
are. A table of periods, `table,period,start_s,use,setting,metric,value` with the truth
`table,use,metric,setting_a,setting_b,ratio`, is analysed as the records of a live-switched run are. Without FILE the
built-in calibration runs on simulated studies.

Keys of --json: `tables` analysed, `null_tables` (every known ratio is 1), `null_tables_with_winner`, `winners`
(comparisons with known truth whose verdict is clear), `false_winners` (true ratio 1, or the wrong side), `ties`,
`false_ties` (the true difference reaches the metric's threshold), `effects` (true ratio not 1), `found` (effects whose
winner is rightly named). `passed` of `total`: comparisons with known truth that the verdict does not contradict;
without FILE, promises kept. Ends with status 5 when more than 8 % of the null tables show a winner, more than 5 % of
the winners or 7 % of the ties are false, or a file or row cannot be read.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from seekwise.judge import judge
from seekwise.judge.control import judge_control
from seekwise.judge.decision.pairs import Pair
from seekwise.judge.observation import Observation
from seekwise.judge.rule import threshold_log
from seekwise_proof.calibration.score import EQUAL, Score
from seekwise_proof.calibration.suite import Check, calibrate
from seekwise_proof.validate import frame, period_tables
from seekwise_proof.validate._basis import Basis, Count, marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, unreadable
from seekwise_proof.validate.period_tables import PeriodRow

SUMMARY = "false winners, false ties and power of the verdicts"
REQUIRES_FILES = False

COLUMNS = ("table", "block", "cell", "setting", "metric", "value")
TRUTH_COLUMNS = ("table", "cell", "metric", "setting_a", "setting_b", "ratio")
TRUTH_SUFFIX = ".truth.csv"

NULL_TABLES_WITH_WINNER_SHARE_MAX = 0.08
FALSE_WINNERS_SHARE_MAX = 0.05
FALSE_TIES_SHARE_MAX = 0.07
BAR = "a winner in at most 8 % of the null tables, at most 5 % of the winners and 7 % of the ties false"
CALIBRATED = Basis.CHOSEN
"""The rules' constants were picked on this suite (proof/docs/decision-rules.md), which has a fixed seed."""

Place = tuple[str, str, str]
"""table, combination, metric"""


class Unreadable(Exception):
    """A file that is not what it should be; says why."""


@dataclass(frozen=True)
class TruthRow:
    place: Place
    setting_a: str
    setting_b: str
    log_ratio: float


@dataclass
class ObservationTable:
    """A file of observations, as far as it can be read. `periods`: of a table of periods, else empty."""

    periods: list[PeriodRow] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    broken: dict[Place, str] = field(default_factory=dict)
    """Places with a row that cannot be read."""


@dataclass(kw_only=True)
class JudgedFile(FileReport, Score):
    """A table against its truth."""

    unread: int
    """Comparisons that cannot be made: a row is missing, or cannot be read."""


@dataclass(kw_only=True)
class Judgement(ValidationReport, Score):
    """`verify judgement --json`."""

    SCHEMA: ClassVar = "seekwise.validate.judgement/1"

    files: Sequence[JudgedFile | FileReport]
    checks: list[Check] = field(default_factory=list)
    """Promises of the built-in calibration, where it was run."""


def verify(paths: Sequence[Path], options: Mapping[str, object]) -> Judgement:
    """The frame's entry point."""
    if not paths:
        return built_in()
    files = [path for path in frame.files_below(paths, (".csv",)) if not path.name.endswith(TRUTH_SUFFIX)]
    missing = [
        unreadable(path, "no table in this folder")
        for path in paths
        if path.is_dir() and not any(path in f.parents for f in files)
    ]
    total = Score()
    reports: list[JudgedFile | FileReport] = list(missing)
    for path in files:
        report, counted = judge_file(path)
        reports.append(report)
        total += counted
    clean = bool(reports) and all(isinstance(judged, JudgedFile) and not judged.unread for judged in reports)
    return Judgement(files=reports, required=BAR, met=clean and _is_met(total), **vars(total))


def _is_met(total: Score) -> bool:
    return (
        total.null_tables_with_winner_share <= NULL_TABLES_WITH_WINNER_SHARE_MAX
        and total.false_winners_share <= FALSE_WINNERS_SHARE_MAX
        and total.false_ties_share <= FALSE_TIES_SHARE_MAX
    )


def built_in() -> Judgement:
    """The calibration suite as one "file"; a point is a promise."""
    total, checks = calibrate()
    missed = [check.text for check in checks if not check.met]
    kept = len(checks) - len(missed)
    report = FileReport(
        file="built-in calibration",
        passed=kept,
        total=len(checks),
        misses=missed,
        shares={CALIBRATED: Count(kept, len(checks))},
    )
    return Judgement(
        files=[report], required="every promise", met=frame.all_passed([report]), checks=checks, **vars(total)
    )


def truth_path(path: Path) -> Path:
    """Where the truth of a table lies: `x.csv.truth.csv`, or `x.truth.csv` for `x.csv`."""
    long = path.with_name(path.name + TRUTH_SUFFIX)
    return long if long.exists() else path.with_name(path.stem + TRUTH_SUFFIX)


def judge_file(path: Path) -> tuple[FileReport, Score]:
    """One table file against its truth."""
    try:
        by_period = is_period_table(path)
        truths = read_truth(truth_path(path), period_tables.TRUTH_COLUMNS if by_period else TRUTH_COLUMNS)
    except Unreadable as problem:
        return unreadable(path, f"truth: {problem}"), Score()
    try:
        table = read_periods(path) if by_period else read_table(path)
    except Unreadable as problem:
        return unreadable(path, str(problem), total=len(truths)), Score()
    if by_period:
        return compare(str(path), table, truths, period_tables.verdicts(table.periods), period_tables.limit_log)
    decided = judge(table.observations)
    return compare(str(path), table, truths, [*decided, *judge_control(table.observations).pairs])


def compare(
    file: str,
    table: ObservationTable,
    truths: Sequence[TruthRow],
    verdicts: Sequence[Pair],
    limit: Callable[[str], float] = threshold_log,
) -> tuple[FileReport, Score]:
    """Counts, and a line for every comparison that is wrong or cannot be made."""
    decided: dict[tuple[Place, str, str], tuple[Pair, float]] = {}
    for v in verdicts:
        place, (a, b) = (v.figure.table, v.figure.use, v.figure.metric), v.settings
        decided[place, a, b] = (v, 1.0)
        decided[place, b, a] = (v, -1.0)
    score = Score()
    misses: list[str] = []
    unread = len(table.broken)
    by_table: dict[str, list[TruthRow]] = {}
    for row in truths:
        by_table.setdefault(row.place[0], []).append(row)
    for rows in by_table.values():
        is_null = all(abs(row.log_ratio) < EQUAL for row in rows)
        won = False
        for row in rows:
            name = f"{' '.join(row.place)} {row.setting_a}/{row.setting_b}"
            if row.place in table.broken:
                score.effects += abs(row.log_ratio) >= EQUAL
                misses.append(f"{name}: {table.broken[row.place]}")
                continue
            if (row.place, row.setting_a, row.setting_b) not in decided:
                score.effects += abs(row.log_ratio) >= EQUAL
                misses.append(f"{name}: not in the table")
                unread += 1
                continue
            verdict, side = decided[row.place, row.setting_a, row.setting_b]
            won |= verdict.winner is not None
            if score.count(verdict, side * row.log_ratio, limit(verdict.figure.metric)):
                said = f"{verdict.winner} named the winner" if verdict.winner else "a tie was named"
                misses.append(f"{name}: {said}, true ratio {math.exp(row.log_ratio):.4g}")
        score.tables += 1
        score.null_tables += is_null
        score.null_tables_with_winner += is_null and won
    right = len(truths) - len(misses)
    report = JudgedFile(
        file=file,
        passed=right,
        total=len(truths),
        misses=misses,
        shares=marking(Path(file)).whole(right, len(truths)),
        unread=unread,
        **vars(score),
    )
    return report, score


def read_table(path: Path) -> ObservationTable:
    """Observations, and the places where a row is unreadable. A value may be missing: empty, or not a finite number."""
    table = ObservationTable()
    for number, row in _rows(path, COLUMNS):
        place = (row["table"] or "", row["cell"] or "", row["metric"] or "")
        if any(row[name] in (None, "") for name in COLUMNS if name != "value") or row["value"] is None:
            if not all(place):
                raise Unreadable(f"line {number} is unfinished")
            table.broken[place] = f"line {number} is unfinished"
            continue
        try:
            repetition = int(row["block"])
            value = float(row["value"]) if row["value"].strip() else math.nan
        except ValueError:
            table.broken[place] = f"line {number} is not `{','.join(COLUMNS)}`"
            continue
        table.observations.append(
            Observation(row["table"], row["cell"], repetition, row["setting"], row["metric"], value)
        )
    if not table.observations and not table.broken:
        raise Unreadable("no rows")
    return table


def is_period_table(path: Path) -> bool:
    """Whether the header names periods instead of repetitions; False of what cannot be read, which reading says."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    return {"period", "use"} <= {name.strip() for name in names}


def read_periods(path: Path) -> ObservationTable:
    """Periods, and the places where a row is unreadable. A value may be missing: empty, or not a finite number."""
    table = ObservationTable()
    for number, row in _rows(path, period_tables.COLUMNS):
        place = (row["table"] or "", row["use"] or "", row["metric"] or "")
        try:
            if not all(place) or not row["setting"] or row["value"] is None:
                raise ValueError
            made = PeriodRow(
                place[0],
                int(row["period"]),
                float(row["start_s"]) if (row["start_s"] or "").strip() else math.nan,
                place[1],
                row["setting"],
                place[2],
                float(row["value"]) if row["value"].strip() else math.nan,
            )
        except (TypeError, ValueError):
            if not all(place):
                raise Unreadable(f"line {number} is unfinished") from None
            table.broken[place] = f"line {number} is not `{','.join(period_tables.COLUMNS)}`"
            continue
        table.periods.append(made)
    if not table.periods and not table.broken:
        raise Unreadable("no rows")
    return table


def read_truth(path: Path, columns: Sequence[str] = TRUTH_COLUMNS) -> list[TruthRow]:
    """Known ratios; a row that cannot be read makes the whole truth unusable, because it could change what a null table
    is."""
    rows = []
    for number, row in _rows(path, columns):
        try:
            ratio = float(row["ratio"])
            if any(row[name] in (None, "") for name in columns) or not (ratio > 0 and math.isfinite(ratio)):
                raise ValueError
        except (TypeError, ValueError):
            raise Unreadable(f"{path.name} line {number} is not `{','.join(columns)}` with a ratio above 0") from None
        rows.append(
            TruthRow(
                (row["table"], row[columns[1]], row["metric"]), row["setting_a"], row["setting_b"], math.log(ratio)
            )
        )
    if not rows:
        raise Unreadable(f"{path.name} has no rows")
    return rows


def _rows(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, Any]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None or not set(columns) <= {name.strip() for name in reader.fieldnames if name}:
                raise Unreadable(f"{path.name} has not the columns `{','.join(columns)}`")
            reader.fieldnames = [name.strip() for name in reader.fieldnames]
            return [(reader.line_num, row) for row in reader]
    except OSError as problem:
        raise Unreadable(f"{path.name}: {problem.strerror or problem}") from None
    except (UnicodeDecodeError, csv.Error) as problem:
        raise Unreadable(f"{path.name}: {problem}") from None


def text(report: Judgement) -> str:
    """Counts first, then what is wrong."""
    lines = [
        f"tables                     {report.tables}",
        f"  without any difference   {report.null_tables}, of these with a winner: {report.null_tables_with_winner}",
        f"winners                    {report.winners}, of these false: {report.false_winners}",
        f"ties                       {report.ties}, of these false: {report.false_ties}",
        f"true differences           {report.effects}, found: {report.found}",
    ]
    for check in report.checks:
        mark = "ok    " if check.met else "MISSED"
        sign = "at most" if check.at_most else "at least"
        detail = f"  ({check.detail})" if check.detail else ""
        lines.append(f"{mark} {check.name}: {check.measured:.4g}, required {sign} {check.bound:.4g}{detail}")
    return "\n".join([*lines, frame.text(report)])
