"""A period as a record: the one shape that every backend gives."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from seekwise.judge.decision.periods import upper_bound_ns
from seekwise.linux import diskstats
from seekwise.linux.diskstats import DiskCounters
from seekwise.measure.kernel import cpu
from seekwise.measure.live import logs
from seekwise.measure.live.stretch import Counters, Period, Stretch
from seekwise.store.database import now
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
FOREIGN_SHARE = 1.25
FOREIGN_BYTES_MIN = 4 * 2**20
COUNTED_LEAST_S = 0.03
PROFILE_BIN_S = 0.1


def made(
    run_id: str,
    index: int,
    number: int,
    use: str,
    candidate: Candidate,
    phases: tuple[Phase, ...],
    *,
    seed: int,
    start_s: float,
    length_s: float,
    began_s: float | None = None,
    cut_s: float = 0.0,
    switch_s: float = 0.0,
    stretch: int = 0,
    conditions: dict[str, object] | None = None,
    **more: Any,
) -> Record:
    """One period of a use under a candidate, in round `number`.

    `start_s`: seconds into the run; `began_s`: seconds since 1970, now without it; `more`: further fields of the record.
    """
    times = {"start_s": (start_s, 3), "length_s": (length_s, 3), "cut_s": (cut_s, 3), "switch_s": (switch_s, 4)}
    return Record(
        **{
            "run_id": run_id,
            "trial": index,
            "repetition": number,
            "combination": f"use={use}",
            "setting": candidate.label,
            "factors": {**candidate.values, "use": use},
            "provenance": "measured",
            "seed": seed,
            "started_at": now()
            if began_s is None
            else datetime.fromtimestamp(began_s, UTC).isoformat(timespec="milliseconds"),
            "phases": phases,
            "conditions": {
                "stretch": stretch,
                **{name: round(value, digits) for name, (value, digits) in times.items()},
                **(conditions or {}),
            },
            **more,
        }
    )


def of_period(
    period: Period,
    stretch: Stretch,
    use: Use,
    candidate: Candidate,
    *,
    run_id: str,
    index: int,
    cut_s: float,
    counted_s: float,
    seed: int,
    environment: dict[str, object],
    origin_s: float,
    stretch_number: int = 0,
    round_offset: int = 0,
    fio_version: str = "",
) -> Record:
    """`cut_s` from its start does not count, `counted_s` after that do. `origin_s`: when the run began (seconds since 1970)."""
    start = period.before.clock_s + cut_s
    end = min(period.after.clock_s, start + counted_s)
    spent = _cpu(period)
    moved = {name: period.after.devices[name] - period.before.devices[name] for name in period.after.devices}
    phases = tuple(_phase(job, stretch, period, start, end, spent, number == 0) for number, job in enumerate(use.job))
    reason = None if end - start > COUNTED_LEAST_S else "nothing is left of the period after its cut"
    return made(
        run_id,
        index,
        round_offset + period.round,
        use.name,
        candidate,
        phases,
        seed=seed,
        start_s=period.before.clock_s - origin_s,
        length_s=period.length_s,
        began_s=period.before.clock_s,
        cut_s=cut_s,
        switch_s=period.switch_s,
        stretch=stretch_number,
        conditions={
            "counted_s": round(max(0.0, end - start), 3),
            "device": {name: each.recorded for name, each in moved.items()},
            **({"unwritten_bytes": period.before.unwritten_bytes} if period.before.unwritten_bytes is not None else {}),
            "foreign_share": round(_foreign_share(use, stretch, period, moved), 3),
        },
        settings_seen=period.settings_seen,
        environment=environment if index == 0 else {},
        load={"fio": fio_version, "job": stretch.job_text if period is stretch.periods[0] else ""},
        valid=reason is None,
        invalid_reason=reason,
    )


def alone(
    use: Use,
    candidate: Candidate,
    number: int,
    span_s: tuple[float, float],
    operations: dict[str, logs.Operations],
    *,
    settings_seen: dict[str, dict[str, str]] | None = None,
    job_text: str = "",
    **more: Any,
) -> Record:
    """A period with a load of its own, by a clock of its own: `span_s` from its begin to its end. `more`: as of `of_period`."""
    begin, end = (Counters(at_s, at_s, {}, {}) for at_s in span_s)
    period = Period(candidate.label, number, 0.0, begin, end, settings_seen or {})
    return of_period(period, Stretch((period,), operations, job_text), use, candidate, origin_s=span_s[0], **more)


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


def _foreign_share(use: Use, stretch: Stretch, period: Period, moved: dict[str, DiskCounters]) -> float:
    """Share of what the devices moved that no job of ours explains; programs and buffered writers make it untellable (0)."""
    if any(job.pattern is None or not job.direct for job in use.job):
        return 0.0
    ours = sum(
        logs.within(each, period.before.clock_s, period.after.clock_s).bytes for each in stretch.operations.values()
    )
    seen = diskstats.total(moved).bytes
    if seen <= FOREIGN_SHARE * ours + FOREIGN_BYTES_MIN:
        return 0.0
    return (seen - ours) / seen
