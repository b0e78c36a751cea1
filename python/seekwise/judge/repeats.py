"""Values of the single repeats: by metric, system, setting, operation, threads and request size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from seekwise.store.record import Phase, Record

Metric = Literal["rate", "access_time", "cpu_efficiency", "sys_cpu", "cpu_load"]
MIB = 2**20
"""What load generators of before 2017 print as a MB."""
Place = tuple[str, str, str, int, int]
"""System, setting, operation, threads, request bytes."""


def repeats(records: Sequence[Record], metric: Metric, *, errors: bool = False) -> dict[Place, list[float]]:
    """One value per repeat; A/A checks and drift checks left out. `errors`: the standard errors of those values
    instead."""
    values: dict[Place, list[float]] = defaultdict(list)
    for record in records:
        if not record.valid or record.role != "candidate":
            continue
        given = record.factors
        for phase in record.phases:
            value = metric_error(phase, metric) if errors else metric_value(phase, metric)
            if value is not None:
                place = (str(given.get("system")), record.setting, phase.operation)
                threads = int(phase.details.get("group_threads", given.get("threads", 1)))
                values[(*place, threads, int(given.get("block_bytes", 0)))].append(value)
    return dict(values)


def metric_value(phase: Phase, metric: Metric) -> float | None:
    """Rates and CPU efficiencies in MiB, access times in ms, CPU in per cent of one processor."""
    if metric == "rate":
        return phase.rate_bytes_per_s / MIB
    if metric == "access_time":
        return phase.latency_mean_ns / 1e6
    program = phase.details.get("printed")
    if isinstance(program, dict) and PROGRAM_NAMES[metric] in program:
        return float(program[PROGRAM_NAMES[metric]])
    cpu = phase.cpu
    seconds = cpu.system_cpu
    if seconds <= 0:
        return None
    if metric == "cpu_efficiency":
        return phase.bytes / MIB / seconds
    spent = seconds if metric == "sys_cpu" else seconds + (cpu.user if cpu.user is not None else cpu.submitter_user)
    return 100 * spent / phase.elapsed_s if phase.elapsed_s > 0 else None


PROGRAM_NAMES = {"sys_cpu": "syscpu", "cpu_load": "cpu", "cpu_efficiency": "cpueff"}
"""What the load generator prints, its fault included, where the simulator says it; else a plain share of one
processor."""


def metric_error(phase: Phase, metric: Metric) -> float:
    """Standard error of the number above that comes from how the host's kernel counts processor time; 0 where it does
    not."""
    program = phase.details.get("printed")
    if metric == "cpu_efficiency" and isinstance(program, dict):
        return float(program.get("cpueff_error", 0.0))
    return 0.0
