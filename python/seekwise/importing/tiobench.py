"""tables of tiobench.pl, 0.3.x and 0.4.x: every row is one trial, its identifier the configuration.

Rows are read from the right, so that both layouts, long identifiers and tables that people shortened are understood:

    identifier [file size MiB] [block bytes] threads rate MiB/s (CPU%) average ms maximum ms >2s% >10s% efficiency

Of its faults (see `tiotest.py`) two are repaired: CPU of 0.3.3 and 0.3.4, where the share proves it or
`--given tool-version=` says it, and latencies, which `--numruns N` prints N times too large (`--given numruns=N`).
The CPU share is user and system together; it is kept, and not used as system CPU.
"""

from __future__ import annotations

import re
from dataclasses import replace

from seekwise.importing.result import MIB, Format, Given, Latency, Result, Source, headings, phase, tool_text
from seekwise.importing.tiotest import counts_process_per_thread, version_of
from seekwise.store.operations import Operation

TITLES: dict[str, Operation] = {
    "sequential reads": "seq_read",
    "random reads": "rand_read",
    "sequential writes": "seq_write",
    "random writes": "rand_write",
}
NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+|#+)"
NUMBERS_OF_A_ROW = 5
"""A line with fewer is no row that somebody shortened."""
ROW = re.compile(
    rf"^\s*(?P<front>\S.*?)\s+(?P<threads>\d+)\s+(?P<rate>{NUMBER})\s+(?P<cpu>[\d.]+|#+)%\s+(?P<mean>{NUMBER})"
    rf"\s+(?P<max>{NUMBER})\s+(?P<over2>{NUMBER})\s+(?P<over10>{NUMBER})\s+(?P<efficiency>{NUMBER}|\S+)\s*$"
)
FRONT = re.compile(r"^(?P<name>.*?)(?:\s+(?P<size>\d+)\s+(?P<block>\d+))?$")
SIZE = re.compile(r"File size\s*=\s*(\d+)\s*MB", re.IGNORECASE)
BLOCK = re.compile(r"Blk Size\s*=\s*(\d+)\s*B?", re.IGNORECASE)
COLUMNS = re.compile(r"\bThr\b.*\bRate\b.*CPU%.*Latency")


def _title(line: str) -> Operation | None:
    return TITLES.get(line.strip().lower())


def _recognises(source: Source) -> bool:
    return any(_title(line) for line in source.lines) and any(COLUMNS.search(line) for line in source.lines)


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    size_said, block_said = SIZE.search(source.text), BLOCK.search(source.text)
    operation: Operation | None = None
    results: list[Result] = []
    empty: list[str] = []
    places: list[int] = []
    lines = source.lines
    for number, line in enumerate(lines, 1):
        if title := _title(line):
            operation = title
            empty.append(line.strip())
            continue
        if operation is None or "%" not in line or COLUMNS.search(line) or "Lat%" in line:
            continue
        match = ROW.match(line)
        if match is None:
            if len(re.findall(rf"(?<!\S){NUMBER}%?(?!\S)", line)) < NUMBERS_OF_A_ROW:
                continue  # prose beside the table: "about 20% faster than before"
            raise source.error(f"line {number} is no row of tiobench: {line.strip()[:60]!r}")
        empty = empty[:-1] if empty and TITLES[empty[-1].lower()] == operation else empty
        front = FRONT.match(match["front"])
        size_mib = _number_of_row_or_head(front["size"] if front else None, size_said)
        block = given.block_bytes or _number_of_row_or_head(front["block"] if front else None, block_said)
        results.append(_result(source, number, match, operation, size_mib, block, given))
        places.append(number - 1)
    results = _titled(lines, results, places)
    if not results:
        raise source.error("its tables have no rows", hint="the rows below `Sequential Reads` and so on are needed")
    if empty:
        raise source.error(f"the table {empty[0]!r} has no rows; was the file cut off?")
    return results


PREAMBLE = re.compile(
    r"\s*(Unit information|No size specified|(File size|Blk Size|Rate|CPU%|Latency|Lat%|CPU Eff)\s*=|Run #)",
    re.IGNORECASE,
)


