"""Predictions from recordings against the same programs on the storage that was predicted.

FOLDER holds `measured.csv` (`run,requests,rate_bytes_per_s,p50_ns,p99_ns`; a run is USE@STORAGE@SCHEDULER) and
recordings RUN.swt, as `python -m seekwise_proof.testbed.whatif` makes both on a real kernel with virtual drives. Each
recording predicts every other run of its use: what the other schedulers and the other storages would do to it. FILE is
such a table.

A prediction passes when the rate is met within 10 %. Required over all: median error of rate and p50 at most 5 %, of
p99 15 %, and the scheduler that is predicted to be best at most 5 % behind the best one, or within its noise, in 90 %
of the choices. The same requests sent at their recorded times (`open`) are beside it, to show what dependencies buy.
Ends with status 5 when one is missed.
"""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from seekwise import core, temporary
from seekwise.errors import SeekwiseError
from seekwise.files import read_text, write_product
from seekwise.measure import whatif
from seekwise.store.percentiles import percentile_ns
from seekwise.trace import load as loads
from seekwise.trace.columns import Kind
from seekwise.trace.load import FOREGROUND
from seekwise.trace.readers import open_trace
from seekwise_proof.testbed import whatif as testbed
from seekwise_proof.validate._basis import marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, files_below, unreadable
from seekwise_proof.validate.frame import text as frame_text

SUMMARY = "predictions from recordings against a real kernel on the predicted storage"
RATE_WITHIN = 0.10
LIMITS = {"rate": 0.05, "p50": 0.05, "p99": 0.15}
"""Median error that each metric may have."""
BEST_WITHIN = 0.05
BEST_SHARE = 0.90
BAR = "median error of rate and p50 5 %, of p99 15 %, a scheduler within 5 % of the best in 90 %"
REPEATS = 3
SEED = 1


@dataclass(frozen=True)
class MeasuredRun:
    """One run as it was measured."""

    run: str
    requests: int
    rate_bytes_per_s: float
    p50_ns: int
    p99_ns: int

    @property
    def use(self) -> str:
        """First part of the run's name, USE@STORAGE@SCHEDULER."""
        return self.run.split("@")[0]

    @property
    def storage(self) -> str:
        """Second part of the run's name: drive and array."""
        return self.run.split("@")[1]

    @property
    def scheduler(self) -> str:
        """Third part of the run's name."""
        return self.run.split("@")[2]

    def value(self, metric: str) -> float:
        """`rate` in bytes/s, `p50` and `p99` in ns; other names are a KeyError."""
        return {"rate": self.rate_bytes_per_s, "p50": float(self.p50_ns), "p99": float(self.p99_ns)}[metric]


HEADER = [field.name for field in fields(MeasuredRun)]


@dataclass(frozen=True)
class Prediction:
    """What one recording said of one run."""

    recorded: str
    measured: MeasuredRun
    closed: dict[str, float]
    opened: dict[str, float]

    @property
    def is_same_storage(self) -> bool:
        """Whether only the scheduler differs between recording and run."""
        return self.recorded.split("@")[1] == self.measured.storage

    def error(self, metric: str, opened: bool = False) -> float:
        """Relative error, 0.1 for 10 % either way. `opened`: of the replay at recorded times, else of the closed
        loop."""
        said = (self.opened if opened else self.closed)[metric]
        return abs(said / self.measured.value(metric) - 1)


def parse(text: str) -> list[MeasuredRun]:
    """Raises ValueError with the line that is no row."""
    reader = csv.reader(io.StringIO(text))
    if next(reader, []) != HEADER:
        raise ValueError(f"the header is not {','.join(HEADER)}")
    runs = []
    for number, parts in enumerate(reader, 2):
        try:
            run, requests, throughput, half, tail = parts
            row = MeasuredRun(run, int(requests), float(throughput), int(half), int(tail))
            if run.count("@") != 2 or min(row.requests, row.rate_bytes_per_s, row.p50_ns, row.p99_ns) <= 0:
                raise ValueError
        except ValueError:
            raise ValueError(f"line {number} is no row: {','.join(parts)}") from None
        runs.append(row)
    return runs


