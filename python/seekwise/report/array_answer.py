"""Which array to build: the recommendation of a sweep, in words and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from seekwise.judge.design_choice import ERROR, ArrayResult, DesignChoice, choose
from seekwise.linux.facts import kernel_version
from seekwise.number_text import listed, three
from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.content import Advice, QuestionTable
from seekwise.report.layout import joined
from seekwise.simulate import trial_spec
from seekwise.simulate.design import kept
from seekwise.simulate.design.space import Point, failures_text
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Record
from seekwise.workload.study.quantity import capacity_text, time_text

ROWS_MOST = 9


@dataclass(frozen=True)
class DesignedArray:
    """The best settings that were found for an array, and what they gave."""

    name: str
    level: str
    """raid0, raid1, raid10, raid5 or raid6."""
    drives: int
    chunk_kib: int | None
    scheduler: str
    queue_depth: int
    read_ahead_kib: int | None
    """Null where no load reads through the page cache."""
    capacity_bytes: int
    """Usable."""
    survives_failures: int
    rebuild_s: float | None
    """Time to rebuild one drive without other load."""
    rates_mb_s: dict[str, float]
    """{use: MB/s of its first foreground job}, and of each further one by the job's name behind the use's."""
    p99_ms: float
    cpu_us: float
    """CPU time of the host per request."""
    relative_rate: float
    """Of the fastest array's; over several uses the geometric mean."""
    seeds: int
    on_front: bool
    """On the Pareto front of rate, p99, CPU, usable capacity and number of drives."""


@dataclass(frozen=True)
class DesignDocument:
    """`design DRIVE --json`."""

    SCHEMA: ClassVar = "seekwise.design/2"

    run_id: str
    drive: str
    kernel: str
    loads: list[str]
    data_bytes: int
    """How much of the array random requests reached."""
    seed: int
    combinations: int
    """Of array, chunk, scheduler, queue depth and read-ahead; each was simulated."""
    trials: int
    equals: dict[str, list[str | int]]
    """{setting of the recommended array: values that do as well, each in place of its own value alone}."""
    wanted_rate_mb_s: float | None
    recommended: DesignedArray
    command: str
    arrays: list[DesignedArray]
    headline: str
    provenance: Literal["simulated"] = "simulated"


def of_records(records: Sequence[Record]) -> DesignChoice | None:
    """The choice of a stored run of `design`; None for any other run."""
    asked_and_finalists = kept.of_records(records)
    return choose(*asked_and_finalists) if asked_and_finalists else None


def headline(answer: DesignChoice) -> str:
    """What to build and what it gives."""
    chosen, point, wanted = answer.chosen, answer.chosen.point, answer.asked.wanted_mb_s
    array = point.array
    if wanted is not None:
        why = f"the fewest drives that reach {three(wanted)} MB/s"
    else:
        why = "the fastest" if len(answer.level) == 1 else f"as fast as any {WITHIN_MODEL} ({100 * ERROR:.0f} %)"
    throughputs = ", ".join(f"{load} {three(rate)} MB/s" for load, rate in chosen.rates_mb_s.items())
    told = _settings(answer)
    settings = f", with {', '.join(told)}" if told else ""
    return (
        f"Build {chosen.name}{settings}: {capacity_text(array.capacity_bytes)} usable, survives "
        f"{failures_text(array.survives)}, {why} ({throughputs}; p99 {three(chosen.p99_ms)} ms)."
    )


def advice(answer: DesignChoice, cautions: tuple[str, ...]) -> Advice:
    """The answer with what it rests on."""
    array = answer.chosen.point.array
    said = []
    if array.survives == 0:
        said.append("One failed drive of this array loses all data.")
    elif array.rebuild_s is not None:
        said.append(f"Rebuilding a drive takes {time_text(array.rebuild_s)} with no other load, longer under load.")
    fewest = min(answer.level, key=lambda row: (row.point.array.drives, -row.score))
    if answer.asked.wanted_mb_s is None and fewest.point.array.drives < array.drives:
        said.append(f"{fewest.name} is as fast with fewer drives: the load does not need more.")
    if same := _equals_text(answer.chosen):
        said.append(same)
    if kernel_version(answer.asked.kernel) >= (6, 19):
        said.append(f"{NEWER_SUPERBLOCK}.")
    return Advice(
        headline(answer),
        (*said, _how(answer.asked)),
        (mdadm(answer.chosen.point), *_settings(answer).values()),
        (f"sudo mdadm --stop /dev/md0 && sudo mdadm --zero-superblock {DRIVES}",),
        caution=cautions,
        recommended=(answer.chosen.name,),
    )


DRIVES = "DRIVE …"


def _settings(answer: DesignChoice) -> dict[str, str]:
    """{what is advised besides the array: the line that sets it}. What the model cannot tell from the kernel's own choice is not advised."""
    point, equals = answer.chosen.point, answer.chosen.equals
    usual = trial_spec.default_scheduler(answer.asked.kernel, answer.asked.drive)
    told = {}
    if point.scheduler != usual and usual not in equals.get("scheduler", ()):
        line = f"echo {point.scheduler} | sudo tee /sys/block/NAME/queue/scheduler   # of each drive"
        told[f"scheduler {point.scheduler}"] = line
    if "depth" not in equals and point.depth == 1:
        told[f"queue depth {point.depth}"] = (
            f"echo {point.depth} | sudo tee /sys/block/NAME/device/queue_depth   # of each drive"
        )
    if point.read_ahead_kib and "read_ahead_kib" not in equals:
        told[f"read-ahead {point.read_ahead_kib} KiB"] = (
            f"echo {point.read_ahead_kib} | sudo tee /sys/block/md0/queue/read_ahead_kb"
        )
    return told


