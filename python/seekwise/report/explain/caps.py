"""Where the lock of a scheduler caps a fast drive: from the newest run here that tells of it, otherwise from the figures that ship.

Such runs are those of `nvme-schedulers` (simulated) and of `tune --for limits` on NVMe drives (measured: use `parallel-reads`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from seekwise.errors import SeekwiseError
from seekwise.number_text import thousands
from seekwise.store.database import Run, Store
from seekwise.store.record import Record

NOTHING = 0.05
"""Less than this share of the rate is nothing: as near are ties."""
WITHOUT = "none"
SHIPPED: Mapping[str, float] = {"mq-deadline": 475_000, "bfq": 274_000}
"""Requests per second through the lock of one drive on ten cores (Ren and others, ICPE 2024)."""
SHIPPED_WITHOUT = 780_000
MARKS = ("parallel-reads", "nvme-schedulers")
"""One of them stands in the name or the plan of a run that tells of caps."""
RUNS_MOST = 20
"""The newest ones are looked at."""


@dataclass(frozen=True)
class Cap:
    """Requests per second of the load in which the drive did most without a scheduler."""

    run_id: str
    provenance: str
    where: str
    rate: float
    without: float


def of_records(records: Iterable[Record]) -> dict[str, Cap]:
    """{scheduler: its rate where `none` reaches most}; empty without `none` next to others."""
    rates: dict[tuple[str, str], dict[str, list[tuple[Record, float]]]] = {}
    for record in records:
        scheduler = record.factors.get("scheduler")
        parallel = str(record.factors.get("use", "")).startswith(MARKS[0]) or _waits(record)
        if record.valid and parallel and isinstance(scheduler, str):
            place = (str(record.factors.get("system", "")), record.combination)
            iops = sum(phase.iops for phase in record.phases)
            rates.setdefault(place, {}).setdefault(scheduler, []).append((record, iops))
    means = {
        place: {name: fmean(iops for _, iops in found) for name, found in own.items()}
        for place, own in rates.items()
        if WITHOUT in own and len(own) > 1
    }
    if not means:
        return {}
    busiest = max(means, key=lambda place: means[place][WITHOUT])
    first = rates[busiest][WITHOUT][0][0]
    where = busiest[0] or first.combination.removeprefix("use=")
    own = means[busiest]
    return {
        name: Cap(first.run_id, first.provenance, where, rate, own[WITHOUT])
        for name, rate in own.items()
        if name != WITHOUT
    }


def _waits(record: Record) -> bool:
    """Whether it tells how long processors waited for locks, and only readers were at work."""
    details = record.phases[0].details if record.phases else {}
    return "lock_wait_s" in details and "group_threads" not in details


def newest(path: Path | None = None) -> dict[str, Cap]:
    """Of the newest run that tells of caps, a measured one before a simulated one; empty where there is none or it cannot be read."""
    try:
        with Store.open(path, create=False) as store:
            found = [run for run in store.runs()[-RUNS_MOST:] if _tells(run)]
            every = [caps for run in reversed(found) if (caps := of_records(store.records(run.run_id)))]
    except SeekwiseError:
        return {}
    measured = [caps for caps in every if all(cap.provenance == "measured" for cap in caps.values())]
    return next(iter([*measured, *every]), {})


def _tells(run: Run) -> bool:
    text = f"{run.name} {run.study} {json.dumps(run.plan)}"
    return any(mark in text for mark in MARKS)


def sentence(scheduler: str, caps: Mapping[str, Cap]) -> str:
    """What is known of one scheduler; empty for one of which nothing is."""
    cap = caps.get(scheduler)
    if cap is not None:
        source = f"{'Measured on this machine' if cap.provenance == 'measured' else cap.provenance.capitalize()} (run {cap.run_id}, {cap.where}): "
        if cap.rate >= (1 - NOTHING) * cap.without:
            return f"{source}{scheduler} does not cap the drive: {thousands(cap.rate)} requests per second, {thousands(cap.without)} under {WITHOUT}."
        return f"{source}{scheduler} ends at {thousands(cap.rate)} requests per second, {WITHOUT} at {thousands(cap.without)}."
    if scheduler in SHIPPED:
        return (
            f"On ten cores {scheduler} ended at about {thousands(SHIPPED[scheduler])} requests per second, {WITHOUT} at {thousands(SHIPPED_WITHOUT)} "
            "(Ren and others, ICPE 2024). `sudo seekwise tune DEVICE --for limits` measures it on an NVMe drive here."
        )
    return ""
