"""elbencho's CSV (`--csvfile`): every WRITE and READ row is one trial, `label` the configuration.

The figures of the slowest thread (`[last]`) count, those of the first thread that finished are kept beside them. Latency has
mean and maximum; a distribution is not in the CSV. CPU is percent of the whole machine, whose CPUs are not counted there.
"""

from __future__ import annotations

import csv

from seekwise.store.foreign.model import MIB, Format, Given, Result, Source, phase
from seekwise.store.record import Operation

NEEDED = ("operation", "threads", "block size", "random", "time ms [last]", "IOPS [last]", "MiB/s [last]", "MiB [last]")
SIDES = {"WRITE": "write", "READ": "read"}


def _recognises(source: Source) -> bool:
    return source.text.startswith("ISO date,label,path type")


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    rows = list(csv.DictReader(source.lines))
    if not rows:
        raise source.error("has elbencho's header, but no results")
    if missing := [name for name in NEEDED if name not in rows[0]]:
        raise source.error(f"column {missing[0]!r} is missing", hint="the file must begin with elbencho's own header")
    results, others = [], set()
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise source.error(f"line {number} does not have the {len(rows[0])} fields of the header; was it cut off?")
        if row["operation"] == "ISO date" or row["operation"] == "operation":
            continue
        if row["operation"] not in SIDES:
            others.add(row["operation"])
            continue
        results.append(_result(source, number, row, given))
    if not results:
        raise source.error(f"measured no reads or writes, only {', '.join(sorted(others))}")
    return results


def _result(source: Source, number: int, row: dict[str, str], given: Given) -> Result:
    def value(name: str) -> float:
        return source.number(row[name] or "0", f"line {number}: {name}")

    elapsed_s, mib = value("time ms [last]") / 1e3, value("MiB [last]")
    if elapsed_s <= 0 or mib <= 0:
        raise source.error(f"line {number}: {mib:g} MiB in {elapsed_s:g} s")
    pattern = "rand" if row["random"] == "1" else "seq"
    operation: Operation = f"{pattern}_{SIDES[row['operation']]}"  # type: ignore[assignment]
    mixed = value("rwmix read MiB [last]") if "rwmix read MiB [last]" in row else 0.0
    block = source.whole(row["block size"] or "0", f"line {number}: block size")
    made = phase(
        "mixed" if mixed > 0 else operation,
        elapsed_s=elapsed_s,
        total_bytes=(mib + mixed) * MIB,
        ios=value("IOPS [last]") * elapsed_s + (value("rwmix read IOPS [last]") * elapsed_s if mixed else 0.0),
        mean_ns=value("IO lat us [avg]") * 1e3 if "IO lat us [avg]" in row else 0.0,
        max_ns=value("IO lat us [max]") * 1e3 if "IO lat us [max]" in row else 0.0,
        first_done={"time_ms": row.get("time ms [first]"), "mib_per_s": row.get("MiB/s [first]")},
        cpu_percent_of_machine=row.get("CPU% [last]"),
    )
    hosts = source.whole(row.get("hosts") or "1", f"line {number}: hosts", least=1)
    depth = source.whole(row.get("IO depth") or "1", f"line {number}: IO depth")
    return Result(
        phases=(made,),
        tool=f"elbencho-{row.get('version') or 'version unknown'}",
        threads=given.threads or hosts * source.whole(row["threads"], f"line {number}: threads", least=1),
        block_bytes=block or None,
        iodepth=max(1, depth),
        setting=row["label"] or None,
        more={"hosts": hosts, "direct": row.get("direct IO", "")},
        options={"command": row.get("command", "")},
        started_at=row["ISO date"] or "unknown",
        notes=("elbencho's CSV has mean and longest latency, no distribution: no p99",
               "elbencho's CPU is percent of the whole machine: kept, but not compared"),
    )  # fmt: skip


FORMAT = Format("elbencho", "elbencho CSV", _recognises, _read, takes=("threads",))
