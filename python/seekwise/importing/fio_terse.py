"""fio's terse output, versions 3 to 5 (`--output-format=terse`, `--minimal`): one line of fields per job or group.

The fields and their order: fio's HOWTO, "Terse output". The line has no options: whether access was random, and how
many threads a group had, must be told (`--given operation=…`, `--given threads=…`). The first is told, too, by the line
`name: (g=0): rw=…` where fio printed it before, and by a job name such as `randread`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import log2

from seekwise.grouping import grouped
from seekwise.importing.fio_documents import NO_LATENCIES
from seekwise.importing.fio_text import OPENING, block_of, depth_in
from seekwise.importing.result import KIB, Format, Given, Latency, Result, Source, phase
from seekwise.store.operations import Operation, pure
from seekwise.store.record import CpuSeconds, Phase

READ = 5
"""First field of reads; those of writes follow, from version 4 on also those of trims, then CPU."""
LAYOUTS = {"3": (41, 2), "4": (41, 3), "5": (47, 3)}
"""{version: (fields of a direction, directions)}, as fio 3.33 prints them: 5 adds the samples of bandwidth and of
IOPS."""
TOTAL_KIB, IOPS, RUNTIME_MS = 0, 2, 3
PERCENTILES, TOTAL_LATENCY = 12, 32
"""Offsets within a side: latencies are min, max, mean, deviation in µs; 20 percentiles as `99.000000%=122`."""
BEFORE_DISKS, DISK_FIELDS = 34, 9
"""Fields from CPU on to the first disk (5 of CPU, 7 of depths, 22 of latencies), and those of a disk."""
IOPS_WITH_DIGITS, SIZE_SLACK = 8, 0.02
LEAST_INTERVAL_MS = 450
"""Run time that a state has more than the one before; runs of one length differ by some milliseconds."""


@dataclass(frozen=True)
class TerseDirection:
    bytes: float
    ios: float
    elapsed_s: float
    mean_ns: float
    max_ns: float
    percentiles_ns: dict[str, int]


def _recognises(source: Source) -> bool:
    return any(line[:6] in ("2;fio-", "3;fio-", "4;fio-", "5;fio-") for line in source.lines)


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    # Of a job with `stats=0` fio prints an empty line of group -1, of one whose turn has not come a line of zeros.
    every = [_line(source, line) for line in source.lines if line[1:6] == ";fio-"]
    if not every:
        raise source.error("no line is of fio's terse output")
    lines = [line for line in every if line.group >= 0] or every
    runs, earlier = _runs([line for line in lines if line.kib] or lines)
    said = (
        f"{source.path}: {earlier} earlier states of the same run left out (`--status-interval`): the last one holds the run",
    )
    openings = {match["name"]: match for line in source.lines if (match := OPENING.match(line))}
    results = []
    for number, run in enumerate(runs):
        loads = grouped((line.load, line) for line in run)
        for load, jobs in loads.items():
            beside = [_names(others) for other, others in loads.items() if other[0] == load[0] and other != load]
            # Without options, names alone tell the loads of a run apart.
            more: dict[str, str | int | float | bool] = {"job": _names(jobs)} if len(loads) > 1 else {}
            more |= {"beside": "; ".join(beside)} if beside else {}
            failed = [line.fields[4] for line in jobs if line.fields[4] not in ("", "0")]
            opening = openings.get(jobs[0].name)
            made = _phase(source, jobs, given, opening)
            block = given.block_bytes or block_of(opening, set(jobs[0].sides)) or _block(made)
            depth, depth_note = depth_in(opening, given)
            more |= {"ioengine": opening["engine"]} if opening else {}
            results.append(
                Result(
                    phases=(made,),
                    tool=jobs[0].fields[1],
                    threads=given.threads or len(jobs),
                    block_bytes=block,
                    iodepth=depth,
                    more=more,
                    options={"job": jobs[0].name},
                    notes=(
                        *(said if earlier else ()),
                        *([depth_note] if depth_note else []),
                        *_notes(made, jobs, given, block),
                    ),
                    keeps_depth=made.operation in ("seq_read", "rand_read"),
                    invalid_reason=f"fio reports error {failed[0]}" if failed else None,
                    job=_names(jobs),
                    document=number,
                )
            )
    return results


def _runs(lines: list[TerseLine]) -> tuple[list[list[TerseLine]], int]:
    """(the runs of a file, states of runs that a later one replaces): every line of a run has the same figures of its
    disks."""
    states: list[list[TerseLine]] = []
    for line in lines:
        last = states[-1][-1] if states else None
        if last is None or line.group < last.group or line.disk != last.disk:
            states.append([])
        states[-1].append(line)
    runs: list[list[TerseLine]] = []
    earlier, is_growing = 0, False
    for state in states:
        is_growing = bool(runs) and _continues(runs[-1], state, LEAST_INTERVAL_MS if not is_growing else 0)
        if is_growing:
            runs.pop()
            earlier += 1
        runs.append(state)
    return runs, earlier


def _continues(before: list[TerseLine], after: list[TerseLine], least_ms: float) -> bool:
    """Whether the same jobs have gone on for a while; jobs that wait for their turn are not among the first."""
    names = [(line.group, line.name) for line in after]
    grown = [then.kib - line.kib for line, then in zip(before, after, strict=False)]
    longer_ms = sum(line.runtime_ms for line in after) - sum(line.runtime_ms for line in before)
    return (
        [(line.group, line.name) for line in before] == names[: len(before)]
        and min(grown) >= 0
        and (sum(grown) > 0 or len(after) > len(before))
        and longer_ms >= least_ms
    )


@dataclass(frozen=True)
class TerseLine:
    """A line of fields, with the place of each part by its version."""

    source: Source
    fields: list[str]
    write: int
    cpu: int
    group: int

    @property
    def name(self) -> str:
        """Of the job."""
        return self.fields[2]

    @cached_property
    def sides(self) -> dict[str, TerseDirection]:
        """Reads and writes, as far as there are any."""
        found = {
            name: _side(self.source, self.fields, start) for name, start in (("read", READ), ("write", self.write))
        }
        return {name: side for name, side in found.items() if side is not None}

    @property
    def kib(self) -> float:
        """Read and written."""
        return sum(side.bytes for side in self.sides.values()) / KIB

    @property
    def runtime_ms(self) -> float:
        """Of the longer side."""
        return max((side.elapsed_s for side in self.sides.values()), default=0.0) * 1e3

    @property
    def disk(self) -> list[str]:
        """Counters of the first disk, as they stood when the line was printed; none where fio found no disk."""
        start = self.cpu + BEFORE_DISKS
        return self.fields[start : start + DISK_FIELDS] if self.fields[start + DISK_FIELDS - 1 :][:1] else []

    @property
    def load(self) -> tuple[object, ...]:
        """What tells the loads of a group apart: names, but for numbers, directions, and sizes of requests to the power
        of two, where IOPS, which are whole, have the digits."""
        sizes = (
            (name, round(log2(side.bytes / side.ios)) if side.ios >= IOPS_WITH_DIGITS * side.elapsed_s else 0)
            for name, side in self.sides.items()
        )
        return (self.group, re.sub(r"\d+", "#", self.name), *sizes)


def _names(jobs: list[TerseLine]) -> str:
    return ", ".join(dict.fromkeys(line.name for line in jobs))


def _block(made: Phase) -> int | None:
    """What every request moved on average, where that is a power of two: IOPS are printed as whole numbers."""
    if made.iops < 1 / SIZE_SLACK:
        return None
    size = 2 ** round(log2(made.bytes / made.ios))
    return size if abs(made.bytes / made.ios / size - 1) <= SIZE_SLACK and made.operation != "mixed" else None


def _line(source: Source, text: str) -> TerseLine:
    fields = text.split(";")
    layout = LAYOUTS.get(fields[0])
    if layout is None:
        raise source.error(
            f"terse output of version {fields[0]}, only versions {', '.join(LAYOUTS)} are read",
            hint="fio --output-format=terse --terse-version=3, or json+",
        )
    length, directions = layout
    cpu = READ + length * directions
    if len(fields) < cpu + 5:
        raise source.error(
            f"a line has {len(fields)} fields instead of at least {cpu + 5}; was it cut off?",
            hint="fio prints one line per job, which must not be wrapped; of `unified_rw_reporting` it prints less, and JSON is read",
        )
    return TerseLine(source, fields, READ + length, cpu, source.whole(fields[3], "group", least=-1))


def _notes(made: Phase, jobs: list[TerseLine], given: Given, block: int | None) -> tuple[str, ...]:
    said = []
    if len(jobs) > 1:
        apart = (
            "" if jobs[0].disk else ": without counters of disks, runs appended one after the other need a file each"
        )
        said.append(
            f"{_names(jobs)}: {len(jobs)} lines of one group were added up, as of jobs that ran together{apart}"
        )
    if not given.threads:
        said.append("CPU time is left out: fio's terse output does not say how many threads ran (`--given threads=N`)")
    if not block:
        said.append("fio's terse output does not say the request size (`--given block=4k`)")
    if made.latency_mean_ns == 0:
        said.append(NO_LATENCIES)
    return tuple(said)


def _phase(source: Source, jobs: list[TerseLine], given: Given, opening: re.Match[str] | None) -> Phase:
    sides = {name: [line.sides[name] for line in jobs if name in line.sides] for name in ("read", "write")}
    all_sides = sides["read"] + sides["write"]
    if not all_sides:
        raise source.error(f"job {jobs[0].name!r} neither read nor wrote")
    ios = sum(side.ios for side in all_sides)
    elapsed_s = max(side.elapsed_s for side in all_sides)
    user, system = (_cpu(source, jobs, field, given) for field in (0, 1))
    return phase(
        _operation(source, jobs, given, opening, reads=bool(sides["read"]), writes=bool(sides["write"])),
        elapsed_s=elapsed_s,
        total_bytes=sum(side.bytes for side in all_sides),
        ios=ios,
        latency=Latency(
            mean_ns=sum(side.mean_ns * side.ios for side in all_sides) / ios if ios else 0.0,
            max_ns=max(side.max_ns for side in all_sides),
            percentiles_ns=all_sides[0].percentiles_ns if len(all_sides) == 1 else {},
        ),
        cpu=CpuSeconds(user, system),
        percentiles_by_side_ns={
            name: [side.percentiles_ns for side in of_jobs] for name, of_jobs in sides.items() if of_jobs
        },
    )


def _side(source: Source, fields: list[str], start: int) -> TerseDirection | None:
    """Reads or writes of one job; None where it did none."""
    job = f"job {fields[2]!r}"
    total_kib = source.number(fields[start + TOTAL_KIB], f"KiB moved by {job}")
    runtime_ms = source.number(fields[start + RUNTIME_MS], f"run time of {job}")
    if total_kib == 0:
        return None
    if runtime_ms == 0:
        raise source.error(f"{job} moved {total_kib:g} KiB in no time")
    iops = source.number(fields[start + IOPS], f"IOPS of {job}")
    percentiles = {}
    for field in fields[start + PERCENTILES : start + TOTAL_LATENCY]:
        percent, equals, value = field.partition("%=")
        if not equals:
            raise source.error(f"{field[:30]!r} of {job} is no percentile", hint="fields must not be moved or removed")
        if (level := source.number(percent, f"a percentile of {job}")) > 0:
            percentiles[f"{level:g}"] = int(source.number(value, f"percentile {percent} of {job}") * 1e3)
    # The total has no submission part where the engine is synchronous; then both are the same.
    return TerseDirection(
        total_kib * KIB,
        iops * runtime_ms / 1e3,
        runtime_ms / 1e3,
        source.number(fields[start + TOTAL_LATENCY + 2], f"mean latency of {job}") * 1e3,
        source.number(fields[start + TOTAL_LATENCY + 1], f"longest latency of {job}") * 1e3,
        percentiles if any(percentiles.values()) else {},
    )


def _cpu(source: Source, jobs: list[TerseLine], field: int, given: Given) -> float:
    """Seconds: fio gives percent of the run time of all threads together, and not how many those were."""
    if given.threads is None:
        return 0.0
    percent = (source.number(line.fields[line.cpu + field].rstrip("%"), "CPU percent") for line in jobs)
    share = sum(percent) / len(jobs) / 100
    runtime_s = max(
        source.number(line.fields[start + RUNTIME_MS], "run time") for line in jobs for start in (READ, line.write)
    )
    return share * given.threads * runtime_s / 1e3


def _operation(
    source: Source, jobs: list[TerseLine], given: Given, opening: re.Match[str] | None, *, reads: bool, writes: bool
) -> Operation:
    if reads and writes:
        return "mixed"
    direction = "write" if writes else "read"
    names = {line.name.lower().replace("-", "").replace("_", "") for line in jobs}
    if given.operation is not None and given.operation != "mixed":
        pattern = given.operation.split("_")[0]
    elif opening:
        pattern = "rand" if opening["rw"].startswith("rand") else "seq"
    elif all("rand" in name for name in names):
        pattern = "rand"
    elif all(name.removeprefix("seq").removeprefix("uential") in ("read", "write") for name in names):
        pattern = "seq"
    else:
        raise source.error(
            f"fio's terse output does not say whether job {jobs[0].name!r} was sequential or random",
            hint=f"have fio write JSON, which says it: `fio … --output-format=json+ --output=NAME.json`; or, of one load, add "
            f"`--given operation=rand_{direction}` or `--given operation=seq_{direction}`",
        )
    return pure(is_random=pattern == "rand", is_write=writes)


FORMAT = Format(
    "fio-terse",
    "fio terse output, versions 3 to 5",
    _recognises,
    _read,
    takes=("operation", "threads", "block", "iodepth"),
)
