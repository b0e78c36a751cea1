"""One point under one load in the simulator, as figures. Seeds are shared by all points, so that two of them meet the
same addresses."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from seekwise.errors import SeekwiseError
from seekwise.simulate import trial_spec, use_programs, use_trials
from seekwise.simulate.design.space import Point
from seekwise.simulate.spec import Answer, Spec
from seekwise.simulate.use_trials import Model
from seekwise.store.record import CpuSeconds, Phase
from seekwise.workload.study.uses import Use

Simulate = Callable[[Sequence[Spec]], list[Answer]]
"""Specs of trials in, results in their order out."""
PERIOD_SHARE = 0.5
"""Of the periods that `tune model:NAME` simulates: more points say more here than longer ones."""
CPU_US = "host_cpu_us_per_request"
FURTHER = "rate_mb_s of "
"""In front of a further foreground job's name, among the details of a phase."""


@dataclass(frozen=True)
class LoadFigures:
    """What a load met on a point."""

    phase: Phase
    """Of the first foreground job; CPU time is that of the whole host."""

    @property
    def rates_mb_s(self) -> dict[str, float]:
        """{foreground job, the first one without its name: MB/s}; MB = 10⁶ bytes."""
        further = {
            name.removeprefix(FURTHER): rate for name, rate in self.phase.details.items() if name.startswith(FURTHER)
        }
        return {"": max(self.phase.bytes, 1) / 1e6 / self.phase.elapsed_s, **further}

    @property
    def rate_mb_s(self) -> float:
        """Geometric mean over the foreground jobs: one that gains because another starves is no gain."""
        rates = self.rates_mb_s.values()
        return math.exp(sum(map(math.log, rates)) / len(rates))

    @property
    def p99_ms(self) -> float:
        """The longest request where there are too few for a 99th percentile."""
        return (self.phase.percentile_ns(99) or max(self.phase.latency_max_ns, 1)) / 1e6

    @property
    def cpu_us(self) -> float:
        """CPU time of the host per request, of all jobs."""
        return float(self.phase.details[CPU_US])


def phases(model: Model, use: Use, capacity_bytes: int, data_bytes: int, seed: int) -> list[Spec]:
    """What runs on every array of this size. `data_bytes`: how much of it random requests reach, the same on all."""
    array = replace(model, capacity_bytes=capacity_bytes)
    return use_trials.phases_of_use(array, use, seed, PERIOD_SHARE, data_bytes)


def spec(model: Model, use: Use, point: Point, seed: int, phases: list[Spec]) -> Spec:
    """The specification of a trial."""
    trial = use_trials.spec_of_use(model, use, point.values, seed, phases)
    if any(str(job.pattern).startswith("random") for job in use.job):
        trial_spec.with_full_log(trial)
    return trial


def simulate(specs: Sequence[Spec]) -> list[Answer]:
    """Results of trials in their order, on all processors of this machine."""
    return use_programs.simulated(specs, os.cpu_count() or 1)


def figures(use: Use, result: Answer) -> LoadFigures:
    """Of a simulated trial. Raises SeekwiseError if it could not run."""
    if "error" in result:
        raise SeekwiseError(f"{use.name} cannot be simulated: {result['error']}")
    phase = result["phases"][-1]
    foreground = {job.name: done for job, done in zip(use.job, phase["jobs"], strict=True) if job.role == "foreground"}
    (own, *_), cpu, elapsed_s = foreground.values(), phase["cpu"], phase["elapsed_ns"] / 1e9
    further = {FURTHER + name: max(done["bytes"], 1) / 1e6 / elapsed_s for name, done in list(foreground.items())[1:]}
    system_s = cpu["system_s"] + cpu["irq_s"] + cpu["thread_s"]
    return LoadFigures(
        Phase(
            operation=use_trials.OPERATION,
            elapsed_s=elapsed_s,
            bytes=own["bytes"],
            ios=own["ios"],
            latency_bins={int(upper): count for upper, count in own["latency_bins"].items()},
            latency_mean_ns=own["latency_mean_ns"],
            latency_max_ns=own["latency_max_ns"],
            cpu=CpuSeconds(cpu["user_s"], system_s),
            details={CPU_US: max(cpu["user_s"] + system_s, 1e-9) * 1e6 / max(phase["ios"], 1), **further},
        )
    )