def text_of(rows: Sequence[MeasuredRun]) -> str:
    """The runs as CSV, in the order of their names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(astuple(row) for row in sorted(rows, key=lambda row: row.run))
    return out.getvalue()


def measured(path: Path) -> MeasuredRun:
    """What the programs of a recording saw.

    Of each program the first request is left out of the latencies: fio starts its threads ahead of the kernel's, which
    get the testbed's one processor when all have started. Those requests would be most of the slowest 1 % of a
    thousand.
    """
    with temporary.private("verify") as folder:
        notes, chunks = open_trace(path)
        load = loads.make(chunks, notes, Path(folder))
    groups = [load.groups[number] for number in whatif.members(load.groups, FOREGROUND)]
    seconds = (max(g.last_ns for g in groups) - min(g.first_ns for g in groups)) / 1e9
    half, tail = np.percentile(_latencies(path, load), [50, 99], method="inverted_cdf")
    moved, count = sum(g.bytes for g in groups), sum(g.requests for g in groups)
    return MeasuredRun(path.stem, count, round(moved / seconds, 1), round(half), round(tail))


def _latencies(path: Path, load: loads.TracedLoad) -> np.ndarray:
    notes, chunks = open_trace(path)
    rows = np.concatenate(list(chunks))
    rows = rows[np.argsort(rows["arrival_ns"], kind="stable")]
    front = whatif.members(load.groups, FOREGROUND)
    names = {program.name for program in load.programs if program.group in front}
    rows = rows[np.isin(rows["process"], [place for place, name in enumerate(notes.processes) if name in names])]
    _, first = np.unique(rows["process"], return_index=True)
    rows = np.delete(rows, first)
    rows = rows[(rows["kind"] <= Kind.WRITE) & (rows["sectors"] > 0) & (rows["complete_ns"] >= rows["arrival_ns"])]
    return np.asarray(rows["complete_ns"] - rows["arrival_ns"])


def setting_of(run: MeasuredRun) -> dict[str, list[str]]:
    """The run's storage as `whatif` is asked for it."""
    drive, array = run.storage.rsplit(".", 1)
    wanted = {"model": [drive], "scheduler": [run.scheduler], "host": ["laboratory"]}
    if json.loads(core.drive_model(drive)).get("attachment") == "nvme":
        # As the VM testbed sets it: nbd has no more.
        wanted["depth"] = [str(testbed.NVME_DEPTH)]
    if array != "single":
        wanted |= {"level": [array], "drives": ["2" if array == "raid1" else "4"]}
    if array in ("raid5", "raid10"):
        wanted["chunk"] = ["64k"]
    return wanted


@dataclass(kw_only=True)
class VerifiedWhatIf(ValidationReport):
    """`verify whatif --json`."""

    SCHEMA: ClassVar = "seekwise.validate.whatif/1"

    agreement: dict[str, Any]
    """`closed` and `open`: {metric: median_error, p90_error}, best_right, best_of."""


def verify(paths: Sequence[Path], options: dict[str, Any]) -> VerifiedWhatIf:
    """Tables as files, or folders that are searched for them."""
    files, found = [], []
    for path in files_below(paths, [".csv"]):
        try:
            predictions = list(_of_table(path, options.get("tell")))
        except (OSError, UnicodeDecodeError, ValueError) as error:
            files.append(unreadable(path, str(error)))
            continue
        except SeekwiseError as error:
            files.append(unreadable(path, error.message))
            continue
        found += predictions
        misses = [_miss(prediction) for prediction in predictions if prediction.error("rate") > RATE_WITHIN]
        passed, total = len(predictions) - len(misses), len(predictions)
        shares = marking(path).whole(passed, total)
        files.append(FileReport(file=str(path), passed=passed, total=total, misses=misses, shares=shares))
    summary = agreement(found)
    met = bool(found) and _meets(summary) and not any(file.broken for file in files)
    parts = {
        "other_scheduler": agreement([prediction for prediction in found if prediction.is_same_storage]),
        "other_storage": agreement([prediction for prediction in found if not prediction.is_same_storage]),
    }
    return VerifiedWhatIf(files=files, required=BAR, met=met, agreement={**summary, **parts})


def _miss(each: Prediction) -> str:
    said, was = each.closed["rate"] / 1e6, each.measured.rate_bytes_per_s / 1e6
    return f"{each.recorded} for {each.measured.run}: {was:.3g} MB/s, predicted {said:.3g} MB/s ({said / was - 1:+.0%})"


def _of_table(path: Path, tell: Any) -> Iterator[Prediction]:
    rows = parse(read_text(path))
    recordings = sorted(path.parent.glob("*.swt"))
    if not recordings:
        raise ValueError("no recording is in the folder of the table")
    for number, recording in enumerate(recordings, 1):
        yield from predict(recording, rows)
        if tell is not None:
            tell(number, len(recordings))


