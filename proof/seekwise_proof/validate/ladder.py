"""The simulator against a real kernel over the same drives (validation level 4).

FILE is a table `cell,setting,ios,rate_bytes_per_s,mean_ns,p99_ns`, measured in the VM testbed (`make ladder` writes
it). The study that it belongs to has the same name: NAME.toml in the same folder, else the one that ships with the
program. Every row is simulated with three seeds.

A row passes when its rate is met within 10 %. Required over all files: rate within 3 % in half of the rows and 10 % in
nine of ten, mean access time within 5 % and p99 within 15 % in half of them, and, in 95 % of the combinations whose
settings are 5 % apart or more, the same best setting, or one less than 5 % behind it. Ends with status 5 when one of
these is missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from seekwise.errors import SeekwiseError
from seekwise.files import read_text
from seekwise.judge.observe import combination_of, values
from seekwise.judge.rule import more_is_better
from seekwise.simulate.protocol import Options
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study import parse, planning
from seekwise.workload.study.study import Study
from seekwise_proof.validate import _ladder_tables as ladder
from seekwise_proof.validate._basis import marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, files_below, unreadable
from seekwise_proof.validate.frame import text as frame_text

STUDIES = Path(__file__).parents[1] / "ladder"
SUMMARY = "the simulator against a real kernel over the same drives"
REPETITIONS = 3
RATE_WITHIN = 0.10
LIMITS = {"rate": (0.03, 0.10), "access_time": (0.05, None), "p99": (0.15, None)}
"""Median and p90 of the error that each metric may have."""
SAME_BEST_SHARE = 0.95
BAR = "median error of rate 3 %, access time 5 %, p99 15 %; p90 of rate 10 %; the same best setting in 95 %"


GAP_SHARE = 0.05
"""Combinations whose best and worst setting are closer than this do not count for "the same best setting"."""


@dataclass(frozen=True)
class Agreement:
    """How well one run predicts another, over all combinations and settings that both have, by metric."""

    metric: str
    combinations: int
    """Combinations compared."""
    median_error: float
    """Median of |ratio − 1| as a share, on the log scale turned back: 0.03 is 3 %."""
    p90_error: float
    worst_error: float
    worst_place: str
    same_best: int
    """Combinations in which the new run's best setting is the base's best, or less than 5 % behind it there …"""
    same_best_of: int
    """… of those in which the base's best and worst setting are at least 5 % apart."""


@dataclass(kw_only=True)
class Ladder(ValidationReport):
    """`verify ladder --json`."""

    SCHEMA: ClassVar = "seekwise.validate.ladder/1"

    agreement: list[Agreement]


def verify(paths: Sequence[Path], options: dict[str, Any]) -> Ladder:
    """Tables as files, or folders that are searched for CSV files."""
    files, found = [], []
    for path in files_below(paths, [".csv"]):
        report, pairs_of_file = _table(path)
        files.append(report)
        found += pairs_of_file
    rows = agreement(found)
    met = bool(rows) and all(_meets(row) for row in rows) and not any(file.broken for file in files)
    return Ladder(files=files, required=BAR, met=met, agreement=rows)


P99_OPERATIONS_MIN = 200
"""Two operations are at or beyond the 99th percentile: enough to be near, where a verdict needs more."""


@dataclass(frozen=True)
class ValuePair:
    """Two values of one combination and setting: means over the repetitions, in bytes/s, ns, or MB per CPU second."""

    metric: str
    combination: str
    setting: str
    base: float
    new: float


def error_of(pair: ValuePair) -> float:
    """|ratio − 1| as a share; which of the two is on top makes no difference."""
    return math.expm1(abs(math.log(pair.new / pair.base)))


def agreement(pairs: Sequence[ValuePair]) -> list[Agreement]:
    """Means over repetitions compared; no test, because a model is not expected to be equal but to be near."""
    return [
        _agreement(metric, [p for p in pairs if p.metric == metric])
        for metric in dict.fromkeys(p.metric for p in pairs)
    ]


