"""tiotest's tables and terse lines, with the faults of its versions recognised and repaired.

Source: github.com/mkuoppal/tiobench and its history; what each version prints and counts:

| version | CPU % | MBs of random tests |
|---|---|---|
| to 0.3.2 (before 2001) | of each thread, summed: right | right |
| 0.3.3, 0.3.4 | of the whole process, summed over threads: up to N times too high where threads share one process (NPTL) | right |
| 0.3.5 | same fault | whole file |
| 0.4.0 to 0.4.2 before 2023-02 | divided by N: right | the whole file, though only `-r` operations ran (1000 per thread) |
| later | divided by N: right | right |

The version is not printed. The CPU fault proves itself where more CPU was used than N threads (or `--given
processors=P`) can use. The amount fault proves itself where the operations claimed would have taken longer than the
test did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from seekwise.importing.result import MIB, Format, Given, Latency, Result, Source, headings, phase, tool_text
from seekwise.store import operations
from seekwise.store.operations import Operation
from seekwise.store.record import CpuSeconds, Phase

HEAD = re.compile(r"Tiotest results for (\d+) concurrent io threads")
RATE = re.compile(r"\|\s*(Random Write|Random Read|Write|Read)\s+(\S+) MBs\s*\|(.*)")
LATENCY = re.compile(r"\|\s*(Random Write|Random Read|Write|Read)\s*\|\s*(\S+) ms\s*\|\s*(\S+) ms\s*\|")
COMMAND = re.compile(r"\btiotest\b[^\n]*")
TERSE = re.compile(r"^(write|rwrite|read|rread):(.*)$", re.MULTILINE)
OPERATION: dict[str, Operation] = {
    "Write": "seq_write",
    "Random Write": "rand_write",
    "Read": "seq_read",
    "Random Read": "rand_read",
    "write": "seq_write",
    "rwrite": "rand_write",
    "read": "seq_read",
    "rread": "rand_read",
}
BLOCK_BYTES = 4096
RANDOM_OPERATIONS = 1000
"""Per thread: tiotest's defaults in the versions concerned."""
TIME_ROUNDING_S = 0.05


@dataclass(frozen=True)
class ResultLine:
    """One line of the results: CPU in percent of the wall-clock time, as printed."""

    operation: Operation
    mib: float
    elapsed_s: float
    rate_mib_s: float
    user_percent: float
    system_percent: float
    mean_ms: float = 0.0
    max_ms: float = 0.0


def _recognises(source: Source) -> bool:
    terse = TERSE.findall(source.text)
    return HEAD.search(source.text) is not None or (bool(terse) and "total:" in source.text)


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    lines = source.lines
    heads = {number: int(head[1]) for number, line in enumerate(lines) if (head := HEAD.search(line))}
    starts = list(heads)
    if not starts:
        return [_terse(source, given)]
    command = COMMAND.search("\n".join(line for line in lines if "-d" in line or "-t" in line or "-f" in line))
    results = []
    titles = headings(lines, starts)
    for start, end, title in zip(starts, [*starts[1:], len(lines)], titles, strict=True):
        threads = heads[start]
        if threads < 1:
            raise source.error(f"line {start + 1} speaks of {threads} threads")
        result = _result(source, _table(source, lines[start:end], start), threads, given, command[0] if command else "")
        results.append(replace(result, setting=title) if title else result)
    return results


def _table(source: Source, lines: list[str], offset: int) -> list[ResultLine]:
    rows: dict[str, ResultLine] = {}
    for number, line in enumerate(lines, offset + 1):
        if match := RATE.search(line):
            rows[match[1]] = _row(source, match, number)
        elif match := LATENCY.search(line):
            if match[1] not in rows:
                raise source.error(f"line {number} has the latency of {match[1]!r}, whose rate is missing")
            rows[match[1]] = replace(
                rows[match[1]],
                mean_ms=source.number(match[2], f"line {number}: average latency"),
                max_ms=source.number(match[3], f"line {number}: maximum latency"),
            )
    if not rows:
        raise source.error(
            "a table of tiotest has no row that can be read", hint="rows look like `| Write 256 MBs | …`"
        )
    return list(rows.values())


