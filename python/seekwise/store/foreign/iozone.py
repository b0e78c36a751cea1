"""IOzone's tables (one row per file and record size) and its throughput mode (`-t`, several processes).

kB are 2^10 bytes. Tables leave the columns of tests that were not run blank, so values are found by their place under the
header, counted from the record size (mails and web pages move the margin). `-O` prints operations per second.
Several reports in one file are repeats. IOzone prints no latencies and no CPU; writes and reads are the first pass, the second
passes (rewrite, reread) are cells of their own.
"""

from __future__ import annotations

import re

from seekwise.store.foreign.model import KIB, Format, Given, Result, Source, phase, phase_of_rate
from seekwise.store.record import Operation

COLUMNS = ("write", "rewrite", "read", "reread", "random read", "random write", "backward read", "record rewrite",
           "stride read", "fwrite", "frewrite", "fread", "freread")  # fmt: skip
MEASURED: dict[str, Operation] = {
    "write": "seq_write",
    "rewrite": "seq_write",
    "read": "seq_read",
    "reread": "seq_read",
    "random read": "rand_read",
    "random write": "rand_write",
}
HEADER = re.compile(r"^\s*(?:kB|KB)\s+reclen\s+write\s+rewrite\s+read\s+reread\b")
THROUGHPUT = re.compile(
    r"Children see throughput for\s+(\d+)\s+([a-z -]+?)\s*=\s*([\d.]+) (kB/sec|KB/sec|ops/sec)", re.IGNORECASE
)
TESTS = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "random readers": "random read",
    "random writers": "random write",
}
EACH = re.compile(r"Each process writes a (\d+) k?Byte file in (\d+) k?Byte records", re.IGNORECASE)
MARGIN = 3


def _recognises(source: Source) -> bool:
    return any(HEADER.match(line) for line in source.lines) or THROUGHPUT.search(source.text) is not None


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    results: list[Result] = []
    header: str | None = None
    sizes: re.Match | None = None
    ops = direct = False
    for number, line in enumerate(source.lines, 1):
        if "Run began" in line or "Performance Test of File I/O" in line:
            header, sizes, ops, direct = None, None, False, False
        elif "OPS Mode" in line:
            ops = True
        elif "microseconds per op" in line.lower():
            raise source.error("holds microseconds per operation (iozone -N), not rates", hint="run it without -N")
        elif "O_DIRECT feature enabled" in line:
            direct = True
        elif HEADER.match(line):
            header = line
        elif match := EACH.search(line):
            sizes = match
        elif match := THROUGHPUT.search(line):
            results += _throughput(source, number, match, sizes, direct, given)
        elif header and re.match(r"^\s*\d+\s+\d+\s+\S", line):
            results += _row(source, number, line, header, ops=ops, direct=direct, given=given)
    if not results:
        raise source.error("the report has no results; was iozone ended early?")
    return results


def _result(
    source: Source,
    number: int,
    test: str,
    value: float,
    *,
    record: int,
    size: int | None,
    ops: bool,
    direct: bool,
    threads: int | None,
) -> Result:
    if value <= 0:
        raise source.error(f"line {number}: {test} has a rate of 0")
    bytes_per_s = value * record if ops else value * KIB
    total = (size or 0) * (threads or 1)
    if total:
        made = phase(
            MEASURED[test], elapsed_s=total / bytes_per_s, total_bytes=total, ios=total / record if record else 0
        )
    else:
        made = phase_of_rate(MEASURED[test], bytes_per_s, bytes_per_s / record if record else 0)
    notes = ["IOzone prints no latencies and no CPU time"]
    if not direct:
        notes.append("IOzone without -I (O_DIRECT) reads what it has just written: the page cache may have answered")
    return Result(
        phases=(made,),
        tool="iozone",
        threads=threads,
        block_bytes=record or None,
        iodepth=1,
        more={
            **({"file_bytes": size} if size else {}),
            "load": test,
            "direct": direct,
        },
        notes=tuple(notes),
    )


def _throughput(
    source: Source, number: int, match: re.Match, sizes: re.Match | None, direct: bool, given: Given
) -> list[Result]:
    test = TESTS.get(match[2].strip().lower())
    if test is None:
        return []
    threads = int(match[1])
    if threads < 1:
        raise source.error(f"line {number}: {threads} processes")
    record = given.block_bytes or (int(sizes[2]) * KIB if sizes else 0)
    ops = match[4].startswith("ops")
    if ops and not record:
        raise source.error(f"line {number} counts operations, whose size is not in the file", hint="`--given block=4k`")
    value = source.number(match[3], f"line {number}: throughput")
    size = int(sizes[1]) * KIB if sizes else None
    return [_result(source, number, test, value, record=record, size=size, ops=ops, direct=direct, threads=threads)]


def _row(source: Source, number: int, line: str, header: str, *, ops: bool, direct: bool, given: Given) -> list[Result]:
    numbers = list(re.finditer(r"\S+", line))
    values = {}
    kib, record_kib = (source.whole(each[0], f"line {number}: sizes", least=1) for each in numbers[:2])
    if len(numbers) == 2 + len(COLUMNS):
        values = dict(zip(COLUMNS, (each[0] for each in numbers[2:]), strict=True))
    else:
        ends = [each.end() for each in re.finditer(r"\S+", header)]
        shift = numbers[1].end() - ends[1]
        places = dict(zip(COLUMNS, ends[2:], strict=False))
        for each in numbers[2:]:
            name = min(places, key=lambda column: abs(places[column] + shift - each.end()))
            if abs(places[name] + shift - each.end()) > MARGIN or name in values:
                raise source.error(
                    f"line {number}: {each[0]!r} stands under no column of the header",
                    hint="spaces inside the table must be kept: they tell which tests were run",
                )
            values[name] = each[0]
    return [
        _result(
            source, number, test, source.number(values[test], f"line {number}: {test}"),
            record=record_kib * KIB, size=kib * KIB, ops=ops, direct=direct, threads=given.threads or 1,
        )
        for test in MEASURED
        if test in values and values[test] != "0"
    ]  # fmt: skip


FORMAT = Format("iozone", "IOzone tables and throughput reports", _recognises, _read, takes=("threads", "block"))