def _titled(lines: list[str], results: list[Result], places: list[int]) -> list[Result]:
    """Of several outputs in one text, the set-up is the heading above each: their identifiers are that of one
    kernel."""
    titles = [number for number, line in enumerate(lines) if _title(line)]
    # A second output begins where an operation comes again.
    starts, seen = [], set[Operation]()
    for number in titles:
        operation = TITLES[lines[number].strip().lower()]
        if operation in seen or not seen:
            starts.append(number)
            seen = set()
        seen.add(operation)
    named = headings(lines, starts, PREAMBLE)
    if len(starts) < 2 or not any(named):
        return results
    several = len({result.setting for result in results}) > 1
    titled = []
    for result, place in zip(results, places, strict=True):
        name = named[max(at for at, start in enumerate(starts) if start <= place)]
        titled.append(replace(result, setting=f"{name} {result.setting}" if several else name))
    return titled


def _number_of_row_or_head(in_row: str | None, in_head: re.Match[str] | None) -> int | None:
    if in_row is not None:
        return int(in_row)
    return int(in_head[1]) if in_head else None


def _result(
    source: Source,
    number: int,
    match: re.Match[str],
    operation: Operation,
    size_mib: int | None,
    block: int | None,
    given: Given,
) -> Result:
    where = f"line {number}"
    threads = int(match["threads"])
    if threads < 1:
        raise source.error(f"{where}: {threads} threads")
    if "#" in match["rate"]:
        raise source.error(
            f"{where}: the rate did not fit its column and was printed as {match['rate']}",
            hint="take the row out; tiobench 0.4 has wider columns",
        )
    throughput = source.number(match["rate"], f"{where}: rate")
    if throughput <= 0:
        raise source.error(f"{where}: a rate of 0")
    runs = given.numruns or 1
    mean_ms = 0.0 if "#" in match["mean"] else source.number(match["mean"], f"{where}: average latency") / runs
    max_ms = 0.0 if "#" in match["max"] else source.number(match["max"], f"{where}: maximum latency") / runs
    cpu, notes = _cpu(match["cpu"], threads, given)
    notes.append("tiobench's CPU share is user and system CPU together: kept, but not used as system CPU")
    if runs > 1:
        notes.append(f"latencies divided by {runs}: tiobench.pl adds those of its runs up (numruns={runs})")
    elapsed_s, total_bytes = 1.0, throughput * MIB
    if size_mib and operation.startswith("seq"):
        elapsed_s, total_bytes = size_mib / throughput, size_mib * MIB
    if not block:
        notes.append("the block size is not in the file, so there are no IOPS (`--given block=4k`)")
    timed = phase(
        operation,
        elapsed_s=elapsed_s,
        total_bytes=total_bytes,
        ios=total_bytes / block if block else 0,
        latency=Latency(mean_ns=mean_ms * 1e6, max_ns=max_ms * 1e6),
        cpu_percent=cpu,
        cpu_percent_as_printed=match["cpu"],
        over_2_s_percent=match["over2"],
        over_10_s_percent=match["over10"],
    )
    front = FRONT.match(match["front"])
    return Result(
        phases=(timed,),
        tool=tool_text("tiobench", given.tool_version),
        threads=threads,
        block_bytes=block,
        iodepth=1,
        setting=front["name"] if front else match["front"],
        more={"file_mib": size_mib} if size_mib else {},
        # Writes go to the page cache and are flushed at the end: the rate has that time, the latency has not.
        keeps_depth=not operation.endswith("write"),
        notes=tuple(notes),
    )


def _cpu(text: str, threads: int, given: Given) -> tuple[float | None, list[str]]:
    """(percent of one CPU, sentences about it)."""
    if "#" in text:
        return None, []
    percent = float(text)
    version = version_of(given)
    able = 100.0 * min(threads, given.processors or threads)
    if threads > 1 and (
        (version and counts_process_per_thread(version)) or (version is None and percent > able * 1.02)
    ):
        return percent / threads, [
            f"CPU share of rows with {threads} threads divided by {threads}: tiobench counted the whole process once per thread"
        ]
    return percent, []


FORMAT = Format(
    "tiobench", "tables of tiobench.pl", _recognises, _read, takes=("block", "numruns", "tool-version", "processors")
)
