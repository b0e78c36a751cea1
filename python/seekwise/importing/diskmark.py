"""Reports of CrystalDiskMark and of programs that print like it (KDiskMark, disk-mark-me, fio-cdm): a line for each
load, saved or copied as text.

    [Read]
      SEQ    1MiB (Q=  8, T= 1):  7427.749 MB/s [   7083.7 IOPS] <   987.81 us>        CrystalDiskMark 7 and newer
      Sequential 1 MiB (Q= 8, T= 1):   542.516 MB/s [    529.8 IOPS] < 14415.61 us>    KDiskMark
      Random Read 4KiB (Q= 32,T= 1) :   402.334 MB/s [ 98226.1 IOPS]                   CrystalDiskMark 5 and 6
    Random Read 4KB (QD=32) :   142.517 MB/s [ 34794.1 IOPS]                         CrystalDiskMark 3: KB are 1024 bytes
    |Name        | Read(MB/s)|Write(MB/s)|                                                fio-cdm
    |RND4K Q32T16|    1638.40|     409.60|
    |... IOPS    |  400000.00|  100000.00|

The figure is the best of several runs unless the user chose the average, and has no tail. KDiskMark divides KiB/s by
1000 (its first versions by 1024) and calls it MB/s: where IOPS × request size says so, that is repaired.
"""

from __future__ import annotations

import re

from seekwise.importing.result import Format, Given, Latency, Result, Source, phase
from seekwise.store.operations import Operation, pure
from seekwise.workload.study.quantity import parse_bytes

LINE = re.compile(
    r"^[^\S\n]*(?P<pattern>SEQ|RND|Sequential|Random)\b\s*(?:(?P<side>Read|Write|Mix)\s*)?(?:(?P<size>\d+ ?[KM]i?B)\s*)?"
    r"(?:(?:\((?:Q= *(?P<queues>\d+) *, *)?T= *(?P<threads>\d+)\)|\(QD= *(?P<depth>\d+)\))\s*)?:\s*(?P<rate>[\d.]+) MB/s(?:\s*\[\s*(?P<iops>[\d.]+) IOPS\])?"
    r"(?:\s*<\s*(?P<latency>[\d.]+) us>)?",
    re.MULTILINE,
)
COLUMN = re.compile(r"(Read|Write|Mix)\(MB/s\)")
CELL_LINE = re.compile(r"^\s*\|(SEQ|RND)(\d+[KM]) Q ?(\d+) ?T ?(\d+)\s*\|([\d.| ]+)\|\s*$")
MORE = re.compile(r"^\s*\|\.\.\. (IOPS|latency)\s*\|([\d.| ]+)\|\s*$")
SECTION = re.compile(r"^[^\S\n]*\[(?P<side>Read|Write|Mix)\]", re.MULTILINE)
PROGRAM = re.compile(r"(fio-cdm|CrystalDiskMark|KDiskMark|LinuxDiskMark|disk-mark-me)\s*\(?v?(\d[\w.]*)?")
TAKEN_S = 10.0
UNITS = (10**6, 1024 * 1000, 2**20)
"""Bytes that a program calls a megabyte: CrystalDiskMark, KDiskMark and KDiskMark before 1.6."""


def _recognises(source: Source) -> bool:
    return LINE.search(_as_lines(source)) is not None


def _as_lines(source: Source) -> str:
    """The table of fio-cdm as lines, a load and a direction each."""
    sides: list[str] = []
    loads: list[tuple[str, dict[str, list[str]]]] = []
    for line in source.lines:
        sides = COLUMN.findall(line) or sides
        if match := CELL_LINE.match(line):
            pattern, size, queues, threads, rates = match.groups()
            loads.append((f"{pattern} {size}B (Q={queues}, T={threads})", {"rate": rates.split("|")}))
        elif loads and (match := MORE.match(line)):
            loads[-1][1][match[1]] = match[2].split("|")
    if not loads or not sides:
        return source.text
    said = ["fio-cdm, which prints like CrystalDiskMark"]
    for at, side in enumerate(sides):
        said.append(f"[{side}]")
        for name, columns in loads:
            cells = {key: values[at].strip() for key, values in columns.items() if at < len(values)}
            rest = f" [{cells['IOPS']} IOPS]" if "IOPS" in cells else ""
            rest += f" <{cells['latency']} us>" if rest and "latency" in cells else ""
            said += [f"{name}: {cells['rate']} MB/s{rest}"] if cells.get("rate") else []
    return "\n".join(said)


def _read(sources: list[Source], given: Given) -> list[Result]:
    text = _as_lines(*sources)
    source = Source(sources[0].path, text.encode())
    program = PROGRAM.search(source.text)
    tool = " ".join(filter(None, program.groups())) if program else "CrystalDiskMark or the like"
    sections = [(match.start(), match["side"]) for match in SECTION.finditer(source.text)]
    results = []
    for match in LINE.finditer(source.text):
        side = match["side"] or next((side for start, side in reversed(sections) if start < match.start()), None)
        if side is None:
            raise source.error(
                f"{match[0].strip()[:50]!r} is neither read nor write",
                hint="the lines `[Read]` and `[Write]` belong to it",
            )
        if float_of(source, match, "rate") > 0:
            results.append(_result(source, match, side, tool, given))
    if not results:
        raise source.error("every rate is 0: nothing was measured")
    return results


def float_of(source: Source, match: re.Match[str], name: str) -> float:
    """A number of a line; 0 where the line has none."""
    return source.number(match[name], f"{match['pattern']}: {name}") if match[name] else 0.0


def _result(source: Source, match: re.Match[str], side: str, tool: str, given: Given) -> Result:
    random = match["pattern"] in ("RND", "Random")
    operation: Operation = "mixed" if side == "Mix" else pure(is_random=random, is_write=side == "Write")
    size = (match["size"] or "").replace(" ", "").rstrip("B").rstrip("i")
    block = given.block_bytes or (parse_bytes(size) if size else None)
    rate, iops = float_of(source, match, "rate"), float_of(source, match, "iops")
    unit = min(UNITS, key=lambda unit: abs(rate * unit - iops * block)) if iops and block else UNITS[0]
    notes = [
        f"{tool} prints the best of several runs unless set otherwise, and no tail: p99 is absent",
        f"{tool} prints no CPU time",
    ]
    if unit != UNITS[0]:
        notes.append(f"{tool} calls {unit:,} bytes a megabyte (IOPS × request size says so): repaired")
    threads = given.threads or int(match["threads"] or 1)
    return Result(
        phases=(
            phase(
                operation,
                # Ten seconds of that rate: requests are whole numbers.
                elapsed_s=TAKEN_S,
                total_bytes=rate * unit * TAKEN_S,
                ios=(iops or (rate * unit / block if block else 0)) * TAKEN_S,
                latency=Latency(mean_ns=float_of(source, match, "latency") * 1e3),
                duration="unknown; rates are per second",
                as_printed={"MB/s": rate, "IOPS": iops},
            ),
        ),
        tool=tool,
        threads=threads,
        block_bytes=block,
        iodepth=given.iodepth or int(match["queues"] or match["depth"] or 1),
        more={"pattern": "random" if random else "sequential"} if side == "Mix" else {},
        # The best rate and the latency may be of different runs.
        keeps_depth=False,
        notes=tuple(notes),
    )


FORMAT = Format(
    "diskmark",
    "reports of CrystalDiskMark, KDiskMark and fio-cdm",
    _recognises,
    _read,
    takes=("threads", "block", "iodepth"),
)
