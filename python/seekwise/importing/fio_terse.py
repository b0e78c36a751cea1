"""fio's terse output, version 3 (`--output-format=terse`, `--minimal`): one line of fields per job or group.

The fields and their order: fio's HOWTO, "Terse output". The line has no options: whether access was random, and how many
threads a group had, must be told (`--given operation=…`, `--given threads=…`); a job name such as `randread` tells the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from seekwise.importing.result import KIB, Format, Given, Result, Source, phase
from seekwise.store.operations import Operation
from seekwise.store.record import Phase

FIELDS_LEAST = 92
READ, WRITE, CPU = 5, 46, 87
"""First field of reads, of writes, of CPU."""
TOTAL_KIB, IOPS, RUNTIME_MS = 0, 2, 3
PERCENTILES, TOTAL_LATENCY = 12, 32
"""Offsets within a side: latencies are min, max, mean, deviation in µs; 20 percentiles as `99.000000%=122`."""


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
    lines = [line.split(";") for line in source.lines if line[1:6] == ";fio-"]
    for fields in lines:
        if fields[0] not in ("3", "4"):
            raise source.error(
                f"terse output of version {fields[0]}, only version 3 is read", hint="fio --terse-version=3, or json+"
            )
        if len(fields) < FIELDS_LEAST:
            raise source.error(
                f"a line has {len(fields)} fields instead of at least {FIELDS_LEAST}; was it cut off?",
                hint="fio prints one line per job; it must not be wrapped",
            )
    phases, threads = [], 1
    ordered = sorted(lines, key=lambda fields: source.whole(fields[3], "group"))
    for _, group in groupby(ordered, key=lambda fields: fields[3]):
        jobs = list(group)
        threads = max(threads, len(jobs))
        phases.append(_phase(source, jobs, given))
    failed = [fields[4] for fields in lines if fields[4] not in ("", "0")]
    note = "CPU time is left out: fio's terse output does not say how many threads ran (`--given threads=N`)"
    notes = () if given.threads else (note,)
    return [
        Result(
            phases=tuple(phases),
            tool=lines[0][1],
            threads=given.threads or threads,
            block_bytes=given.block_bytes,
            iodepth=given.iodepth,
            options={"job": lines[0][2]},
            notes=notes,
            invalid_reason=f"fio reports error {failed[0]}" if failed else None,
        )
    ]


def _phase(source: Source, jobs: list[list[str]], given: Given) -> Phase:
    sides = {
        name: [side for fields in jobs if (side := _side(source, fields, start)) is not None]
        for name, start in (("read", READ), ("write", WRITE))
    }
    all_sides = sides["read"] + sides["write"]
    if not all_sides:
        raise source.error(f"job {jobs[0][2]!r} neither read nor wrote")
    ios = sum(side.ios for side in all_sides)
    elapsed_s = max(side.elapsed_s for side in all_sides)
    user, system = (_cpu(source, jobs, field, given) for field in (CPU, CPU + 1))
    return phase(
        _operation(source, jobs, given, reads=bool(sides["read"]), writes=bool(sides["write"])),
        elapsed_s=elapsed_s,
        total_bytes=sum(side.bytes for side in all_sides),
        ios=ios,
        mean_ns=sum(side.mean_ns * side.ios for side in all_sides) / ios if ios else 0.0,
        max_ns=max(side.max_ns for side in all_sides),
        percentiles_ns=all_sides[0].percentiles_ns if len(all_sides) == 1 else {},
        user_s=user,
        system_s=system,
        percentiles_by_side_ns={name: [side.percentiles_ns for side in each] for name, each in sides.items() if each},
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
        percentiles,
    )


def _cpu(source: Source, jobs: list[list[str]], field: int, given: Given) -> float:
    """Seconds: fio gives percent of the run time of all threads together, and not how many those were."""
    if given.threads is None:
        return 0.0
    share = sum(source.number(fields[field].rstrip("%"), "CPU percent") for fields in jobs) / len(jobs) / 100
    runtime_s = max(source.number(fields[start + RUNTIME_MS], "run time") for fields in jobs for start in (READ, WRITE))
    return share * given.threads * runtime_s / 1e3


def _operation(source: Source, jobs: list[list[str]], given: Given, *, reads: bool, writes: bool) -> Operation:
    if reads and writes:
        return "mixed"
    direction = "write" if writes else "read"
    names = {fields[2].lower().replace("-", "").replace("_", "") for fields in jobs}
    if given.operation is not None and given.operation != "mixed":
        pattern = given.operation.split("_")[0]
    elif all("rand" in name for name in names):
        pattern = "rand"
    elif all(name.removeprefix("seq").removeprefix("uential") in ("read", "write") for name in names):
        pattern = "seq"
    else:
        raise source.error(
            f"fio's terse output does not say whether job {jobs[0][2]!r} was sequential or random",
            hint=f"say it: `--given operation=rand_{direction}` or `--given operation=seq_{direction}`",
        )
    return f"{pattern}_{direction}"  # type: ignore[return-value]


FORMAT = Format(
    "fio-terse",
    "fio terse output, version 3",
    _recognises,
    _read,
    takes=("operation", "threads", "block", "iodepth"),
)
