"""What of a measurement cannot be, or is not what its name says: read from records alone.

Each check states something that no drive, bus or closed loop can do. It says nothing of what is merely unusual.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from seekwise.linux.buses import BUS_BYTES_PER_S, FASTEST
from seekwise.store import operations
from seekwise.store.record import Phase, Record
from seekwise.workload.study.uses import NOT_OURS, Use

SYNC_ENGINES = frozenset({"sync", "psync", "pvsync", "pvsync2", "vsync", "mmap"})
"""fio ignores iodepth with them."""
LIMITS = ("rate", "rate_iops", "thinktime")
"""fio's options that let a load pause."""
OVER_DEPTH = 1.15
UNDER_DEPTH = 0.5
"""By Little's law rate × latency is the number of requests outstanding: never more than were asked for, and about as
many in a closed loop."""
EXACT = 1e-4
"""A measured rate lies so near a power of two once in some thousand times."""
STOOD_STILL_S = 1.0
OVER_DEPTH_SWITCHED = 1.5
"""Under live switching a request counts where it ends, with all of its time: that adds to what one period held."""
OVER_DEVICE = 1.25
FROM_MEMORY = 2.0
"""Programs that read files whole keep a drive busy only if it reads what they get."""
PARTITION = re.compile(r"/dev/(?:(?:sd|vd|xvd|hd)[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+|nbd\d+)p\d+)\b")


def implausible(records: Sequence[Record]) -> list[str]:
    """Sentences without a period, each once; none for what was simulated."""
    sentences: dict[str, None] = {}
    for record in records:
        if record.valid and record.provenance == "measured":
            for phase in record.phases:
                sentences |= dict.fromkeys(_of_phase(record, phase))
            sentences |= dict.fromkeys(_of_jobs(record))
    said = list(sentences)
    said += _powers_of_two(records)
    return said


def implausible_periods(records: Sequence[Record], uses: Sequence[Use]) -> list[str]:
    """As `implausible`, of records of live switching: over all periods of a use under one setting, since one is too
    short for such sums."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.valid and record.provenance == "measured":
            groups.setdefault((str(record.factors.get("use")), record.setting), []).append(record)
    known = {use.name: use for use in uses}
    buses = _buses(records)
    said: dict[str, None] = {}
    for (name, setting), mine in groups.items():
        where = f"{setting}, {name}"
        said |= dict.fromkeys(_over_the_bus(where, mine, buses))
        use = known.get(name)
        said |= dict.fromkeys(_from_memory(where, mine, use) if use is not None else ())
        if use is not None and use.group != NOT_OURS and all(job.pattern is not None for job in use.job):
            said |= dict.fromkeys(_over_the_load(where, mine, use))
            said |= dict.fromkeys(_powers_of_two(mine))
    return list(said)


def _buses(records: Sequence[Record]) -> dict[str, tuple[float, str]]:
    """{device: what its bus carries}, of what the run has found."""
    devices: list[dict[str, Any]] = next(
        (record.environment["devices"] for record in records if record.environment.get("devices")), []
    )
    rates = {str(device.get("name")): BUS_BYTES_PER_S.get(str(device.get("transport"))) for device in devices}
    return {name: limit for name, limit in rates.items() if limit is not None}


def _over_the_bus(where: str, mine: Sequence[Record], buses: dict[str, tuple[float, str]]) -> Iterator[str]:
    length_s = sum(float(record.conditions.get("length_s", 0.0)) for record in mine)
    for name, (limit, bus) in buses.items():
        moved = sum(_moved(record, [name]) for record in mine)
        if length_s > 0 and moved / length_s > limit:
            yield (
                f"not believable: {where}: {name} moved {moved / length_s / 1e6:,.0f} MB/s, above what its bus carries ({bus}: "
                f"{limit / 1e6:,.0f} MB/s); the kernel's counters or the bus are not what they seem"
            )


def _moved(record: Record, names: Sequence[str] | None = None) -> int:
    """Bytes that devices read and wrote in a period, by the kernel's counters."""
    counted = record.conditions.get("device", {})
    return sum(
        int(counters["read_bytes"]) + int(counters["write_bytes"])
        for name, counters in counted.items()
        if names is None or name in names
    )


