"""What lies behind the numbers, as far as the records hold it: merges, size of requests at the drive, waiting, cache
and drives.

Simulated runs count what the model did; measured ones what the kernel counted. What was not recorded is not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.number_text import three
from seekwise.report.frame import Axes, Frame, combinations, shown
from seekwise.store import operations
from seekwise.store.percentiles import merged
from seekwise.store.record import Phase, Record
from seekwise.workload.study.quantity import counted

COLUMNS = (
    ("Requests merged", "Share of the requests that the block layer joined with another one before dispatch."),
    ("KB per drive command", "Mean size of what the drives were given."),
    ("Requests waiting", "Mean number of requests under way: IOPS times mean latency (Little's law)."),
    ("Drives busy", "Share of the time in which a drive worked, mean over the drives."),
    ("Moved by the drives", "Bytes that the drives moved per byte of the load: below 1 a cache answered, above 1 parity, mirrors or read-ahead."),
    ("System CPU per request", "System CPU time of one request."),
    ("Waiting for locks", "Share of the system CPU time in which processors waited for a scheduler's lock that another one held."),
    ("Holding locks", "Share of the system CPU time in which processors held such a lock."),
)  # fmt: skip


@dataclass(frozen=True)
class CauseRow:
    operation: str
    setting: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Causes:
    rows: tuple[CauseRow, ...]
    columns: tuple[tuple[str, str], ...]
    source: str
    missing: str


def causes(records: Sequence[Record], *, shown: bool = False) -> Causes | None:
    """`shown`: a stretch is drawn request by request. A row per operation and setting over all that it did; None where
    no column is known."""
    groups: dict[tuple[str, str, str], list[tuple[Record, Phase]]] = {}
    locks = False
    for record in records:
        if record.valid and record.role == "candidate":
            for phase in record.phases:
                # What a lock costs depends on how many cores there are.
                of_cores = "lock_wait_s" in phase.details
                locks |= of_cores
                system = str(record.factors.get("system", "")) if of_cores else ""
                groups.setdefault((phase.operation, system, _name(record)), []).append((record, phase))
    order = sorted(groups, key=lambda key: (operations.place(key[0]), *key[1:]))
    values = {key: _values([phase for _, phase in groups[key]]) for key in order}
    kept = [number for number in range(len(COLUMNS)) if any(row[number] is not None for row in values.values())]
    # What every record holds anyhow (time and CPU) explains little alone.
    if not set(kept) & {0, 1, 3, 4, 6}:
        return None
    rows = tuple(
        CauseRow(
            ", ".join(word for word in (operations.name(key[0]), key[1]) if word),
            key[2],
            tuple(_text(number, values[key][number]) for number in kept),
        )
        for key in order
    )
    simulated = any(record.provenance == "simulated" for record in records)
    source = "Counted by the simulator's block layer and drives." if simulated else "Counted by the kernel and fio."
    missing = ""
    if locks:
        missing = "Of hosts with several cores no single requests are kept."
    elif not shown:
        missing = (
            "Seek distances and the order of dispatch are shown for drives, also through the page cache, and for direct I/O on arrays and "
            "controllers; these loads go through a file system or the page cache of an array."
            if simulated
            else "Seek distances and the order of dispatch are not in these records: `seekwise record DEVICE` traces them."
        )
    return Causes(rows, tuple(COLUMNS[number] for number in kept), source, missing)


def _name(record: Record) -> str:
    from seekwise.report.metric_words import shown_setting

    return shown_setting(record.setting)


def _values(phases: Sequence[Phase]) -> list[float | None]:
    ios = sum(phase.ios for phase in phases)
    seconds = sum(phase.elapsed_s for phase in phases)
    merged = [phase.details["merges"] for phase in phases if "merges" in phase.details]
    members = [phase.details["members"] for phase in phases if isinstance(phase.details.get("members"), list)]
    commands = sum(member["commands"] for group in members for member in group)
    moved = sum(member["bytes_read"] + member["bytes_written"] for group in members for member in group)
    counted = [phase for phase in phases if phase.device_bytes is not None]
    own = sum(phase.bytes for phase in counted)
    busy = [
        sum(member["busy_ns"] for member in phase.details["members"])
        / len(phase.details["members"])
        / phase.elapsed_s
        / 1e9
        for phase in phases
        if isinstance(phase.details.get("members"), list) and phase.details["members"] and phase.elapsed_s > 0
    ]
    if not busy:
        busy = [
            phase.details["device_busy_ns"] / phase.elapsed_s / 1e9
            for phase in phases
            if "device_busy_ns" in phase.details and phase.elapsed_s > 0
        ]
    waiting = sum(phase.ios * phase.latency_mean_ns for phase in phases) / 1e9
    cpu = sum(phase.cpu.system_cpu for phase in phases)
    # Of groups that work at the same time each has the processor time of the whole machine.
    alone = not any("group_threads" in phase.details for phase in phases)
    waited, held = (_sum(phases, name) for name in ("lock_wait_s", "lock_held_s"))
    return [
        sum(merged) / ios if merged and ios and len(merged) == len(phases) else None,
        moved / commands / 1e3 if commands else None,
        waiting / seconds if waiting and seconds else None,
        min(sum(busy) / len(busy), 1.0) if busy else None,
        sum(phase.device_bytes or 0 for phase in counted) / own if counted and own else None,
        1e6 * cpu / ios if ios and cpu and alone else None,
        *(seconds / cpu if seconds is not None and cpu else None for seconds in (waited, held)),
    ]


def _sum(phases: Sequence[Phase], name: str) -> float | None:
    """Of a detail that every phase has; None otherwise."""
    known = [each for phase in phases if isinstance(each := phase.details.get(name), float)]
    return sum(known) if len(known) == len(phases) else None


def _text(number: int, value: float | None) -> str:
    if value is None:
        return "–"
    if number in (0, 3, 6, 7):
        return f"{100 * value:.0f} %" if value >= 0.0995 or value == 0 else f"{100 * value:.2g} %"
    if number == 4:
        return f"{value:.2f} times"
    return f"{three(value)} µs" if number == 5 else three(value)


def histograms(records: Sequence[Record], operation: str, factors: Mapping[str, object]) -> dict[str, dict[int, int]]:
    """{setting: {upper bound ns: count}} of one operation where these factors hold."""
    bins: dict[str, list[dict[int, int]]] = {}
    for record in records:
        if not record.valid or record.role != "candidate":
            continue
        if any(record.factors.get(name) != value for name, value in factors.items()):
            continue
        for phase in record.phases:
            if phase.operation == operation:
                bins.setdefault(_name(record), []).append(phase.latency_bins)
    return {name: merged(counts) for name, counts in bins.items()}


def nines(bins: Mapping[int, int], steps: int = 20) -> list[tuple[float, float]]:
    """(nines, ms): the latency that all but 10^-nines of the requests kept to, as far as 20 requests lie beyond."""
    bounds = np.array(sorted(bins), dtype=float)
    counts = np.array([bins[int(bound)] for bound in bounds], dtype=float)
    total = counts.sum()
    if total < 40:
        return []
    below = np.cumsum(counts)
    most = min(5.0, float(np.log10(total / 20)))
    points = []
    for step in range(int(most * steps) + 1):
        share = 1 - 10 ** (-step / steps)
        place = int(np.searchsorted(below, share * total))
        points.append((step / steps, float(bounds[min(place, len(bounds) - 1)]) / 1e6))
    return points


def busiest(table: Frame, at: Axes) -> dict[str, object]:
    """Factors of the combination whose latencies are shown: the fullest, at the most threads."""
    held = dict(combinations(table, at.rest)[0]) if at.rest else {}
    for name in ("threads", "block_bytes", "iodepth"):
        if name in table.factors and name not in table.subject:
            held[name] = (
                max(v for v in table.factors[name] if isinstance(v, int))
                if name == "threads"
                else held.get(name, table.factors[name][0])
            )
    return {name: value for name, value in held.items() if name not in ("chunk", "operation")}


def held_words(factors: Mapping[str, object]) -> str:
    """`8 threads, request size 4 KiB`."""
    parts = []
    for name, value in factors.items():
        if name == "threads":
            parts.append(counted(int(str(value)), "thread"))
        elif name in ("system", "load", "scheduler") and value not in (None, ""):
            parts.append(str(value))
        elif value not in (None, ""):
            from seekwise.report.frame import TITLES

            parts.append(f"{TITLES.get(name, name.replace('_', ' '))} {shown(name, value)}")
    return ", ".join(parts)
