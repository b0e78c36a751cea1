"""Runs with a known truth: rates per setting and kind of trial, with a little seeded noise."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from seekwise.store.database import Run
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study import parse, planning
from seekwise.workload.study.plan import Plan, SystemFacts

STUDY = """
name = "made"
[[system]]
name = "disk"
target = "/srv"
[settings]
scheduler = "offered"
[[workload]]
operations = ["seq_read", "seq_write", "rand_read", "rand_write"]
threads = [1, 8]
runtime = "1s"
[design]
blocks = 5
"""


def made_plan(device: str = "sda", current: Mapping[str, str] | None = None, backend: str = "kernel") -> Plan:
    facts = SystemFacts(
        name="disk",
        target="/srv",
        leaves=(device,),
        offered=("none", "mq-deadline", "kyber"),
        current={device: dict(current or {"queue/scheduler": "mq-deadline", "queue/nr_requests": "64"})},
        scheduler="mq-deadline",
    )
    return replace(planning.make(parse.loads(STUDY, "study.toml"), (facts,)), backend=backend)


def made_records(
    throughputs: Mapping[tuple[str, str, int], float],
    *,
    repetitions: int = 5,
    operations: tuple[str, ...] = ("seq_read", "seq_write", "rand_read", "rand_write"),
    noise: float = 0.003,
    run_id: str = "r1",
) -> list[Record]:
    """`rates`: {(setting, operation, threads): factor}; what is missing is 1."""
    generator = random.Random(7)
    records = []
    for repetition in range(1, repetitions + 1):
        for threads in (1, 8):
            for setting in ("none", "mq-deadline", "kyber"):
                phases = []
                for operation in operations:
                    throughput = throughputs.get((setting, operation, threads), 1.0) * (1 + generator.gauss(0, noise))
                    ios = int(10_000 * throughput)
                    phases.append(
                        Phase(
                            operation,
                            1.0,
                            ios * 4096,
                            ios,
                            {int(1e5 / throughput): ios},
                            1e5 / throughput,
                            10**6,
                            CpuSeconds(0.1, 0.2),
                        )
                    )
                records.append(
                    Record(
                        run_id=run_id,
                        trial=len(records),
                        repetition=repetition,
                        combination=f"system=disk threads={threads}",
                        setting=setting,
                        factors={"scheduler": setting, "threads": threads},
                        provenance="measured",
                        seed=1,
                        started_at="2026-11-21T12:00:00Z",
                        phases=tuple(phases),
                    )
                )
    return records


def made_run(plan: Plan, run_id: str = "r1") -> Run:
    return Run(
        run_id,
        "2026-11-21T12:00:00",
        "0.1.0",
        "made",
        plan.backend,
        "/srv",
        1,
        STUDY,
        plan.to_document(),
        None,
        "complete",
    )
