"""A short stretch of a simulated trial again, with a trace: from the spec and the seed that its record keeps, so it is
always the same.

Nothing has to be asked for when a study runs. A stretch is short enough to be drawn request by request, and simulating
it takes milliseconds.
"""

from __future__ import annotations

import copy
import json
import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from seekwise import _core
from seekwise.simulate.spec import Answer, Described, Spec
from seekwise.store.record import Record
from seekwise.trace.close_up import CloseUp, Parts, ServedRequest, cut

SPAN_MOST_S = 1.0
REQUESTS = 180
"""So many of the fastest setting make a picture in which single requests can be told apart."""
SLOWEST_LEAST, FASTEST_MOST = 40, 2000
"""A slow setting beside a fast one needs some requests, too; more of the fast one than this say nothing further."""
WARM_UP_MOST_S, WARM_UP_LEAST_S, WARM_UP_IOS = 1.0, 0.005, 6000
"""Before the stretch: a write cache fills first. No longer than this, and no more requests of the fastest setting."""
HISTORY_MOST_S, HISTORY_IOS = 0.5, 1500
"""Of each operation that the trial did before."""
CALLS_PER_REQUEST = 16
"""Behind the page cache, about: read-ahead and write-back ask the drive for many calls at once."""
BEGINNING = 0.3
"""Share of the warm-up that no number counts."""
EVENTS_PER_IO = 8
EVENTS_MOST = 400_000


def can(record: Record, operation: str) -> bool:
    """Whether the trial can be simulated again with a trace: on a drive, md or a controller's unit, and through the
    page cache of a drive."""
    spec = record.load.get("spec")
    return (
        record.provenance == "simulated"
        and isinstance(spec, dict)
        and traceable(spec)
        and any(phase["operation"] == operation and phase.get("jobs") for phase in spec["phases"])
    )


def traceable(spec: Spec) -> bool:
    """Behind the page cache the members of an array are not told apart; of several cores no requests are kept."""
    return "cores" not in spec.get("host", {}) and (spec.get("cache") is None or "array" not in spec["device"])


def close_ups(records: Sequence[Record], operation: str) -> list[CloseUp]:
    """One stretch for each record, all of the same length: a second, or less where that is too much to draw."""
    speeds = [phase.iops for r in records for phase in r.phases if phase.operation == operation and phase.iops > 0]
    return of_specs([(record.setting, _with_history(record, operation)) for record in records], operation, speeds)


def _with_history(record: Record, operation: str) -> Spec:
    """The trial's phases up to that operation, those before it cut short: what a scheduler or a drive has learnt in
    them counts."""
    spec = copy.deepcopy(record.load["spec"])
    iops = {phase.operation: phase.iops for phase in record.phases}
    kept = []
    for phase in spec["phases"]:
        kept.append(phase)
        if phase["operation"] == operation:
            break
        calls = max(iops.get(phase["operation"], 0.0), 1.0) * _pieces(spec)
        length_ns = min(HISTORY_MOST_S, HISTORY_IOS / calls) * 1e9
        phase["runtime_ns"] = min(phase.get("runtime_ns") or 10**18, round(length_ns))
    return {**spec, "phases": kept}


def of_specs(asked: Sequence[tuple[str, Spec]], operation: str, speeds: Sequence[float]) -> list[CloseUp]:
    """The same of (setting, spec of a trial); `speeds`: I/Os per second that they reach."""
    calls = max(speeds, default=1.0)
    joined = CALLS_PER_REQUEST if any(spec.get("cache") is not None for _, spec in asked) else 1
    fastest, slowest = calls / joined, min(speeds, default=1.0) / joined
    span_s = min(SPAN_MOST_S, max(REQUESTS / fastest, SLOWEST_LEAST / slowest), FASTEST_MOST / fastest)
    pieces = max((_pieces(spec) for _, spec in asked), default=1)
    warm_up_s = max(min(WARM_UP_MOST_S, WARM_UP_IOS / fastest / pieces), WARM_UP_LEAST_S)
    events = min(EVENTS_MOST, int(EVENTS_PER_IO * pieces * max(calls, 1.0) * (1.5 * span_s + warm_up_s)) + 2000)
    # Some time more, so that what is under way at the end of the stretch is done.
    specs = [_spec(spec, operation, warm_up_s + 1.5 * span_s, events) for _, spec in asked]
    results = json.loads(_core.simulate_cells(json.dumps(specs), 2))
    return [
        _close_up(setting, spec, result, 1e3 * warm_up_s, 1e3 * span_s)
        for (setting, _), spec, result in zip(asked, specs, results, strict=True)
        if "trace" in result
    ]


def _pieces(spec: Spec) -> int:
    """Requests that the largest I/O becomes on one drive of an array: their events fill the trace, before a stretch
    begins if need be."""
    array = spec["device"].get("array")
    if array is None or "chunk_kib" not in array:
        return 1
    largest: int = max(job.get("block_bytes", 0) for phase in spec["phases"] for job in phase["jobs"])
    row_bytes: int = 1024 * array["chunk_kib"] * array["members"]
    return max(1, math.ceil(largest / row_bytes))


def _spec(whole: Spec, operation: str, seconds: float, events: int) -> Spec:
    """With that operation as the last, for so long."""
    spec = copy.deepcopy(whole)
    number = next(n for n, asked_for in enumerate(spec["phases"]) if asked_for["operation"] == operation)
    phase = spec["phases"][number]
    phase["runtime_ns"] = min(phase.get("runtime_ns") or 10**18, round(seconds * 1e9 + 1e6 * _late_ms(phase)))
    more = EVENTS_PER_IO * HISTORY_IOS * number
    return {**spec, "phases": spec["phases"][: number + 1], "trace_events_max": events + more}


