"""fio's results as yabs.sh (Yet-Another-Bench-Script) prints them: its table, and its JSON (`-j`, `-w FILE`).

    Block Size | 4k            (IOPS) | 64k           (IOPS)
    Read       | 388.78 MB/s  (97.1k) | 1.23 GB/s    (19.2k)
    Write      | 389.81 MB/s  (97.4k) | 1.23 GB/s    (19.3k)

Reads and writes half and half at random, two jobs, 64 requests deep, direct (its script:
`--rw=randrw --rwmixread=50 --iodepth=64 --numjobs=2`).
Its rates are fio's KiB/s divided by thousands, MB/s stands for 1,024,000 bytes; newer scripts (2026) print megabytes of
10^6 bytes: IOPS × request size says which. Latencies are not measured (`--gtod_reduce=1`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from seekwise.bounds import JSON_VALUES
from seekwise.importing.result import Format, Given, Result, Source, phase
from seekwise.workload.study.quantity import parse_bytes

HEAD = re.compile(r"^\s*Block Size\s*\|(.*\(IOPS\).*)$")
ROW = re.compile(r"^\s*(Read|Write)\s*\|(.*)$")
CELL = re.compile(r"([\d.]+)\s*([KMG]B)/s\s*\(\s*([\d.]+)\s*(k|m)?\s*\)")
KILOBYTES = {"KB": 1.0, "MB": 1e3, "GB": 1e6}
UNITS = (1024, 1000)
"""Bytes that a script calls a kilobyte; the first one where nothing tells."""
THREADS, IODEPTH = 2, 64


@dataclass(frozen=True)
class Cell:
    """A rate in kilobytes per second with its IOPS, each as printed."""

    rate: float
    rate_step: float
    iops: float
    iops_step: float
    block: int

    def iops_of_rate(self, unit: int) -> float:
        """What the rate says, which has more digits than IOPS in thousands."""
        return self.rate * unit / self.block

    def fits(self, unit: int) -> bool:
        """IOPS are cut off, rates are rounded."""
        slack = self.rate_step / 2 * unit / self.block
        return self.iops - slack <= self.iops_of_rate(unit) < self.iops + 1.1 * self.iops_step + slack

    def exact_iops(self, unit: int) -> float:
        """IOPS, where they were cut off with the digits of the rate."""
        return self.iops_of_rate(unit) if self.iops_step > 1 and self.fits(unit) else self.iops


def _recognises(source: Source) -> bool:
    return "fio Disk Speed Tests" in source.text or _is_json(source)


def _is_json(source: Source) -> bool:
    return '"speed_units"' in source.text and '"iops_r"' in source.text


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    sides = _of_json(source) if _is_json(source) else _of_table(source)
    cells = [cell for side in sides.values() for cell in side.values()]
    unit = max(UNITS, key=lambda unit: sum(cell.fits(unit) for cell in cells))
    results = [
        _result(block, side, unit, given) for block, side in sides.items() if sum(cell.rate for cell in side.values())
    ]
    if not results:
        raise source.error(
            "the results of yabs have no rates", hint="the rows `Read` and `Write` of its table are needed"
        )
    return results


def _of_table(source: Source) -> dict[str, dict[str, Cell]]:
    """{request size: {read or write: cell}}"""
    sides: dict[str, dict[str, Cell]] = {}
    blocks: list[str] = []
    for line in source.lines:
        if head := HEAD.match(line):
            blocks = [cell.replace("(IOPS)", "").strip() for cell in head[1].split("|")]
        elif row := ROW.match(line):
            for block, cell in zip(blocks, row[2].split("|"), strict=False):
                if match := CELL.search(cell):
                    scale = KILOBYTES[match[2]]
                    times = {"k": 1e3, "m": 1e6}.get(match[4] or "", 1.0)
                    sides.setdefault(block, {})[row[1].lower()] = Cell(
                        source.number(match[1], f"{block} {row[1]}") * scale,
                        scale / 100,
                        source.number(match[3], f"{block} IOPS") * times,
                        times / 10 if times > 1 else 1.0,
                        parse_bytes(block),
                    )
    return sides


def _of_json(source: Source) -> dict[str, dict[str, Cell]]:
    text = source.text
    if text.count(",") + text.count("{") + text.count("[") > JSON_VALUES:
        raise source.error(f"more than {JSON_VALUES:,} values, which no result of yabs has")
    sides: dict[str, dict[str, Cell]] = {}
    start = re.search(r"^[^\S\n]*\{", text, re.MULTILINE)
    document, _ = json.JSONDecoder().raw_decode(text, start.end() - 1 if start else 0)
    for job in document["fio"]:
        if job["speed_units"] != "KBps":
            raise source.error(f"the unit {str(job['speed_units'])[:20]!r} is not KBps")
        sides[str(job["bs"])] = {
            name: Cell(
                source.number(str(job[f"speed_{name[0]}"]), "speed"),
                1.0,
                source.number(str(job[f"iops_{name[0]}"]), "IOPS"),
                1.0,
                parse_bytes(str(job["bs"])),
            )
            for name in ("read", "write")
        }
    return sides


def _result(block: str, sides: dict[str, Cell], unit: int, given: Given) -> Result:
    repaired = f"yabs calls {unit * 1000:,} bytes a megabyte (it divides fio's KiB/s by 1000): repaired"
    return Result(
        phases=(
            phase(
                "mixed",
                elapsed_s=1.0,
                total_bytes=sum(cell.rate * unit for cell in sides.values()),
                ios=sum(cell.exact_iops(unit) for cell in sides.values()),
                duration="unknown; rates are per second",
                sides={name: {"bytes": cell.rate * unit, "ios": cell.exact_iops(unit)} for name, cell in sides.items()},
            ),
        ),
        tool="yabs.sh (fio)",
        threads=given.threads or THREADS,
        block_bytes=given.block_bytes or parse_bytes(block),
        iodepth=given.iodepth or IODEPTH,
        more={"rwmixread": "50", "pattern": "random"},
        notes=("yabs measures no latencies and prints no CPU time", *([repaired] if unit != 1000 else [])),
    )


FORMAT = Format("yabs", "yabs.sh (its table or JSON)", _recognises, _read, takes=("threads", "block", "iodepth"))
