"""How long trials take and what they write, before anything was measured: guesses by kind of drive.

A request takes a latency and its transfer; some requests run beside each other. That is right within a factor of two or
three, which is enough to tell minutes from hours; once trials run, the time left follows what they really take.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from seekwise.workload.study.plan import Combination, Load, Plan, PlannedPhase

# What fio needs besides its phases: start, clock calibration, reading its result. Measured with fio 3.33 on two cores.
PHASE_OVERHEAD_S = 0.25
SETTING_OVERHEAD_S = 0.15
# The simulator on one core of 2024: set up and recorded, requests to drives, pages of calls through the page cache (17 to 35 ns each).
SIMULATED_TRIAL_S = 0.005
SIMULATED_REQUESTS_PER_S = 3e6
SIMULATED_PAGES_PER_S = 3e7
PAGE_BYTES = 4096
# The VM testbed on an idle core of 2020: a virtual second of random I/O takes a tenth of a second, of sequential I/O
# one or two; a share of the boot, making drives and arrays, starting fio.
LAB_S_PER_S = 1.0
LAB_TRIAL_S = 2.5
JOB_SECONDS = 60.0
"""A job file of the user's own: nobody knows."""


@dataclass(frozen=True)
class Speed:
    sequential_latency_s: float
    random_latency_s: float
    bytes_per_s: float
    served_at_once: float
    """Requests whose latencies overlap, at most."""


SPEEDS = {
    # 7200 rpm: seek and half a rotation; sorting over many requests gains about a half (NCQ at depth 8).
    "rotational": Speed(100e-6, 12e-3, 120e6, 1.5),
    # A SATA SSD: 100 µs a read at depth 1, half a GB/s.
    "flash": Speed(80e-6, 100e-6, 400e6, 16.0),
    # A virtual drive can be anything; between the two.
    "unknown": Speed(150e-6, 500e-6, 200e6, 4.0),
}


def rate_bytes_per_s(load: Load, step: PlannedPhase, speed: Speed) -> float:
    """What a kind of drive probably reaches under a phase of a load."""
    latency = speed.sequential_latency_s if step.operation.startswith("seq") else speed.random_latency_s
    at_once = min(load.threads * load.iodepth, speed.served_at_once)
    one = load.block_bytes / (latency + load.block_bytes / speed.bytes_per_s)
    rate = min(one * at_once, speed.bytes_per_s)
    return min(rate, load.rate_limit_bytes * load.threads) if load.rate_limit_bytes else rate


def phase_cost(load: Load, step: PlannedPhase, speed: Speed) -> tuple[float, float]:
    """(seconds, bytes moved) of one phase."""
    rate = rate_bytes_per_s(load, step, speed)
    if step.runtime_s is not None:
        return step.runtime_s, step.runtime_s * rate
    per_thread = step.ios_per_thread * load.block_bytes if step.ios_per_thread else load.size_bytes
    amount = float(per_thread * load.threads)
    return amount / rate, amount


def trial_cost(load: Load, speed: Speed) -> tuple[float, int]:
    """(seconds, bytes written) of one trial."""
    if load.job is not None:
        return JOB_SECONDS, 0
    seconds, written = 0.0, 0.0
    for step in load.phases:
        lasting, amount = phase_cost(load, step, speed)
        seconds += lasting + PHASE_OVERHEAD_S
        written += amount if step.operation.endswith("write") else 0.0
    return seconds, int(written)


def simulated_trial_s(load: Load, speed: str, workers: int) -> float:
    """Seconds of the host for one trial in the simulator, of which `workers` run side by side."""
    amount = 0.0 if load.job is not None else sum(phase_cost(load, step, SPEEDS[speed])[1] for step in load.phases)
    return simulated_s(load, amount, amount / max(load.block_bytes, 1)) / workers


def simulated_s(load: Load, moved_bytes: float, calls: float) -> float:
    """Processor seconds of a trial that moves so much with so many calls."""
    work = calls / SIMULATED_REQUESTS_PER_S if load.direct else moved_bytes / PAGE_BYTES / SIMULATED_PAGES_PER_S
    return SIMULATED_TRIAL_S + work


def lab_trial_s(load: Load, speed: str) -> float:
    """Seconds of the host for one trial in the VM testbed."""
    virtual, _ = trial_cost(load, SPEEDS[speed])
    return LAB_TRIAL_S + LAB_S_PER_S * virtual


def layout_bytes(combinations: list[Combination]) -> int:
    """What is written before the first trial of a system."""
    loads = [combination.load for combination in combinations if combination.load.job is None]
    return max((load.size_bytes for load in loads), default=0) * max((load.threads for load in loads), default=0)


def estimated(plan: Plan) -> Plan:
    """The plan with time and bytes filled in."""
    if plan.backend == "simulated":
        return replace(
            plan,
            trial_s=tuple(
                simulated_trial_s(combination.load, plan.system_of(combination).speed, os.cpu_count() or 1)
                for combination in plan.combinations
            ),
            bytes_per_trial=tuple(0 for _ in plan.combinations),
        )
    if plan.backend == "lab":
        return replace(
            plan,
            trial_s=tuple(
                lab_trial_s(combination.load, plan.system_of(combination).speed) for combination in plan.combinations
            ),
            bytes_per_trial=tuple(0 for _ in plan.combinations),
        )
    costs = [
        trial_cost(combination.load, SPEEDS[plan.system_of(combination).speed]) for combination in plan.combinations
    ]
    besides = SETTING_OVERHEAD_S + plan.wait_s + plan.settle_s
    layouts = [
        (
            layout_bytes([combination for combination in plan.combinations if combination.system == facts.name]),
            SPEEDS[facts.speed],
        )
        for facts in plan.systems
    ]
    return replace(
        plan,
        trial_s=tuple(seconds + besides for seconds, _ in costs),
        bytes_per_trial=tuple(written for _, written in costs),
        bytes_prepared=sum(amount for amount, _ in layouts),
        prepare_s=sum(1.0 + amount / speed.bytes_per_s for amount, speed in layouts),
    )
