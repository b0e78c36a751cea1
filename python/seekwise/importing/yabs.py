"""fio's results as yabs.sh (Yet-Another-Bench-Script) prints them: its table, and its JSON (`-j`, `-w FILE`).

    Block Size | 4k            (IOPS) | 64k           (IOPS)
    Read       | 388.78 MB/s  (97.1k) | 1.23 GB/s    (19.2k)
    Write      | 389.81 MB/s  (97.4k) | 1.23 GB/s    (19.3k)

Reads and writes half and half at random, two jobs, 64 requests deep, direct (its script:
`--rw=randrw --rwmixread=50 --iodepth=64 --numjobs=2`).
Its rates are fio's KiB/s divided by thousands: MB/s stands for 1,024,000 bytes. Latencies are not measured
(`--gtod_reduce=1`).
"""

from __future__ import annotations

import json
import re

from seekwise.bounds import JSON_VALUES
from seekwise.importing.result import KIB, Format, Given, Result, Source, phase
from seekwise.workload.study.quantity import parse_bytes

HEAD = re.compile(r"^(?:>\s?)*\s*Block Size\s*\|(.*\(IOPS\).*)$")
ROW = re.compile(r"^(?:>\s?)*\s*(Read|Write)\s*\|(.*)$")
CELL = re.compile(r"([\d.]+)\s*([KMG]B)/s\s*\(\s*([\d.]+)\s*(k|m)?\s*\)")
KIB_PER_S = {"KB": 1.0, "MB": 1e3, "GB": 1e6}
THREADS, IODEPTH = 2, 64


def _recognises(source: Source) -> bool:
    return "fio Disk Speed Tests" in source.text or _is_json(source)


def _is_json(source: Source) -> bool:
    return '"speed_units"' in source.text and '"iops_r"' in source.text


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    sides = _of_json(source) if _is_json(source) else _of_table(source)
    results = [_result(block, side, given) for block, side in sides.items() if sum(rate for rate, _ in side.values())]
    if not results:
        raise source.error(
            "the results of yabs have no rates", hint="the rows `Read` and `Write` of its table are needed"
        )
    return results


def _of_table(source: Source) -> dict[str, dict[str, tuple[float, float]]]:
    """{request size: {Read or Write: (KiB/s, IOPS)}}"""
    sides: dict[str, dict[str, tuple[float, float]]] = {}
    blocks: list[str] = []
    for line in source.lines:
        if head := HEAD.match(line):
            blocks = [cell.replace("(IOPS)", "").strip() for cell in head[1].split("|")]
        elif row := ROW.match(line):
            for block, cell in zip(blocks, row[2].split("|"), strict=False):
                if match := CELL.search(cell):
                    number = source.number(match[1], f"{block} {row[1]}") * KIB_PER_S[match[2]]
                    times = {"k": 1e3, "m": 1e6}.get(match[4] or "", 1.0)
                    iops = source.number(match[3], f"{block} IOPS") * times
                    sides.setdefault(block, {})[row[1]] = (
                        number,
                        _exact(iops, number * KIB / parse_bytes(block), times),
                    )
    return sides


def _exact(printed: float, of_rate: float, unit: float) -> float:
    """`3.1k` is cut off, not rounded; the rate beside it has more digits."""
    return of_rate if unit > 1 and printed <= of_rate < printed + unit / 10 * 1.1 else printed


def _of_json(source: Source) -> dict[str, dict[str, tuple[float, float]]]:
    text = source.text
    if text.count(",") + text.count("{") + text.count("[") > JSON_VALUES:
        raise source.error(f"more than {JSON_VALUES:,} values, which no result of yabs has")
    sides: dict[str, dict[str, tuple[float, float]]] = {}
    start = re.search(r"^\s*\{", text, re.MULTILINE)
    document, _ = json.JSONDecoder().raw_decode(text, start.end() - 1 if start else 0)
    for job in document["fio"]:
        if job["speed_units"] != "KBps":
            raise source.error(f"the unit {str(job['speed_units'])[:20]!r} is not KBps")
        sides[str(job["bs"])] = {
            name: (source.number(str(job[f"speed_{key}"]), "speed"), source.number(str(job[f"iops_{key}"]), "IOPS"))
            for name, key in (("Read", "r"), ("Write", "w"))
        }
    return sides


def _result(block: str, sides: dict[str, tuple[float, float]], given: Given) -> Result:
    return Result(
        phases=(
            phase(
                "mixed",
                elapsed_s=1.0,
                total_bytes=sum(rate * KIB for rate, _ in sides.values()),
                ios=sum(iops for _, iops in sides.values()),
                duration="unknown; rates are per second",
                sides={name.lower(): {"bytes": rate * KIB, "ios": iops} for name, (rate, iops) in sides.items()},
            ),
        ),
        tool="yabs.sh (fio)",
        threads=given.threads or THREADS,
        block_bytes=given.block_bytes or parse_bytes(block),
        iodepth=given.iodepth or IODEPTH,
        more={"rwmixread": "50", "pattern": "random"},
        notes=(
            "yabs measures no latencies and prints no CPU time",
            "yabs calls 1,024,000 bytes a megabyte (it divides fio's KiB/s by 1000): repaired",
        ),
    )


FORMAT = Format("yabs", "yabs.sh (its table or JSON)", _recognises, _read, takes=("threads", "block", "iodepth"))
