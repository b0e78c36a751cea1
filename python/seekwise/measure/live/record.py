"""A period as a record: the one shape that every backend gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from seekwise.judge.decision.periods import upper_bound_ns
from seekwise.measure.kernel import cpu
from seekwise.measure.live import logs
from seekwise.measure.live.open_run import OpenRun
from seekwise.measure.live.stretch import Period, Stretch
from seekwise.store.operations import Operation
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.uses import Job, Use

OPERATIONS: dict[str, Operation] = {
    "random read": "rand_read",
    "random write": "rand_write",
    "sequential read": "seq_read",
    "sequential write": "seq_write",
}
COUNTED_LEAST_S = 0.03
PROFILE_BIN_S = 0.1


@dataclass(frozen=True)
class When:
    """When a period was, in seconds."""

    began_s: float
    """Since 1970."""
    length_s: float
    cut_s: float = 0.0
    """Left out at its start: the switch still has an effect there."""
    switch_s: float = 0.0
    """Of the switch before it."""


def new_record(
    run: OpenRun,
    number: int,
    use: str,
    candidate: Candidate,
    phases: tuple[Phase, ...],
    when: When,
    *,
    conditions: Mapping[str, object] = MappingProxyType({}),
    **more: Any,
) -> Record:
    """The next record of a run: one period of a use under a candidate, in round `number`. `more`: further fields of the
    record."""
    fields: dict[str, Any] = {
        "run_id": run.run.run_id,
        "trial": len(run.records),
        "repetition": number,
        "combination": f"use={use}",
        "setting": candidate.label,
        "factors": {**candidate.values, "use": use},
        "provenance": run.plan.provenance,
        "seed": run.plan.seed,
        "started_at": datetime.fromtimestamp(when.began_s, UTC).isoformat(timespec="milliseconds"),
        "phases": phases,
        "environment": {} if run.records else run.environment,
        "conditions": {
            "stretch": 0,
            "start_s": round(when.began_s - run.origin_s, 3),
            "length_s": round(when.length_s, 3),
            "cut_s": round(when.cut_s, 3),
            "switch_s": round(when.switch_s, 4),
            **conditions,
        },
    }
    return Record(**(fields | more))


def of_period(
    run: OpenRun,
    period: Period,
    stretch: Stretch,
    use: Use,
    candidate: Candidate,
    *,
    counts: tuple[float, float],
    round_offset: int = 0,
    fio_version: str = "",
    **more: Any,
) -> Record:
    """`counts`: seconds from its start that do not count, and seconds after that which do."""
    cut_s, counted_s = counts
    start = period.before.clock_s + cut_s
    end = min(period.after.clock_s, start + counted_s)
    spent = _cpu(period)
    moved = {name: period.after.devices[name] - period.before.devices[name] for name in period.after.devices}
    phases = tuple(_phase(job, stretch, period, start, end, spent, number == 0) for number, job in enumerate(use.job))
    reason = None if end - start > COUNTED_LEAST_S else "nothing is left of the period after its cut"
    job_text = stretch.job_text if period is stretch.periods[0] else ""
    fields: dict[str, Any] = {
        "settings_seen": period.settings_seen,
        "load": {"fio": fio_version, "job": job_text},
        "valid": reason is None,
        "invalid_reason": reason,
    }
    return new_record(
        run,
        round_offset + period.round,
        use.name,
        candidate,
        phases,
        When(period.before.clock_s, period.length_s, cut_s, period.switch_s),
        conditions={
            "counted_s": round(max(0.0, end - start), 3),
            "device": {name: each.recorded for name, each in moved.items()},
            **({"unwritten_bytes": period.before.unwritten_bytes} if period.before.unwritten_bytes is not None else {}),
        },
        **(fields | more),
    )


def _phase(
    job: Job, stretch: Stretch, period: Period, start_s: float, end_s: float, spent: CpuSeconds, first: bool
) -> Phase:
    operations = stretch.operations.get(job.name, logs.EMPTY)
    counted = logs.within(operations, start_s, end_s, period.before.clock_s)
    throughputs, waits = logs.profile(operations, period.before.clock_s, period.after.clock_s, PROFILE_BIN_S)
    number = sum(counted.bins.values())
    details: dict[str, object] = {"job": job.name, "role": job.role, "profile_bin_s": PROFILE_BIN_S}
    if job.jobs > 1:
        throughputs_each = logs.per_process_throughputs(operations, start_s, end_s, job.jobs)
        details["per_process_bytes_per_s"] = [round(each) for each in throughputs_each]
    details |= logs.shares(operations, start_s, end_s)
    return Phase(
        operation=OPERATIONS.get(str(job.pattern), "mixed"),
        elapsed_s=max(0.0, end_s - start_s),
        bytes=counted.bytes,
        ios=counted.ops,
        latency_bins={upper_bound_ns(bin_number): count for bin_number, count in counted.bins.items()},
        latency_mean_ns=counted.latency_sum_ns / number if number else 0.0,
        latency_max_ns=upper_bound_ns(max(counted.bins)) if counted.bins else 0,
        cpu=spent if first else CpuSeconds(0.0, 0.0),
        windows=tuple(
            (throughput, 0.0 if math.isnan(wait) else wait)  # no operation ended in this bin
            for throughput, wait in zip(throughputs, waits, strict=True)
        ),
        details=details,
    )


def _cpu(period: Period) -> CpuSeconds:
    ticks = {
        kind: (period.after.cpu_ticks[kind] - period.before.cpu_ticks[kind]) / cpu.TICKS_PER_SECOND
        for kind in period.before.cpu_ticks
    }
    return CpuSeconds(
        submitter_user=0.0,
        submitter_system=0.0,
        user=ticks.get("user", 0.0) + ticks.get("nice", 0.0),
        system=ticks.get("system", 0.0),
        irq=ticks.get("irq", 0.0),
        softirq=ticks.get("softirq", 0.0),
        iowait=ticks.get("iowait", 0.0),
        idle=ticks.get("idle", 0.0),
    )
