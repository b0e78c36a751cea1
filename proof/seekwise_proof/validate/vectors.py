"""Scheduler models against recordings of real kernels (validation level 1).

FILE is a recording `time_ns,event,op,sector,sectors,proc`. Single-queue kernels:
`SCHEDULER/KERNEL__WORKLOAD__DEVICE.csv` with
`requests/` in the same folder or above; blk-mq: with its `.conf` in the same folder. A folder is searched recursively.

A point is each request that the kernel dispatched, and each run of the queue that dispatched nothing. `contested`
points had a choice. `not asked`: after a completion that runs no queue the kernel asks no scheduler; such points count
as right, and their number is shown. Ends with status 5 when a file cannot be replayed to its end (all its points are
missed then) or a scheduler and kernel falls short of the share required of all points and again of the contested ones:
99.5 % for noop, deadline, mq-deadline and kyber, 98 % for anticipatory and cfq, 95 % for bfq.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click

from seekwise_proof import _proof
from seekwise_proof.validate._basis import Count, marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, unread, worth

SUMMARY = "scheduler decisions against recordings of real kernels"

OPTIONS = (
    click.Option(
        ["explain", "--explain"],
        type=click.IntRange(min=1),
        metavar="ROW",
        help="Show the waiting requests and the scheduler's inner state before line ROW of each file (the header is line 1).",
    ),
)

MISSES_SHOWN = 3
BAR = "95 to 99.5 % by scheduler, also of the contested points"


@dataclass(kw_only=True)
class VectorFile(FileReport):
    """One recording."""

    misses: Sequence[dict[str, Any]] = ()
    scheduler: str
    kernel: str
    contested: Count
    """Points at which the scheduler had a choice."""
    unasked: int
    """Points that are right without the model being asked: nothing ran the queue there."""
    error: str | None = None
    """Why all points are missed."""
    look: dict[str, Any] | None = None
    """With --explain: the requests that wait and the scheduler's state."""


@dataclass(frozen=True, kw_only=True)
class SchedulerAgreement(Count):
    """One scheduler of one kernel."""

    scheduler: str
    kernel: str
    files: int
    contested: Count
    unasked: int
    """Points that are right without the model being asked: nothing ran the queue there."""
    required_per_mille: int
    met: bool


@dataclass(kw_only=True)
class Vectors(ValidationReport):
    """`verify vectors --json`."""

    SCHEMA: ClassVar = "seekwise.validate.vectors/1"

    files: Sequence[VectorFile]
    contested: Count
    """Points at which the scheduler had a choice."""
    unasked: int
    groups: list[SchedulerAgreement]


def verify(paths: Sequence[Path], options: Mapping[str, Any]) -> Vectors:
    """Replays every recording; `options["explain"]` asks for a look at a line."""
    chosen = {"explain": options["explain"]} if options.get("explain") is not None else {}
    outcome = json.loads(_proof.verify_vectors([str(path) for path in paths], json.dumps(chosen)))
    return Vectors(
        files=[_file(entry) for entry in outcome["files"]],
        required=BAR,
        met=outcome["met"],
        contested=Count(**outcome["contested"]),
        unasked=outcome["unasked"],
        groups=[
            SchedulerAgreement(**{**group, "contested": Count(**group["contested"])}) for group in outcome["groups"]
        ],
    )


def _file(entry: Mapping[str, Any]) -> VectorFile:
    name, passed, total, error = entry["file"], entry["passed"], entry["total"], entry.get("error")
    return VectorFile(
        file=name,
        passed=passed,
        total=total,
        misses=entry["misses"],
        broken=error is not None,
        shares=marking(Path(name)).whole(passed, total) if error is None else unread(name, total),
        scheduler=entry.get("scheduler", ""),
        kernel=entry.get("kernel", ""),
        contested=Count(**entry["contested"]),
        unasked=entry["unasked"],
        error=error,
        look=entry.get("look"),
    )


def text(report: Vectors) -> str:
    """N of M per file with each first miss and the model's state there, then the sums by scheduler and kernel."""
    lines: list[str] = []
    for file in report.files:
        contested = file.contested
        lines.append(f"{file.file}: {file.passed} of {file.total}, contested {contested.passed} of {contested.total}")
        if file.error:
            lines.append(f"  all points missed: {file.error}")
        for miss in file.misses[:MISSES_SHOWN]:
            lines.extend(_miss(miss))
        if len(file.misses) > MISSES_SHOWN:
            lines.append(f"  and {len(file.misses) - MISSES_SHOWN} more (all of them with --json)")
        if file.look:
            lines.extend(_look(file.look))
    lines.append("")
    lines.extend(_table(report.groups))
    contested = report.contested
    lines.append(f"vectors: {report.passed} of {report.total}, contested {contested.passed} of {contested.total}")
    if report.unasked:
        lines.append(f"{report.unasked} points are right without the model being asked: nothing ran the queue there.")
    lines.extend(worth(report))
    return "\n".join(lines)


def _miss(miss: Mapping[str, Any]) -> list[str]:
    where = f"row {miss['row']} at {miss['time_ns']} ns"
    lines = [f"  missed: {where}: kernel {miss['recorded']}, model {miss['chosen']}, {miss['waiting']} waiting"]
    lines.extend(f"    {line}" for line in miss.get("state", "").splitlines())
    return lines


def _look(look: Mapping[str, Any]) -> list[str]:
    lines = [f"  row {look['row']} at {look['time_ns']} ns: {look['text']}; {look['in_driver']} with the device"]
    lines.append(f"    the model would dispatch: {look['would_choose']}")
    lines.append(f"    waiting: {len(look['waiting'])}")
    lines.extend(f"      {request}" for request in look["waiting"])
    lines.extend(f"    {line}" for line in look["state"].splitlines())
    return lines


def _share(passed: int, total: int) -> str:
    return f"{100 * passed / total:.2f} %" if total else "-"


def _table(groups: Sequence[SchedulerAgreement]) -> list[str]:
    rows = [("scheduler", "kernel", "files", "right", "of", "share", "contested", "not asked", "required", "")]
    for group in groups:
        contested = group.contested
        rows.append(
            (
                group.scheduler or "unknown",
                group.kernel or "-",
                str(group.files),
                str(group.passed),
                str(group.total),
                _share(group.passed, group.total),
                _share(contested.passed, contested.total),
                str(group.unasked),
                f"{group.required_per_mille / 10:.1f} %",
                "" if group.met else "missed",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = {0, 1, 9}
    return [
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
