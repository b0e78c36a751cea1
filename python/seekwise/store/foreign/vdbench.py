"""vdbench's flatfile.html: one trial per run (RD), from its `avg_` row; the rows of single intervals are its windows.

MB are 2^20 bytes, response times milliseconds. There is no distribution of response times, and CPU is percent of the whole
machine. A run without an `avg_` row was not finished.
"""

from __future__ import annotations

import itertools
import re

from seekwise.store.foreign.model import MIB, Format, Given, Result, Source, phase
from seekwise.store.record import Operation, Phase

NEEDED = ("tod", "Run", "Interval", "rate", "MB/sec", "read%", "resp", "resp_max", "xfersize", "threads", "seekpct")
DAY_S = 86400.0


def _header(source: Source) -> int | None:
    for number, line in enumerate(source.lines):
        words = line.split()
        if words[:1] == ["tod"] and "Run" in words and "Interval" in words:
            return number
    return None


def _recognises(source: Source) -> bool:
    return _header(source) is not None or "* Run       : Name of run from RD=" in source.text


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    start = _header(source)
    if start is None:
        raise source.error("the line with the names of the columns (`tod … Run Interval …`) is missing")
    names = source.lines[start].split()
    if missing := [name for name in NEEDED if name not in names]:
        raise source.error(f"column {missing[0]!r} is missing")
    results: list[Result] = []
    intervals: list[dict[str, str]] = []
    for number, line in enumerate(source.lines[start + 1 :], start + 2):
        words = line.split()
        if not words or line.lstrip().startswith(("*", "<")) or words == names:
            continue
        if len(words) != len(names):
            raise source.error(f"line {number} has {len(words)} values under {len(names)} columns; was it cut off?")
        row = dict(zip(names, words, strict=True))
        if row["Interval"].startswith("avg_"):
            results.append(_result(source, number, row, intervals, given))
            intervals = []
        else:
            intervals.append(row)
    if not results:
        raise source.error("no run was finished: there is no `avg_` row", hint="vdbench writes it at the end of a run")
    return results


def _result(source: Source, number: int, row: dict[str, str], intervals: list[dict[str, str]], given: Given) -> Result:
    where = f"line {number}"
    match = re.fullmatch(r"avg_(\d+)-(\d+)", row["Interval"])
    if match is None or int(match[1]) > int(match[2]):
        raise source.error(f"{where}: interval {row['Interval']!r} is none such as avg_2-10")
    counted = [each for each in intervals if each["Interval"].isdigit() and int(match[1]) <= int(each["Interval"]) <= int(match[2])]  # fmt: skip
    length_s = _interval_s(source, where, intervals)
    elapsed_s = (int(match[2]) - int(match[1]) + 1) * length_s
    rate = source.number(row["rate"], f"{where}: rate")
    mib_s = source.number(row["MB/sec"], f"{where}: MB/sec")
    if rate <= 0 or mib_s <= 0:
        raise source.error(f"{where}: run {row['Run']!r} did nothing (rate {row['rate']})")
    block = int(row["xfersize"]) if row["xfersize"].isdigit() and int(row["xfersize"]) > 0 else None
    made = phase(
        _operation(source, where, row),
        elapsed_s=elapsed_s,
        total_bytes=mib_s * MIB * elapsed_s,
        ios=rate * elapsed_s,
        mean_ns=source.number(row["resp"], f"{where}: resp") * 1e6,
        max_ns=source.number(row["resp_max"], f"{where}: resp_max") * 1e6,
        cpu_percent_of_machine={name: row[name] for name in ("cpu_used", "cpu_user", "cpu_kernel") if name in row},
    )
    windows = tuple(
        (source.number(each["MB/sec"], f"{where}: MB/sec") * MIB, source.number(each["resp"], f"{where}: resp") * 1e6)
        for each in counted
    )
    made = Phase(**{**made.__dict__, "windows": windows})
    return Result(
        phases=(made,),
        tool=f"vdbench-{row.get('version', 'n/a').replace('n/a', 'version unknown')}",
        threads=given.threads or (int(row["threads"]) if row["threads"].isdigit() else None),
        block_bytes=block,
        more={"load": row["Run"]},
        started_at=f"{intervals[0]['tod'] if intervals else row['tod']} (day unknown)",
        notes=(
            "vdbench's flatfile has mean and longest response time, no distribution: no p99",
            "vdbench's CPU is percent of the whole machine: kept, but not compared",
        ),
    )


def _interval_s(source: Source, where: str, intervals: list[dict[str, str]]) -> float:
    """Seconds between rows, rounded: vdbench's intervals are whole seconds."""
    times = [_seconds(source, where, each["tod"]) for each in intervals]
    gaps = sorted((later - earlier) % DAY_S for earlier, later in itertools.pairwise(times))
    if not gaps:
        return 1.0
    return max(1.0, float(round(gaps[len(gaps) // 2])))


def _seconds(source: Source, where: str, text: str) -> float:
    match = re.search(r"(\d+):(\d+):(\d+(?:\.\d+)?)", text)
    if match is None:
        raise source.error(f"{where}: {text[:20]!r} before it is no time of day")
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])


def _operation(source: Source, where: str, row: dict[str, str]) -> Operation:
    share = source.number(row["read%"], f"{where}: read%")
    if 0.5 < share < 99.5:
        return "mixed"
    seek = row["seekpct"]
    random = not (seek in ("seq", "seqnz", "eof", "n/a") or source.number(seek, f"{where}: seekpct") < 50)
    return f"{'rand' if random else 'seq'}_{'read' if share >= 99.5 else 'write'}"  # type: ignore[return-value]


FORMAT = Format("vdbench", "vdbench flatfile.html", _recognises, _read, takes=("threads",))