def _row(source: Source, match: re.Match[str], number: int) -> ResultLine:
    # Fast disks overflow the columns: fields are found by their units, not by their place.
    time = re.search(r"([\d.]+) s\b", match[3])
    rate = re.search(r"([\d.]+) MB/s", match[3])
    cpu = re.findall(r"([\d.]+) %", match[3])
    if time is None or rate is None or len(cpu) < 2:
        raise source.error(
            f"line {number}: the {'time' if time is None else 'rate' if rate is None else 'CPU'} of {match[1]!r} is missing",
            hint="the table must not be shortened or wrapped",
        )
    elapsed = source.number(time[1], f"line {number}: time")
    throughput = source.number(rate[1], f"line {number}: rate")
    mib = source.number(match[2], f"line {number}: MBs")
    # The time is printed to 0.1 s; amount and rate give it more exactly.
    exact = mib / throughput if throughput > 0 and mib >= 10 else elapsed
    if throughput <= 0:
        raise source.error(f"line {number}: a rate of 0 MB/s")
    user, system = (source.number(text, f"line {number}: CPU") for text in cpu[:2])
    return ResultLine(OPERATION[match[1]], mib, exact or mib / throughput, throughput, user, system)


def _terse(source: Source, given: Given) -> Result:
    rows = []
    for match in TERSE.finditer(source.text):
        fields = match[2].split(",")
        if len(fields) < 6:
            raise source.error(f"`{match[1]}:` has {len(fields)} fields instead of 8", hint="a line of tiotest -T")
        mib, elapsed, user, system, mean, longest = (source.number(text, f"`{match[1]}:`") for text in fields[:6])
        if mib == 0:
            continue
        if elapsed <= 0:
            raise source.error(f"`{match[1]}:` moved {mib:g} MiB in no time")
        rows.append(
            ResultLine(
                OPERATION[match[1]],
                mib,
                elapsed,
                mib / elapsed,
                100 * user / elapsed,
                100 * system / elapsed,
                mean,
                longest,
            )
        )
    if not rows:
        raise source.error("tiotest ran no test", hint="every line says 0 MiB")
    if given.threads is None:
        raise source.error(
            "tiotest's terse output does not say how many threads ran", hint="say it: `--given threads=4`"
        )
    return _result(source, rows, given.threads, given, "")


def _result(source: Source, rows: list[ResultLine], threads: int, given: Given, command: str) -> Result:
    block = given.block_bytes or _option_bytes(command) or BLOCK_BYTES
    divisor, cpu_note = _cpu_divisor(rows, threads, given)
    phases, notes = [], [cpu_note] if cpu_note else []
    for row in rows:
        repaired, note = _amount(row, rows, threads, block, given)
        if note:
            notes.append(note)
        if repaired is not None:
            phases.append(_phase(repaired, row, block, divisor))
    if not phases:
        raise source.error("nothing in it can be relied on", hint="; ".join(notes))
    if not given.block_bytes and not _option_bytes(command):
        notes.append("tiotest does not print its block size: 4096 bytes, its default, was taken (`--given block=64k`)")
    return Result(
        phases=tuple(phases),
        tool=tool_text("tiotest", given.tool_version),
        threads=threads,
        block_bytes=block,
        iodepth=1,
        options={"command": command} if command else {},
        # Writes go to the page cache and are flushed at the end: the rate has that time, the latency has not.
        keeps_depth=not any(phase.operation.endswith("write") for phase in phases),
        notes=tuple(dict.fromkeys(notes)),
    )


def _option_bytes(command: str) -> int | None:
    match = re.search(r"-b\s*(\d+)", command)
    return int(match[1]) if match else None


def version_of(given: Given) -> tuple[int, ...] | None:
    """`0.3.3` as (0, 3, 3)."""
    return tuple(int(part) for part in re.findall(r"\d+", given.tool_version))[:3] if given.tool_version else None


