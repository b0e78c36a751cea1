"""A period as a record: the one shape that every backend gives."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from seekwise.judge.decision.periods import upper_bound_ns
from seekwise.measure.kernel import cpu, disk
from seekwise.measure.live import logs
from seekwise.measure.live.stretch import Period, Stretch
from seekwise.store.record import CpuSeconds, Operation, Phase, Record
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


def of_period(
    period: Period,
    stretch: Stretch,
    use: Use,
    *,
    run_id: str,
    index: int,
    cut_s: float,
    counted_s: float,
    values: dict,
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
    return Record(
        run_id=run_id,
        trial=index,
        repetition=round_offset + period.round,
        combination=f"use={use.name}",
        setting=period.candidate,
        factors={**values, "use": use.name},
        provenance="measured",
        seed=seed,
        started_at=datetime.fromtimestamp(period.before.clock_s, UTC).isoformat(timespec="milliseconds"),
        phases=phases,
        settings_seen=period.settings_seen,
        environment=environment if index == 0 else {},
        load={"fio": fio_version, "job": stretch.job_text if period is stretch.periods[0] else ""},
        conditions={
            "stretch": stretch_number,
            "start_s": round(period.before.clock_s - origin_s, 3),
            "length_s": round(period.length_s, 3),
            "cut_s": round(cut_s, 3),
            "counted_s": round(max(0.0, end - start), 3),
            "switch_s": round(period.switch_s, 4),
            "device": {name: vars(each) for name, each in moved.items()},
            "foreign_share": round(_foreign_share(use, stretch, period, moved), 3),
        },
        valid=reason is None,
        invalid_reason=reason,
    )


def _phase(
    job: Job, stretch: Stretch, period: Period, start_s: float, end_s: float, spent: CpuSeconds, first: bool
) -> Phase:
    operations = stretch.operations.get(job.name, logs.EMPTY)
    counted = logs.within(operations, start_s, end_s, period.before.clock_s)
    rates, waits = logs.profile(operations, period.before.clock_s, period.after.clock_s, PROFILE_BIN_S)
    number = sum(counted.bins.values())
    details: dict[str, object] = {"job": job.name, "role": job.role, "profile_bin_s": PROFILE_BIN_S}
    if job.jobs > 1:
        rates_each = logs.per_process_rates(operations, start_s, end_s, job.jobs)
        details["per_process_bytes_per_s"] = [round(each) for each in rates_each]
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
            (rate, 0.0 if math.isnan(wait) else wait)  # no operation ended in this bin
            for rate, wait in zip(rates, waits, strict=True)
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


def _foreign_share(use: Use, stretch: Stretch, period: Period, moved: dict[str, disk.DiskCounters]) -> float:
    """Share of what the devices moved that no job of ours explains; programs and buffered writers make it untellable (0)."""
    if any(job.pattern is None or not job.direct for job in use.job):
        return 0.0
    ours = sum(
        logs.within(each, period.before.clock_s, period.after.clock_s).bytes for each in stretch.operations.values()
    )
    total = disk.total(moved)
    seen = total.read_bytes + total.write_bytes
    if seen <= FOREIGN_SHARE * ours + FOREIGN_BYTES_MIN:
        return 0.0
    return (seen - ours) / seen
