"""A live-switched run of every shipped use with known numbers, shaped as `tune` makes it."""

from __future__ import annotations

import functools
import math
import random

from seekwise.judge import outcome as outcomes
from seekwise.judge.decision.periods import BINS_PER_OCTAVE, upper_bound_ns
from seekwise.judge.rule import THRESHOLD_OF_PERIODS
from seekwise.store.database import Run
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate, LivePlan
from seekwise.workload.study import uses

SPEED = {"mq-deadline": 1.0, "none": 0.9, "bfq": 0.7, "kyber": 1.02}
LENGTH_S, CUT_S = 1.5, 0.2


@functools.cache
def live_outcome(
    count: int = 14,
    rounds: int = 7,
    name: str = "before & after",
    seed: int = 3,
    slower: float = 1.0,
    noise: float = 0.02,
):
    """`slower`: divides every rate; `noise`: of a period, as a share. Takes half a second, so repeated calls return the same object; do not modify it."""
    rng = random.Random(seed)
    chosen = [use for use in uses.shipped() if all(job.pattern for job in use.job)][:count]
    candidates = tuple(
        Candidate(each, {"scheduler": each}, {} if each == "mq-deadline" else {"vda": {"queue/scheduler": each}}, each == "mq-deadline")
        for each in SPEED
    )  # fmt: skip
    plan = LivePlan(
        target="/srv/<data> & more", leaves=("vda",), stack=("/srv on / (ext4)", "  vda  virtio, 256 GiB"),
        current={"vda": {"queue/scheduler": "mq-deadline"}}, candidates=candidates, uses=tuple(chosen), left_out=("backup",),
        threshold=THRESHOLD_OF_PERIODS, budget_s=120.0, seed=7, notes=("A note of the run",), name=name,
    )  # fmt: skip
    records, at = [], 0.0
    for use in chosen:
        for repetition in range(rounds):
            order = list(SPEED)
            rng.shuffle(order)
            for setting in order:
                records.append(_record(use, setting, repetition, len(records), at, rng, slower, noise))
                at += LENGTH_S
    run = Run("20260102-0304-abcd", "2026-01-02T03:04:05.000+00:00", "0.1.0", name, "kernel", plan.target, 7, "", plan.to_document(), "2026-01-02T03:06:05.000+00:00", "complete")  # fmt: skip
    return outcomes.judged(run, plan, records)


def _record(
    use, setting: str, repetition: int, trial: int, at: float, rng: random.Random, slower: float, noise: float
) -> Record:
    phases = []
    for job in use.job:
        speed = SPEED[setting] if job.role == "foreground" else 1 / SPEED[setting]
        ios = max(60, int(3000 * speed / slower * math.exp(rng.gauss(0, noise))))
        mean_ns = 1e9 * LENGTH_S / ios
        bins: dict[int, int] = {}
        for _ in range(ios):
            number = int(math.log2(mean_ns * rng.lognormvariate(0, 0.5)) * BINS_PER_OCTAVE)
            bins[upper_bound_ns(number)] = bins.get(upper_bound_ns(number), 0) + 1
        size = next(iter(job.block))
        windows = tuple((ios * size / LENGTH_S * rng.uniform(0.8, 1.2), mean_ns) for _ in range(15))
        phases.append(
            Phase("rand_read", LENGTH_S - CUT_S, ios * size, ios, bins, mean_ns, max(bins), CpuSeconds(0.01, 0.02, 0.1, 0.2),
                  windows=windows, details={"job": job.name, "role": job.role, "profile_bin_s": 0.1})
        )  # fmt: skip
    return Record(
        "20260102-0304-abcd", trial, repetition, use.name, setting, {"use": use.name, "scheduler": setting}, "measured", 7,
        "2026-01-02T03:04:05Z", tuple(phases), {"vda": {"queue/scheduler": setting}},
        {"kernel": "6.12.1 #1 SMP\n", "devices": [{"name": "vda", "kind": "virtio", "size_bytes": 2**38, "rotational": False}], "memory_bytes": 25276510208},
        {"fio": "fio-3.33"},
        {"start_s": at, "length_s": LENGTH_S, "cut_s": CUT_S, "stretch": 0, "foreign_share": 0.0,
         "device": {"vda": {"reads": 100, "writes": 0, "read_bytes": sum(each.bytes for each in phases), "write_bytes": 0, "busy_ms": 9}}},
    )  # fmt: skip
