"""How the answer of `whatif` is printed: a sentence, a table with the foreground's latency first, and what hangs on an assumption."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from seekwise.judge.predicted import WhatIfRow, as_good
from seekwise.measure import whatif
from seekwise.measure.whatif import CandidateStorage, members
from seekwise.report.whatif_answer import sentence, time_word
from seekwise.store.percentiles import percentile_ns
from seekwise.trace.load import FOREGROUND, Group, TracedLoad, recorded_percentile_ns

ROWS_SHOWN = 8
GROUPS_SHOWN = 3


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
    def of(cls, row: WhatIfRow, **more: str) -> Self:
        """In the units that are printed."""
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


@dataclass(frozen=True)
class RecordedProgram:
    """Programs of one name in the trace."""

    program: str
    role: str
    processes: int
    requests: int
    bytes: int
    how: dict[str, int]
    """Requests that wait for all earlier ones (`replies`), for one of them (`slots`), for the queue (`admitted`), for nothing (`open`)."""


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
    """p50_ms and p99_ms of the foreground in the trace."""
    settings: list[PredictedSetting]
    """The best one first."""
    programs: list[RecordedProgram]
    notes: Sequence[str]
    assumed: Sequence[str]
    hangs_on: Sequence[str]
    """Whether the answer stays with the other assumption."""


def table(
    order: Sequence[WhatIfRow],
    found: dict[tuple[str, str], WhatIfRow],
    load: TracedLoad,
    opened: dict[tuple[str, str], WhatIfRow] | None,
) -> list[str]:
    """Foreground first, then each group of programs where there are several; at most 80 columns."""
    width = min(max([len("as recorded"), *(len(row.setting) for row in order)]), 26 if opened else 36)
    head = f"{'setting':{width}} {'p50':>8} {'p99':>8} {'MB/s':>7} {'IOPS':>7} {'time':>7}"
    said = [head + (f" {'open p99':>9}" if opened else "")]
    said += [_recorded(load, width)]
    for row in order[:ROWS_SHOWN]:
        more = f" {time_word(opened[row.setting, FOREGROUND].p99_ns):>9}" if opened else ""
        said += _lines(row.setting, row, width, more)
    if len(order) > ROWS_SHOWN:
        said.append(f"and {len(order) - ROWS_SHOWN} more (`seekwise results` and --json have all)")
    shown = [group for group in load.groups if group.requests]
    if len(shown) > 1 and order:
        best = order[0].setting
        said += ["", f"by program, with {best}:"]
        for group in shown[:GROUPS_SHOWN]:
            own = found.get((best, group.name))
            if own is not None:
                said += _lines(f"  {group.name}", own, width)
        if len(shown) > GROUPS_SHOWN:
            said.append(f"  and {len(shown) - GROUPS_SHOWN} more")
    return said


def _lines(name: str, row: WhatIfRow, width: int, more: str = "") -> list[str]:
    """The figures of a setting; what of its name does not fit stands below."""
    first, *rest = textwrap.wrap(name, width, subsequent_indent="  ", break_on_hyphens=False) or [""]
    figures = (
        f"{first:{width}} {time_word(row.p50_ns):>8} {time_word(row.p99_ns):>8} {_number(row.rate_bytes_per_s / 1e6):>7} "
        f"{_number(row.iops):>7} {seconds(row.elapsed_s):>7}{more}"
    )
    return [figures, *rest]


def _recorded(load: TracedLoad, width: int) -> str:
    groups = front(load)
    half, tail = recorded_percentile_ns(groups, 50), recorded_percentile_ns(groups, 99)
    first = min((group.first_ns for group in groups), default=0)
    elapsed = max(max((group.last_ns for group in groups), default=1) - first, 1) / 1e9
    moved, count = sum(group.bytes for group in groups), sum(group.requests for group in groups)
    return (
        f"{'as recorded':{width}} {time_word(half) if half else '-':>8} {time_word(tail) if tail else '-':>8} "
        f"{_number(moved / 1e6 / elapsed):>7} {_number(count / elapsed):>7} {seconds(elapsed):>7}"
    )


def front(load: TracedLoad) -> list[Group]:
    """Groups of programs that somebody waits for."""
    return [load.groups[number] for number in members(load.groups, FOREGROUND)]


def dependence_words(load: TracedLoad) -> str:
    """How the requests come, in one line: what hangs on the storage and what does not."""
    total = max(sum(sum(group.hows.values()) for group in load.groups), 1)
    of = {
        how: sum(group.hows.get(how, 0) for group in load.groups) / total
        for how in ("replies", "slots", "admitted", "open")
    }
    closed = of["replies"] + of["slots"] + of["admitted"]
    return f"{100 * closed:.0f} % of the requests wait for earlier ones, here as in the recording; {100 * of['open']:.0f} % come at their times"


def seconds(value: float) -> str:
    """`4.2 s`, `12 m`."""
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} m"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def document(
    played: Any,
    trace: Any,
    load: TracedLoad,
    settings: Sequence[CandidateStorage],
    order: Sequence[WhatIfRow],
    found: dict[tuple[str, str], WhatIfRow],
    opened: dict[tuple[str, str], WhatIfRow] | None,
    hangs: Sequence[str],
    said: Sequence[str],
) -> WhatIf:
    """For `--json`."""
    programs = [group.name for group in load.groups if group.requests]
    half, tail = recorded_percentile_ns(front(load), 50), recorded_percentile_ns(front(load), 99)
    by_label = {each.label: each for each in settings}
    shown = [
        PredictedSetting(
            row.setting,
            by_label[row.setting].values,
            by_label[row.setting].described["settings"],
            Predicted.of(row),
            [
                PredictedProgram.of(found[row.setting, name], program=name)
                for name in programs
                if (row.setting, name) in found
            ],
            Predicted.of(opened[row.setting, FOREGROUND]) if opened else None,
        )
        for row in order
    ]
    return WhatIf(
        run_id=played.run.run_id,
        trace=str(trace),
        requests=load.requests,
        device=load.device,
        repeats=played.run.plan["repetitions"],
        best=[row.setting for row in as_good(order)],
        answer=sentence(order, tail),
        recorded={"p50_ms": half and half / 1e6, "p99_ms": tail and tail / 1e6},
        settings=shown,
        programs=[
            RecordedProgram(each.name, each.role, each.programs, each.requests, each.bytes, each.hows)
            for each in load.groups
        ],
        notes=said,
        assumed=load.assumed,
        hangs_on=hangs,
    )


def assumption_lines(
    load: TracedLoad, settings: Sequence[CandidateStorage], seeds: Sequence[int], best: str, threads: int
) -> list[str]:
    """Whether the answer stays with the other assumption about programs that the recording does not decide."""
    unsure = [each for each in load.programs if not each.shape.is_sure and each.shape.how != "open"]
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
