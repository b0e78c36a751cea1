"""What `whatif` prints beside its answer: the document, how requests come, and what hangs on an assumption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from seekwise.judge.predicted import WhatIfRow, as_good, carries
from seekwise.measure import whatif
from seekwise.measure.whatif import CandidateStorage
from seekwise.report.whatif_answer import sentence
from seekwise.store.percentiles import percentile_ns
from seekwise.trace.load import FOREGROUND, TracedLoad


@dataclass(frozen=True)
class Predicted:
    """What a group of programs would see."""

    p50_ms: float
    p99_ms: float
    mean_ms: float
    rate_mb_per_s: float
    iops: float
    elapsed_s: float

    @classmethod
    def of(cls, row: WhatIfRow, **more: Any) -> Self:
        """In the units that are printed; `more`: what a subclass has besides."""
        times = (row.p50_ns / 1e6, row.p99_ns / 1e6, row.mean_ns / 1e6)
        return cls(*times, row.rate_bytes_per_s / 1e6, row.iops, row.elapsed_s, **more)


@dataclass(frozen=True)
class PredictedProgram(Predicted):
    """The same of the programs of one name."""

    program: str


@dataclass(frozen=True)
class PredictedSetting:
    """One storage that was asked for."""

    setting: str
    values: Mapping[str, Any]
    """As asked for, by the names of a study."""
    in_force: Mapping[str, Any]
    """Settings of its queues, after defaults."""
    foreground: Predicted
    programs: list[PredictedProgram]
    open: Predicted | None
    """The foreground with every request sent at its recorded time; only with `--open`."""
    carries_load: bool
    """Whether it keeps up with requests that come at their times; where it does not, latencies grow with the
    recording."""


@dataclass(frozen=True)
class RecordedProgram:
    """Programs of one name in the trace."""

    program: str
    role: str
    processes: int
    requests: int
    bytes: int
    how: dict[str, int]
    """Requests that wait for all earlier ones (`replies`), for one of them (`slots`), for the queue (`admitted`), for
    nothing (`open`)."""


@dataclass(frozen=True)
class WhatIf:
    """`whatif TRACE --json`."""

    SCHEMA: ClassVar = "seekwise.whatif/1"

    run_id: str
    trace: str
    requests: int
    device: str
    repeats: int
    best: list[str]
    """Settings within 5 % of the best one's p99 and rate."""
    answer: str
    recorded: dict[str, float | None]
    """The foreground in the trace: p50_ms, p99_ms, rate_mb_per_s, iops, elapsed_s."""
    settings: list[PredictedSetting]
    """The best one first."""
    programs: list[RecordedProgram]
    notes: Sequence[str]
    assumed: Sequence[str]
    hangs_on: Sequence[str]
    """Whether the answer stays with the other assumption."""


@dataclass(frozen=True)
class Prediction:
    """A load, played on each of the storages that were asked for."""

    load: TracedLoad
    settings: Sequence[CandidateStorage]
    order: Sequence[WhatIfRow]
    """Of the foreground, the best setting first."""
    rows: dict[tuple[str, str], WhatIfRow]
    """By setting and program."""
    opened: dict[tuple[str, str], WhatIfRow] | None
    """The same with every request at its recorded time; only with `--open`."""
    notes: Sequence[str]
    hangs_on: Sequence[str]

    @property
    def programs(self) -> list[str]:
        """Names of the programs that made requests."""
        return [group.name for group in self.load.groups if group.requests]


def document(played: whatif.WhatIfRun, trace: Path, prediction: Prediction) -> WhatIf:
    """For `--json`."""
    load, order, rows, opened = prediction.load, prediction.order, prediction.rows, prediction.opened
    recording = whatif.recorded_of(load)
    by_label = {storage.label: storage for storage in prediction.settings}
    shown = [
        PredictedSetting(
            row.setting,
            by_label[row.setting].values,
            by_label[row.setting].described["settings"],
            Predicted.of(row),
            [
                PredictedProgram.of(rows[row.setting, name], program=name)
                for name in prediction.programs
                if (row.setting, name) in rows
            ],
            Predicted.of(opened[row.setting, FOREGROUND]) if opened else None,
            carries(row, recording),
        )
        for row in order
    ]
    return WhatIf(
        run_id=played.run.run_id,
        trace=str(trace),
        requests=load.requests,
        device=load.device,
        repeats=played.run.plan["repetitions"],
        best=[row.setting for row in as_good(order, recording)],
        answer=sentence(order, recording),
        recorded={
            "p50_ms": recording.p50_ns and recording.p50_ns / 1e6,
            "p99_ms": recording.p99_ns and recording.p99_ns / 1e6,
            "rate_mb_per_s": recording.rate_bytes_per_s / 1e6,
            "iops": recording.iops,
            "elapsed_s": recording.elapsed_s,
        },
        settings=shown,
        programs=[
            RecordedProgram(group.name, group.role, group.programs, group.requests, group.bytes, group.hows)
            for group in load.groups
        ],
        notes=prediction.notes,
        assumed=load.assumed,
        hangs_on=prediction.hangs_on,
    )


def assumption_lines(
    load: TracedLoad, settings: Sequence[CandidateStorage], seeds: Sequence[int], best: str, threads: int
) -> list[str]:
    """Whether the answer stays with the other assumption about programs that the recording does not decide."""
    unsure = [program for program in load.programs if not program.shape.is_sure and program.shape.how != "open"]
    if len(settings) < 2 or not unsure:
        return []
    results = whatif.play(load, settings, seeds, threads=threads, replay_open=True)
    tails = []
    for setting, outcome in zip(settings, results, strict=True):
        made = whatif.phase_of(outcome[0]["phases"][0], load.groups, FOREGROUND)
        tails.append((percentile_ns(made.latency_bins, 99) or 0, setting.label))
    other = min(tails)[1]
    least, own = min(tails)[0], next(tail for tail, label in tails if label == best)
    if own <= 1.05 * least:
        return [f"The answer does not hang on that: {best} is best, too, if all come at their times"]
    return [f"The answer hangs on that: if all requests come at their times, {other} is best"]