def predict(recording: Path, rows: Sequence[MeasuredRun]) -> list[Prediction]:
    """What a recording says of every other run of its use."""
    use = recording.stem.split("@")[0]
    wanted = [row for row in rows if row.use == use and row.run != recording.stem]
    if not wanted:
        return []
    settings = [whatif.candidate_storages(setting_of(row), {})[0] for row in wanted]
    for row, setting in zip(wanted, settings, strict=True):
        if row.storage.startswith(testbed.DISKS):
            device: Any = setting.spec["device"]
            device["parameters"]["read_ahead_min_kib"] = testbed.DISKS_READ_ON_KIB
    seeds, threads = whatif.seeds_of(SEED, REPEATS), max(1, os.cpu_count() or 1)
    with temporary.private("verify") as folder:
        notes, chunks = open_trace(recording)
        load = loads.make(chunks, notes, Path(folder))
        closed = whatif.play(load, settings, seeds, threads=threads)
        opened = whatif.play(load, settings, seeds[:1], threads=threads, replay_open=True)
    return [
        Prediction(recording.stem, row, _values(load, one), _values(load, other))
        for row, one, other in zip(wanted, closed, opened, strict=True)
    ]


def _values(load: loads.TracedLoad, outcomes: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Means over the repeats."""
    phases = [whatif.phase_of(outcome["phases"][0], load.groups, FOREGROUND) for outcome in outcomes]

    def mean(values: Iterator[float]) -> float:
        return statistics.fmean(values)

    return {
        "rate": mean(phase.rate_bytes_per_s for phase in phases),
        "p50": mean(float(percentile_ns(phase.latency_bins, 50) or 0) for phase in phases),
        "p99": mean(float(percentile_ns(phase.latency_bins, 99) or 0) for phase in phases),
    }


def agreement(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Median and 90th percentile of each metric's error, closed and open, and how often the best scheduler was
    found."""
    if not predictions:
        return {"predictions": 0}
    summary: dict[str, Any] = {
        "predictions": len(predictions),
        "storages": len({p.measured.storage for p in predictions}),
    }
    for name, opened in (("closed", False), ("open", True)):
        summary[name] = {}
        for metric in LIMITS:
            errors = sorted(prediction.error(metric, opened) for prediction in predictions)
            summary[name][metric] = {
                "median_error": statistics.median(errors),
                "p90_error": errors[min(int(0.9 * len(errors)), len(errors) - 1)],
            }
        right, of = _best(predictions, opened)
        summary[name] |= {"best_right": right, "best_of": of}
    return summary


def _best(predictions: Sequence[Prediction], opened: bool) -> tuple[int, int]:
    """Choices of a scheduler, from one recording for one storage, that come within 5 % of the best one's rate."""
    choices: dict[tuple[str, str], list[Prediction]] = {}
    for prediction in predictions:
        choices.setdefault((prediction.recorded, prediction.measured.storage), []).append(prediction)
    right = of = 0
    for same in choices.values():
        if len(same) < 2:
            continue
        chosen = max(same, key=lambda prediction: (prediction.opened if opened else prediction.closed)["rate"])
        best = max(prediction.measured.rate_bytes_per_s for prediction in same)
        of += 1
        right += chosen.measured.rate_bytes_per_s >= best * (1 - BEST_WITHIN)
    return right, of


def _meets(summary: dict[str, Any]) -> bool:
    closed = summary["closed"]
    within = all(closed[metric]["median_error"] <= limit for metric, limit in LIMITS.items())
    return within and closed["best_right"] >= BEST_SHARE * closed["best_of"]


def text(report: VerifiedWhatIf) -> str:
    """N of M per file with its misses, then how well all of it agrees, with and without dependencies."""
    lines = [frame_text(report), ""]
    summary = report.agreement
    for part, title in (
        (summary, "all"),
        (summary["other_scheduler"], "other scheduler"),
        (summary["other_storage"], "other storage"),
    ):
        if not part["predictions"]:
            continue
        lines.append(f"{title}: {part['predictions']} predictions for {part['storages']} storages; median errors")
        for name, words in (("closed", "with dependencies"), ("open", "at recorded times")):
            row = part[name]
            errors = ", ".join(f"{metric} {100 * row[metric]['median_error']:.1f} %" for metric in LIMITS)
            lines.append(f"  {words}: {errors}; best scheduler in {row['best_right']} of {row['best_of']}")
    return "\n".join(lines)


def main() -> None:
    """`python -m seekwise_proof.validate.whatif FOLDER`: the table of the recordings in it."""
    folder = Path(sys.argv[1])
    rows = [measured(path) for path in sorted(folder.glob("*.swt"))]
    write_product(folder / "measured.csv", text_of(rows))


if __name__ == "__main__":
    main()