def _over_the_load(where: str, mine: Sequence[Record], use: Use) -> Iterator[str]:
    """More than the drives moved, and more at once than the jobs ask for."""
    got, moved = sum(phase.bytes for record in mine for phase in record.phases), sum(map(_moved, mine))
    if all(job.direct for job in use.job) and moved and got > OVER_DEVICE * moved:
        yield (
            f"not believable: {where}: the load got {got / moved:.3g} times the data that the drives moved; memory, a cache above the drive or "
            "compression answered"
        )
    for job in use.job:
        phases = [phase for record in mine for phase in record.phases if phase.details.get("job") == job.name]
        elapsed_s, asked = sum(phase.elapsed_s for phase in phases), job.jobs * job.depth
        held = sum(phase.ios * phase.latency_mean_ns for phase in phases) / 1e9 / elapsed_s if elapsed_s > 0 else 0.0
        if held > OVER_DEPTH_SWITCHED * asked:
            yield (
                f"not believable: {where}, {job.name}: rate and latency make {_count(held)} requests at once (Little's law), and {asked} were "
                "asked for"
            )


def _from_memory(where: str, mine: Sequence[Record], use: Use) -> Iterator[str]:
    """Readers of whole files, which are there to keep the drives busy, that got more than the drives read meanwhile."""
    counted = [device for record in mine for device in record.conditions.get("device", {}).values()]
    read = sum(int(device["read_bytes"]) for device in counted)
    for job in use.job if counted else ():
        phases = (phase for record in mine for phase in record.phases if phase.details.get("job") == job.name)
        got = sum(phase.bytes for phase in phases)
        if job.program == "cat" and got > FROM_MEMORY * read:
            yield (
                f"{where}: {job.name} got {got / 1e6:,.0f} MB and the drives read {read / 1e6:,.0f}: memory answered, so the drives were less "
                "busy than this load is meant to make them"
            )


def _of_phase(record: Record, phase: Phase) -> Iterator[str]:
    where = f"{record.setting}, {operations.name(phase.operation).lower()}"
    # What programs got can come from memory; of our own runs it is known what the device moved.
    moved = phase.bytes if record.conditions.get("imported") else phase.device_bytes or 0
    throughput = moved / phase.elapsed_s if phase.elapsed_s > 0 else 0.0
    if (limit := _bus(record)) and throughput > limit[0]:
        yield (
            f"not believable: {where} has {throughput / 1e6:,.0f} MB/s, above what the bus carries ({limit[1]}: "
            f"{limit[0] / 1e6:,.0f} MB/s); memory answered, or the file counts something else"
        )
    depth = _depth(record)
    held = phase.iops * phase.latency_mean_ns / 1e9
    if depth is not None and held > OVER_DEPTH * depth:
        yield (
            f"not believable: {where} has {phase.iops:,.0f} requests/s of {phase.latency_mean_ns / 1e6:.3g} ms, which are {_count(held)} at once "
            f"(Little's law), and {depth} were asked for"
        )
    elif depth is not None and 0 < held < UNDER_DEPTH * depth:
        limits = [f"`{name}={record.factors[name]}`" for name in LIMITS if name in record.factors]
        why = " and ".join(limits) if limits else "a rate limit, think time or a busy processor"
        yield (
            f"{where}: {_count(held)} requests were outstanding on average, {depth} were asked for; {why} held the load back, so this is not what the "
            "drive can do"
        )
    still = _stood_still(phase)
    if still >= STOOD_STILL_S and phase.latency_bins:
        yield f"{where}: nothing was done for {still:.1f} s; the median does not show that, p99.9 and the longest latency do"
    if _is_doubling(phase):
        yield f"{where}: latencies are known to a factor of two only (every bin ends at a power of two); differences below that are not seen"