def _late_ms(phase: Spec) -> float:
    """When the last thread has started."""
    last_ns: int = max(
        job.get("start_ns", 0) + job.get("stagger_ns", 0) * job.get("threads", 1) for job in phase["jobs"]
    )
    return last_ns / 1e6


def _close_up(setting: str, spec: Spec, result: Answer, from_ms: float, span_ms: float) -> CloseUp:
    described: Described = json.loads(_core.describe_cell(json.dumps(spec)))
    array = described.get("array")
    begun = result["phases"][-1]["started_ns"]
    rows = [row for row in result["trace"]["rows"] if row[0] >= begun]
    cached = spec.get("cache") is not None
    # Calls that go through the page cache are no bios: a request begins where the scheduler gets it.
    served = _served(rows, members_only=array is not None or cached)
    if "controller" not in spec["device"]:
        served = _with_parts(served, spec["device"])
    size = (array["member_bytes"] if array else described["capacity_bytes"]) // 512
    # A trial that ends sooner shows its last stretch.
    end = max((time / 1e6 for time, event, *_ in rows if event in ("submit", "insert")), default=0.0)
    start = begun / 1e6 + from_ms + _late_ms(spec["phases"][-1])
    if end < start + span_ms:
        start = max(begun / 1e6, end - span_ms)
    begin = begun / 1e6 + BEGINNING * (start - begun / 1e6)

    phase = result["phases"][-1]
    calls_per_ms = phase["ios"] / max(phase["elapsed_ns"] / 1e6, 1e-9)
    from_memory = _from_memory(phase["latency_bins"], served) if cached else None

    def between(from_ms: float, length_ms: float) -> CloseUp:
        described = cut(served, setting, from_ms, length_ms, size)
        if cached:
            return replace(described, ios_of_load=max(1, round(calls_per_ms * length_ms)), from_memory=from_memory)
        if array is None:
            return described
        asked = sum(event == "submit" and from_ms <= time / 1e6 <= from_ms + length_ms for time, event, *_ in rows)
        return replace(described, drives=int(array["members"]), ios_of_load=asked)

    return replace(between(start, span_ms), whole=between(begin, start + span_ms - begin))


def _from_memory(bins: dict[str, int], served: Sequence[ServedRequest]) -> float:
    """Share of the calls that were faster than any request of the drive: the page cache had the data, or room for
    it."""
    fastest_ns = 1e6 * min((one.end - one.issue for one in served), default=0.0)
    total = sum(bins.values())
    return sum(count for bound, count in bins.items() if int(bound) < fastest_ns) / total if total else 0.0


def _served(rows: Sequence[Sequence[Any]], *, members_only: bool) -> list[ServedRequest]:
    """Requests out of events. Of an array the submitted I/Os have addresses of the array, those after them of its first
    drive."""
    bios: dict[int, deque[tuple[int, int, int]]] = defaultdict(deque)
    inserted: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    issued: dict[tuple[int, int], deque[tuple[int, int, int, int]]] = defaultdict(deque)
    requests: list[ServedRequest] = []
    for time, event, op, sector, sectors, process in rows:
        match event:
            case "submit" if not members_only:
                bios[sector].append((time, sectors, process))
            case "insert" if members_only:
                inserted[sector, sectors].append(time)
            case "issue":
                arrival, thread, count = _bios_of(bios, sector, sectors, time, process)
                if members_only and inserted[sector, sectors]:
                    arrival = inserted[sector, sectors].popleft()
                issued[sector, sectors].append((arrival, time, thread, count))
            case "complete" if issued[sector, sectors]:
                arrival, issue, thread, count = issued[sector, sectors].popleft()
                requests.append(
                    ServedRequest(arrival / 1e6, issue / 1e6, time / 1e6, sector, sectors, op != "R", thread, max(count - 1, 0))
                )  # fmt: skip
    return requests


def _bios_of(
    bios: dict[int, deque[tuple[int, int, int]]], sector: int, sectors: int, now: int, process: int
) -> tuple[int, int, int]:
    """(time of the first, its thread, how many) of the I/Os that a request is made of; what is left of a longer one
    stays."""
    at, end, first, thread, count = sector, sector + sectors, now, process, 0
    while at < end and bios.get(at):
        time, length, owner = bios[at].popleft()
        if not count or time < first:
            first, thread = time, owner
        count += 1
        if at + length > end:
            bios[end].append((time, at + length - end, owner))
        at += length
    return first, thread, count


def _with_parts(served: list[ServedRequest], device: Spec) -> list[ServedRequest]:
    """With seek, rotation and transfer, where the drive model has an arm."""
    order = sorted(served, key=lambda one: one.end)
    commands = [(one.sector, one.sectors, one.write, round(one.issue * 1e6), round(one.end * 1e6)) for one in order]
    request = {
        "model": device["model"],
        "parameters": device.get("parameters", {}),
        "measure": "parts",
        "commands": commands,
    }
    try:
        answer = json.loads(_core.measure_drives(json.dumps([request])))[0]
    except ValueError:
        return order
    if "parts" not in answer:
        return order
    return [
        replace(one, parts=Parts(seek / 1e6, rotation / 1e6, transfer / 1e6, own / 1e6, cached))
        for one, (seek, rotation, transfer, own, _, cached) in zip(order, answer["parts"], strict=True)
    ]
