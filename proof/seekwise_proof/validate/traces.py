"""Drive models against traces of real drives: DiskSim's validation set.

FILE is a trace (`NAME.trace` or `NAME.trace.gz`); the drive's parameters lie beside it as `NAME.parv` or `NAME.diskspecs` with the files
that they name. A folder is searched. The trace is played as it was recorded: one request at a time, each arriving its gap
after the one before is done. The demerit figure is the root mean square of the horizontal distance between the two
cumulative distributions of service times (Ruemmler and Wilkes 1994), in ms.

A trace passes when its demerit is no worse than the one that DiskSim itself reaches with the same parameters, where that is published; else
when it is at most 5 % of the mean service time. The check is met when half of the traces pass. Every miss is followed by where it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from seekwise import _core
from seekwise.errors import SeekwiseError, UsageError
from seekwise.trace.disksim import drive, requests
from seekwise_proof.validate._basis import marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, files_below, unreadable, worth

SUMMARY = "drive models against traces of real drives"

# rms in ms that DiskSim 4.0 reaches with its own parameters, from the messages of its validation script (valid/runvalid).
PUBLISHED_MS = {
    "QUANTUM_QM39100TD-SW": 0.378,
    "SEAGATE_ST32171W": 0.349,
    "SEAGATE_ST39102LW_validate": 0.107,
    "HP_C2247A_validate": 0.090,
    "DEC_RZ26_validate": 0.340,
}
# The published figures have three decimals.
ROUNDING_MS = 0.0005
SHARE_OF_MEAN = 0.05
SUFFIXES = (".trace.gz", ".trace")
PARAMETERS = (".parv", ".diskspecs")


@dataclass(frozen=True)
class ModelledTrace:
    """A trace and what the model made of it; times in ms."""

    writes: np.ndarray
    blocks: np.ndarray
    counts: np.ndarray
    measured: np.ndarray
    modelled: np.ndarray

    @property
    def demerit_ms(self) -> float:
        """Demerit figure in ms (Ruemmler and Wilkes 1994); 0 is a perfect match."""
        return demerit(self.measured, self.modelled)


def demerit(measured: np.ndarray, modelled: np.ndarray) -> float:
    """Root mean square of the horizontal distance between the distributions of two samples of equal size."""
    return float(np.sqrt(np.mean((np.sort(measured) - np.sort(modelled)) ** 2)))


@dataclass(kw_only=True)
class TraceFile(FileReport):
    """A trace that was played on the model of its drive."""

    drive: str
    requests: int
    demerit_ms: float
    mean_ms: float
    mean_measured_ms: float
    published_demerit_ms: float | None
    """What DiskSim reaches."""
    limit_ms: float


@dataclass(kw_only=True)
class Traces(ValidationReport):
    """`verify traces --json`."""

    SCHEMA: ClassVar = "seekwise.validate.traces/1"

    files: Sequence[TraceFile | FileReport]


def verify(paths: Sequence[Path], options: dict[str, Any]) -> Traces:
    """Traces as files, or folders that are searched for them."""
    files = [_file(path) for path in files_below(paths, SUFFIXES)]
    passed = sum(file.passed for file in files)
    return Traces(files=files, bar="half of the drives", met=bool(files) and 2 * passed >= len(files))


def parameters_of(path: Path) -> Path:
    """The parameter file of a trace, by its stem."""
    stem = next((path.name.removesuffix(suffix) for suffix in SUFFIXES if path.name.endswith(suffix)), path.stem)
    for suffix in PARAMETERS:
        found = path.with_name(stem + suffix)
        if found.is_file():
            return found
    raise UsageError(f"{path}: no parameters beside it; `{stem}.parv` or `{stem}.diskspecs` was looked for")


def play(path: Path) -> tuple[drive.DiskSimDrive, ModelledTrace]:
    """Plays a trace on the model of its drive."""
    found = drive.load(parameters_of(path))
    trace = requests.read(path)
    try:
        served = _core.replay_on_drive(found.toml(), trace.writes, trace.blocks, trace.counts, trace.gaps_ns)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    return found, ModelledTrace(
        np.array(trace.writes),
        np.array(trace.blocks),
        np.array(trace.counts),
        np.array(trace.service_ns) / 1e6,
        np.array(served) / 1e6,
    )


def _file(path: Path) -> FileReport:
    try:
        found, played = play(path)
    except SeekwiseError as error:
        return unreadable(path, error.message)
    published = PUBLISHED_MS.get(found.name)
    mean = float(played.measured.mean())
    limit = published + ROUNDING_MS if published is not None else SHARE_OF_MEAN * mean
    met = played.demerit_ms <= limit
    return TraceFile(
        file=str(path),
        passed=int(met),
        total=1,
        misses=[] if met else [_explain(played)],
        shares=marking(path).whole(int(met), 1),
        drive=found.name,
        requests=len(played.measured),
        demerit_ms=round(played.demerit_ms, 4),
        mean_ms=round(float(played.modelled.mean()), 4),
        mean_measured_ms=round(mean, 4),
        published_demerit_ms=published,
        limit_ms=round(limit, 4),
    )


def _explain(played: ModelledTrace) -> str:
    """Where a demerit comes from: which requests, which part of their distribution, which way."""
    whole = float(np.sum((np.sort(played.measured) - np.sort(played.modelled)) ** 2))
    parts = []
    for name, chosen in _classes(played):
        if chosen.sum() < 20:
            continue
        measured, modelled = played.measured[chosen], played.modelled[chosen]
        distance = np.sort(modelled) - np.sort(measured)
        parts.append((float(np.sum(distance**2)), name, measured, modelled, distance))
    if not parts:
        return "too few requests to say where the difference lies"
    squared, name, measured, modelled, distance = max(parts, key=lambda part: part[0])
    windows = np.array_split(distance, 10)
    worst = int(np.argmax([float(np.mean(window**2)) for window in windows]))
    shift = float(np.mean(windows[worst]))
    share = min(squared / whole, 1.0) if whole else 0.0
    return (
        f"{name} ({len(measured)} requests) make up most of it{f' ({share:.0%} of the squares)' if share < 1 else ''}: "
        f"mean {modelled.mean():.3f} ms modelled, {measured.mean():.3f} ms measured; "
        f"farthest apart from percentile {10 * worst} to {10 * worst + 10}, {abs(shift):.3f} ms too "
        f"{'slow' if shift > 0 else 'fast'}"
    )


def _classes(played: ModelledTrace) -> list[tuple[str, np.ndarray]]:
    """Requests by direction, and by whether they go on where the one before ended."""
    ends = played.blocks + played.counts
    follows = np.zeros(len(ends), dtype=bool)
    follows[1:] = played.blocks[1:] == ends[:-1]
    found = []
    for direction, chosen in (("reads", ~played.writes), ("writes", played.writes)):
        found.append((f"sequential {direction}", chosen & follows))
        found.append((f"other {direction}", chosen & ~follows))
    return found


def text(report: Traces) -> str:
    """A line a trace, and under each miss where it comes from."""
    lines = [f"{'trace':30} {'requests':>8} {'demerit':>9} {'DiskSim':>8} {'mean':>9} {'measured':>9}"]
    for file in report.files:
        name = Path(file.file).name
        if isinstance(file, TraceFile):
            published = file.published_demerit_ms
            shown = "unknown" if published is None else f"{published:.3f}"
            lines.append(
                f"{name[:30]:30} {file.requests:8} {file.demerit_ms:6.3f} ms {shown:>8} {file.mean_ms:6.3f} ms "
                f"{file.mean_measured_ms:6.3f} ms"
            )
        else:
            lines.append(f"{name[:30]}: not played")
        lines.extend(f"  missed: {miss}" for miss in file.misses)
    lines.append(f"traces: {report.passed} of {report.total}" + ("" if report.files else "; no traces were found"))
    return "\n".join([*lines, *worth(report)])