def counts_process_per_thread(version: tuple[int, ...]) -> bool:
    """Versions that add the CPU time of the whole process once per thread."""
    return (0, 3, 3) <= version < (0, 4, 0)


def _cpu_divisor(rows: list[ResultLine], threads: int, given: Given) -> tuple[float, str]:
    """(what the printed CPU is divided by, the sentence about it)."""
    if threads == 1:
        return 1.0, ""
    version = version_of(given)
    worst = max(row.user_percent + row.system_percent for row in rows)
    able = 100.0 * min(threads, given.processors or threads)
    repair = f"CPU time divided by {threads}: tiotest counted that of the whole process once for each of its {threads} threads"
    if version is not None:
        is_many_times = counts_process_per_thread(version)
        return (float(threads), f"{repair} (version {given.tool_version})") if is_many_times else (1.0, "")
    if worst > able * 1.02:
        return float(threads), (
            f"{repair}: it printed {worst:.0f} %, but "
            f"{f'{given.processors} CPUs' if able < 100 * threads else f'{threads} threads'} can use {able:.0f} % at most"
        )
    return 1.0, (
        f"CPU time is as printed; tiotest 0.3.3 and 0.3.4 print up to {threads} times too much with {threads} threads, and "
        "its output does not tell its version (`--given tool-version=0.3.3`)"
    )


def _amount(
    row: ResultLine, rows: list[ResultLine], threads: int, block: int, given: Given
) -> tuple[ResultLine | None, str]:
    """The row with the amount that was really moved, and the sentence about it; None where that cannot be known."""
    if not row.operation.startswith("rand"):
        return row, ""
    twin = next((other for other in rows if other.operation == row.operation.replace("rand", "seq")), None)
    version = version_of(given)
    whole_file = twin is not None and abs(twin.mib - row.mib) < 0.5
    overstates = version is not None and (0, 4, 0) <= version < (0, 4, 3)
    if version is not None and not (overstates and (whole_file or twin is None)):
        return row, ""
    if version is None and not (whole_file and _impossible(row, threads, block)):
        if whole_file:
            return row, (
                f"{operations.name(row.operation).lower()}: the amount is that of the whole file, which tiotest 0.4.0 to 0.4.2 print even when less was "
                "moved; their rates would be too high (`--given tool-version=0.4.2`)"
            )
        return row, ""
    count = threads * (given.random_operations or RANDOM_OPERATIONS)
    mib = count * block / MIB
    said = "" if given.random_operations else " (its default; `--given random-operations=N` says otherwise)"
    note = (
        f"{operations.name(row.operation).lower()}: {row.mib:.0f} MiB printed, {mib:.1f} MiB moved: tiotest counted the whole file instead of "
        f"{count // threads} operations per thread{said}"
    )
    return replace(row, mib=mib, rate_mib_s=mib / row.elapsed_s), note


def _impossible(row: ResultLine, threads: int, block: int) -> bool:
    """The operations claimed, each of the average latency, would have taken longer than the test."""
    busy_s = row.mib * MIB / block / threads * row.mean_ms / 1e3
    return busy_s > 1.1 * row.elapsed_s + TIME_ROUNDING_S


def _phase(row: ResultLine, printed: ResultLine, block: int, divisor: float) -> Phase:
    total_bytes, cpu_s = row.mib * MIB, printed.elapsed_s / 100 / divisor
    return phase(
        row.operation,
        elapsed_s=row.elapsed_s,
        total_bytes=total_bytes,
        ios=total_bytes / block,
        latency=Latency(mean_ns=row.mean_ms * 1e6, max_ns=row.max_ms * 1e6),
        cpu=CpuSeconds(printed.user_percent * cpu_s, printed.system_percent * cpu_s),
        as_printed={
            "mib": printed.mib, "rate_mib_per_s": printed.rate_mib_s,
            "user_cpu_percent": printed.user_percent, "system_cpu_percent": printed.system_percent,
        },
    )  # fmt: skip


FORMAT = Format(
    "tiotest",
    "tiotest tables and terse lines",
    _recognises,
    _read,
    takes=("threads", "block", "tool-version", "processors", "random-operations"),
)