def _agreement(metric: str, pairs: list[ValuePair]) -> Agreement:
    errors = np.array([abs(math.log(pair.new / pair.base)) for pair in pairs])
    worst = pairs[int(errors.argmax())]
    sign = 1.0 if more_is_better(metric) else -1.0
    same = of = 0
    for combination in dict.fromkeys(pair.combination for pair in pairs):
        there = [pair for pair in pairs if pair.combination == combination]
        best, worst_there = (pick(there, key=lambda p: sign * p.base).base for pick in (max, min))
        if abs(math.log(best / worst_there)) < math.log1p(GAP_SHARE):
            continue
        chosen = max(there, key=lambda p: sign * p.new).base
        of += 1
        same += abs(math.log(best / chosen)) < math.log1p(GAP_SHARE)
    return Agreement(
        metric,
        len(pairs),
        float(np.expm1(np.median(errors))),
        float(np.expm1(np.quantile(errors, 0.9))),
        float(np.expm1(errors.max())),
        f"{worst.combination} [{worst.setting}]",
        same,
        of,
    )


def _meets(row: Agreement) -> bool:
    median, p90 = LIMITS.get(row.metric, (math.inf, None))
    best = row.metric != "rate" or row.same_best >= SAME_BEST_SHARE * row.same_best_of
    return row.median_error <= median and (p90 is None or row.p90_error <= p90) and best


def _table(path: Path) -> tuple[FileReport, list[ValuePair]]:
    try:
        rows = ladder.parse(read_text(path))
        pairs = list(_pairs(rows, simulated(study_of(path))))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return unreadable(path, str(error)), []
    except SeekwiseError as error:
        return unreadable(path, error.message, total=len(rows)), []
    throughputs = {(pair.combination, pair.setting): pair for pair in pairs if pair.metric == "rate"}
    misses, outcomes = [], []
    for row in rows:
        pair = throughputs.get((row.combination, row.setting))
        outcomes.append((f"{row.combination} [{row.setting}]", pair is not None and error_of(pair) <= RATE_WITHIN))
        if pair is None:
            misses.append(f"{row.combination} [{row.setting}]: not in the study")
        elif error_of(pair) > RATE_WITHIN:
            misses.append(
                f"{row.combination} [{row.setting}]: {pair.base / 1e6:.3g} MB/s, simulated {pair.new / 1e6:.3g} MB/s "
                f"({100 * (pair.new / pair.base - 1):+.0f} %)"
            )
    shares = marking(path).shares(outcomes)
    report = FileReport(file=str(path), passed=len(rows) - len(misses), total=len(rows), misses=misses, shares=shares)
    return report, pairs


def _pairs(rows: Sequence[ladder.GuestResult], predicted: dict[tuple[str, str, str], float]) -> Iterator[ValuePair]:
    for row in rows:
        for metric, value in (("rate", row.rate_bytes_per_s), ("access_time", row.mean_ns), ("p99", float(row.p99_ns))):
            new = predicted.get((metric, row.combination, row.setting))
            if new is not None and (metric != "p99" or row.ios >= P99_OPERATIONS_MIN):
                yield ValuePair(metric, row.combination, row.setting, value, new)


def study_of(path: Path) -> Study:
    """The study that a table was measured by."""
    own = path.with_suffix(".toml")
    return parse.load(own) if own.exists() else parse.load(STUDIES / f"{path.stem}.toml")


def simulated(study: Study) -> dict[tuple[str, str, str], float]:
    """By metric, combination and setting: means over the repetitions."""
    study = study.model_copy(update={"backend": "simulated"})
    backend = SimulatedBackend(Options())
    made = planning.make(study, backend.describe(study), repetitions=REPETITIONS)
    with backend.session(made, "verify", lambda _: None) as session:
        records = list(session.run(list(made.trials), {}))
    return means(records)


def means(records: Sequence[Record]) -> dict[tuple[str, str, str], float]:
    """Geometric mean over repetitions by metric, combination and setting, in bytes/s and ns."""
    logs: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        competes = record.valid and record.role != "sentinel" and not record.setting.endswith(CONTROL_SUFFIX)
        for phase in record.phases if competes else ():
            figures = values(phase)
            if p99_ns := phase.percentile_ns(99, P99_OPERATIONS_MIN):
                figures["p99"] = float(p99_ns)
            for metric, value in figures.items():
                if value > 0:
                    logs.setdefault((metric, combination_of(record, phase), record.setting), []).append(math.log(value))
    return {key: math.exp(sum(log) / len(log)) for key, log in logs.items()}


def text(report: Ladder) -> str:
    """N of M per file with its misses, then how well all of it agrees."""
    lines = [frame_text(report), ""]
    for row in report.agreement:
        lines.append(
            f"{row.metric}: {row.combinations} values, median error {100 * row.median_error:.1f} %, p90 "
            f"{100 * row.p90_error:.1f} %, same best in {row.same_best} of {row.same_best_of}"
        )
    return "\n".join(lines)
