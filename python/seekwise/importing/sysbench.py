"""`sysbench fileio … run`: 1.1 (`read:  IOPS=… MiB/s` under `Throughput:`, no total time), 1.0 (rates under `File
operations:`) and 0.4/0.5 (`Operations performed:`).

MiB and Mb are 2^20 bytes. sysbench's events include its fsyncs, and so do its latencies: with fsyncs in the run the
latency is no access time of reads or writes, and is kept without being judged. One percentile is printed (95 unless
`--percentile` says otherwise); `--histogram` prints the whole distribution.
"""

from __future__ import annotations

import re
from dataclasses import replace

from seekwise.importing.result import MIB, Format, Given, Result, Source, headings, phase, tool_text
from seekwise.store.operations import Operation
from seekwise.store.record import Phase
from seekwise.workload.study.quantity import parse_bytes

MODES: dict[str, Operation] = {
    "random read": "rand_read",
    "random write": "rand_write",
    "random r/w": "mixed",
    "sequential read": "seq_read",
    "sequential write (creation)": "seq_write",
    "sequential rewrite": "seq_write",
}
OLD = re.compile(r"Operations performed:\s+(\d+)\s+reads?,\s+(\d+)\s+writes?,\s+(\d+)\s+Other", re.IGNORECASE)
MODE = re.compile(r"Doing (.+?) test", re.IGNORECASE)
HISTOGRAM = re.compile(r"^[^\S\n]*([\d.]+) \|\**[^\S\n]+(\d+)[^\S\n]*$", re.MULTILINE)


RESULT = re.compile(r"File operations:|Operations performed:|^[^\S\n]*fsync: IOPS=", re.MULTILINE)
BANNER = re.compile(r"^[^\S\n]*sysbench \d", re.MULTILINE)


def _recognises(source: Source) -> bool:
    return BANNER.search(source.text) is not None or (RESULT.search(source.text) is not None and "fsync" in source.text)


def _read(sources: list[Source], given: Given) -> list[Result]:
    """Of each run in the file: the outputs of `prepare` and `cleanup` between them have no results."""
    (source,) = sources
    lines = source.lines
    starts = [number for number, line in enumerate(lines) if BANNER.match(line)] or [0]
    parts = ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    runs = [(start, part) for start, part in zip(starts, parts, strict=True) if RESULT.search(part)]
    if len(runs) < 2:
        return _of_run(Source(source.path, runs[0][1].encode()) if runs else source, given)
    titles = headings(lines, [start for start, _ in runs])
    return [
        replace(result, setting=title or None, document=number)
        for number, ((_, part), title) in enumerate(zip(runs, titles, strict=True))
        for result in _of_run(Source(source.path, part.encode()), given)
    ]