def _count(number: float) -> str:
    """Three digits, and no exponent."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _bus(record: Record) -> tuple[float, str] | None:
    """The most that the one drive of the record can move; arrays have no single bus."""
    if str(record.factors.get("direct", "1")) == "0":
        return None
    devices = record.environment.get("devices")
    if isinstance(devices, list) and len(devices) == 1 and isinstance(devices[0], dict):
        return BUS_BYTES_PER_S.get(str(devices[0].get("transport")))
    return FASTEST if record.conditions.get("imported") and not devices else None


def _depth(record: Record) -> int | None:
    """Requests that the load keeps outstanding; None where the record does not say."""
    threads, depth = record.factors.get("threads"), record.factors.get("iodepth", 1)
    if not isinstance(threads, int) or not isinstance(depth, int):
        return None
    names_none = "iodepth" not in record.factors and "ioengine" not in record.factors
    if record.conditions.get("imported") and (names_none or not record.conditions.get("keeps_depth", True)):
        return None
    return threads * (1 if record.factors.get("ioengine") in SYNC_ENGINES else depth)


def _stood_still(phase: Phase) -> float:
    """Longest time in windows without a byte, in s."""
    if not phase.windows or phase.elapsed_s <= 0:
        return 0.0
    longest = run = 0
    for throughput, _ in phase.windows:
        run = run + 1 if throughput <= 0 else 0
        longest = max(longest, run)
    return longest * phase.elapsed_s / len(phase.windows)


def _is_doubling(phase: Phase) -> bool:
    bounds = [bound for bound, count in phase.latency_bins.items() if count]
    return len(bounds) >= 4 and all(bound & (bound - 1) == 0 or _is_power(bound / 1000) for bound in bounds)


def _is_power(value: float, least: float = 1.0) -> bool:
    return value >= least and abs(math.log2(value) - round(math.log2(value))) * math.log(2) < EXACT


def _powers_of_two(records: Sequence[Record]) -> list[str]:
    """Rates that are a power of two in every repeat: a limit was measured."""
    by_place: dict[tuple[str, str, str], list[Phase]] = {}
    for record in records:
        if record.valid and record.provenance == "measured":
            for phase in record.phases:
                by_place.setdefault((record.setting, record.combination, phase.operation), []).append(phase)
    said = []
    for (setting, _, _), phases in by_place.items():
        for word, values in (
            ("MiB/s", [phase.rate_bytes_per_s / 2**20 for phase in phases]),
            ("requests/s", [phase.iops for phase in phases]),
        ):
            if len(values) >= 2 and all(_is_power(value, 8.0) for value in values):
                said.append(
                    f"{setting}, {operations.name(phases[0].operation).lower()}: exactly {round(values[0]):,} {word} in every repeat, a power of two; "
                    "a limit was measured (`rate`, `rate_iops`, a control group, a cloud volume), not the drive"
                )
                break
    return list(dict.fromkeys(said))


def _of_jobs(record: Record) -> Iterator[str]:
    """What fio's own options contradict: names of jobs, and devices that are partitions."""
    options = record.load.get("options")
    jobs = options.get("jobs", []) if isinstance(options, dict) else []
    shared = {key: value for key, value in options.items() if key != "jobs"} if isinstance(options, dict) else {}
    for job in jobs if isinstance(jobs, list) else []:
        both = {**shared, **(job if isinstance(job, dict) else {})}
        name, kind = str(both.get("name", "")), str(both.get("rw", both.get("readwrite", "read")))
        share = str(both.get("percentage_random", "0")).split(",")[0]
        if re.search(r"seq", name, re.IGNORECASE) and (kind.startswith("rand") or share not in ("0", "")):
            yield f"job {name} is called sequential and is {kind if kind.startswith('rand') else f'{share} % random'}"
        elif re.search(r"rand", name, re.IGNORECASE) and not kind.startswith("rand") and share in ("0", ""):
            yield f"job {name} is called random and is {kind}"
        many = str(both.get("numjobs", "1"))
        if (
            kind in ("read", "rw", "readwrite")
            and many.isdigit()
            and int(many) > 1
            and not (both.keys() & {"offset_increment", "directory", "filename_format"})
            and both.get("filename")
        ):
            yield (
                f"job {name or kind}: {many} jobs read the same blocks of {both['filename']} in order, so all but the first may find them in "
                "a cache, and together they are not sequential (`offset_increment` sets them apart)"
            )
        for device in PARTITION.findall(str(both.get("filename", ""))):
            yield f"{device} is a partition: scheduler and queue are those of its disk"