NEWER_SUPERBLOCK = "Linux 6.18 and before cannot assemble an array that is created under 6.19 or later"
"""Its superblock holds the logical block size, in a field that must be 0 for them (commits 62ed1b582246, a4166f1c4893)."""


def mdadm(point: Point) -> str:
    """The command that makes the array."""
    chunk = f" --chunk {point.chunk_kib}" if point.chunk_kib else ""
    level = point.array.level.removeprefix("raid")
    return f"sudo mdadm --create /dev/md0 --level {level}{chunk} -n {point.array.drives} {DRIVES}"


def table(answer: DesignChoice) -> QuestionTable:
    """Every array; on a screen without room for all, the Pareto front."""
    brief, (use, *further) = shortened_front(answer), answer.asked.uses
    rates = {load: joined(f"{load.removeprefix(use)} MB/s".strip()) for load in answer.chosen.rates_mb_s}
    return QuestionTable(
        ("Array", "Usable", "Survives", *(["Rate"] if further else rates.values()), joined("p99 ms"), joined("CPU µs")),
        [
            (
                row.name, capacity_text(row.point.array.capacity_bytes), str(row.point.array.survives),
                *([f"{100 * row.score:.0f} %"] if further else (three(row.rates_mb_s[load]) for load in rates)),
                three(row.p99_ms), three(row.cpu_us),
            )
            for row in answer.rows
        ],
        caption="CPU: host time per request.",
        has_storage_above=False,
        brief=tuple(place for place, row in enumerate(answer.rows) if row in brief),
        values=dict(
            enumerate(
                (
                    *([[row.score for row in answer.rows]] if further else ([row.rates_mb_s[load] for row in answer.rows] for load in rates)),
                    [row.p99_ms for row in answer.rows],
                    [row.cpu_us for row in answer.rows],
                ),
                start=3,
            )
        ),
    )  # fmt: skip


def shortened_front(answer: DesignChoice) -> list[ArrayResult]:
    """The Pareto front, shortened where it is long: the recommended array, then the ends of each level, then what lies
    between."""
    on = [row for row in answer.rows if row.on_front]
    wanted = [answer.chosen]
    for level in dict.fromkeys(row.point.array.level for row in on):
        same = sorted((row for row in on if row.point.array.level == level), key=lambda row: row.point.array.drives)
        wanted += [same[-1], same[0], same[len(same) // 2]]
    kept = list(dict.fromkeys([*wanted, *on]))[:ROWS_MOST]
    return sorted(kept, key=lambda row: -row.score)


def _how(asked: kept.Asked) -> str:
    return (
        f"Simulated: {asked.title}, Linux {asked.kernel}; random requests reach {capacity_text(asked.data_bytes)}. "
        f"{asked.combinations:,} combinations in {asked.trials:,} trials."
    )


EQUALS = {
    "chunk_kib": "chunk {} KiB",
    "scheduler": "scheduler {}",
    "depth": "queue depth {}",
    "read_ahead_kib": "read-ahead {} KiB",
}


def _equals_text(row: ArrayResult) -> str:
    """`Within what the model can tell, one at a time: chunk 64, 128 or 512 KiB (7 %); …`; empty where every setting
    matters."""
    parts = [
        f"{EQUALS[name].format(listed(map(str, values)).replace(' and ', ' or '))} ({100 * gain_error((name,)):.0f} %)"
        for name, values in row.equals.items()
    ]
    return f"{WITHIN_MODEL[0].upper()}{WITHIN_MODEL[1:]}, one at a time: {'; '.join(parts)}." if parts else ""


def document(answer: DesignChoice, run_id: str) -> DesignDocument:
    """What `--json` prints."""
    asked = answer.asked
    return DesignDocument(
        run_id=run_id,
        drive=asked.drive,
        kernel=asked.kernel,
        loads=list(asked.uses),
        data_bytes=asked.data_bytes,
        seed=asked.seed,
        combinations=asked.combinations,
        trials=asked.trials,
        equals=answer.chosen.equals,
        wanted_rate_mb_s=asked.wanted_mb_s,
        recommended=_array(answer.chosen),
        command=mdadm(answer.chosen.point),
        arrays=[_array(row) for row in answer.rows],
        headline=headline(answer),
    )


def _array(row: ArrayResult) -> DesignedArray:
    point, array = row.point, row.point.array
    return DesignedArray(
        row.name, array.level, array.drives, point.chunk_kib or None, point.scheduler, point.depth, point.read_ahead_kib or None,
        array.capacity_bytes, array.survives, array.rebuild_s, row.rates_mb_s, row.p99_ms, row.cpu_us, row.score, row.seeds, row.on_front,
    )  # fmt: skip