def _of_run(source: Source, given: Given) -> list[Result]:
    text = source.text
    mode = MODE.search(text)
    if mode is None:
        raise source.error("is no result of sysbench fileio", hint="only `sysbench fileio … run` measures storage")
    operation = MODES.get(mode[1].strip().lower())
    if operation is None:
        raise source.error(f"the test {mode[1]!r} of sysbench is unknown")
    old = OLD.search(text)
    total = re.search(r"total time:\s+([\d.]+)s", text)
    threads = re.search(r"Number of threads:\s+(\d+)", text)
    scale = 1.0
    if total is None and "IOPS=" in text:
        # 1.1 prints the time of all threads together, in ms.
        total = re.search(r"^[^\S\n]+sum:[^\S\n]+([\d.]+)[^\S\n]*$", text, re.MULTILINE)
        scale = 1e3 * int(threads[1] if threads else given.threads or 1)
    if total is None:
        fatal = re.search(r"^FATAL: .{1,200}", text, re.MULTILINE)
        why = f"sysbench ended with `{fatal[0]}`" if fatal else "was sysbench ended early?"
        raise source.error(f"the total time is missing; {why}")
    elapsed_s = source.number(total[1], "total time") / scale
    if elapsed_s <= 0:
        raise source.error("the total time is 0")
    if old is None:
        reads, writes, syncs = (
            _found(source, rf"\b{name}(?:e?s/s)?:\s+(?:IOPS=)?([\d.]+)", name) for name in ("read", "write", "fsync")
        )
        mib_s = sum(
            _found(source, rf"\b{name}(?:, MiB/s)?:\s+(?:IOPS=[\d.]+ )?([\d.]+)(?: MiB/s|\s*$)", name)
            for name in ("read", "write" if "IOPS=" in text else "written")
        )
        ios, syncs, total_bytes = (reads + writes) * elapsed_s, syncs * elapsed_s, mib_s * MIB * elapsed_s
    else:
        moved = re.search(r"Total transferred ([\d.]+)([KMG])b", text, re.IGNORECASE)
        if moved is None:
            raise source.error("what was moved is missing; was sysbench ended early?")
        ios, syncs = float(old[1]) + float(old[2]), float(old[3])
        total_bytes = float(moved[1]) * {"K": 2**10, "M": MIB, "G": 2**30}[moved[2].upper()]
    if ios <= 0 or total_bytes <= 0:
        raise source.error("no reads or writes were done")
    done = phase(operation, elapsed_s=elapsed_s, total_bytes=total_bytes, ios=ios, test=mode[1])
    done, notes = _with_latency(done, source, syncs)
    block = re.search(r"^Block size (\S+)$", text, re.MULTILINE)
    flags = re.search(r"Extra file open flags:(.*)", text)
    version = re.search(r"^\s*sysbench (\d\S*?):?\s", text)
    return [
        Result(
            phases=(done,),
            tool=tool_text("sysbench", version[1] if version else None),
            threads=given.threads or (int(threads[1]) if threads else None),
            block_bytes=given.block_bytes or _block(source, block),
            iodepth=1,
            keeps_depth=operation in ("seq_read", "rand_read"),
            more={"load": mode[1].lower()},
            options={"extra file open flags": flags[1].strip() if flags else ""},
            notes=(*notes, "sysbench prints no CPU time"),
        )
    ]


def _block(source: Source, match: re.Match[str] | None) -> int | None:
    if match is None:
        return None
    try:
        return parse_bytes(match[1])
    except ValueError:
        raise source.error(f"block size {match[1]!r} is none such as 16KiB") from None


def _with_latency(done: Phase, source: Source, syncs: float) -> tuple[Phase, list[str]]:
    """(the phase with what is said of latency, sentences about that)."""
    unit = r"\s*(?:ms)?"
    latencies = {
        name: _found(source, rf"^\s+{name}:\s+([\d.]+){unit}\s*$", f"{name} latency") for name in ("avg", "max")
    }
    percentile = re.search(r"(\d+)(?:th)? percentile:\s+([\d.]+)", source.text)
    levels = {percentile[1]: round(float(percentile[2]) * 1e6)} if percentile else {}
    bins: dict[int, int] = {}
    if "Latency histogram" in source.text:
        for value, count in HISTOGRAM.findall(source.text.partition("Latency histogram")[2]):
            bins[round(float(value) * 1e6)] = bins.get(round(float(value) * 1e6), 0) + int(count)
    if syncs >= 1:
        details = {**done.details, "latency_of_events_ms": latencies, "percentiles_of_events_ns": levels}
        return replace(done, details=details), [
            "sysbench's latency includes its fsyncs (--file-fsync-freq), so it is kept but not compared"
        ]
    done = replace(
        done,
        latency_bins=dict(sorted(bins.items())),
        latency_mean_ns=latencies["avg"] * 1e6,
        latency_max_ns=round(latencies["max"] * 1e6),
        reported_percentiles_ns={} if bins else levels,
    )
    missing = not bins and "99" not in levels
    return done, ["p99 is absent: sysbench prints it with `--percentile=99` or `--histogram`"] if missing else []


def _found(source: Source, pattern: str, what: str) -> float:
    match = re.search(pattern, source.text, re.MULTILINE)
    if match is None:
        raise source.error(f"the {what} is missing; was sysbench ended early?")
    return source.number(match[1], what)


FORMAT = Format("sysbench", "sysbench fileio", _recognises, _read, takes=("threads", "block"))
