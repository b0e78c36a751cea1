"""A small run with known numbers, shaped as every backend makes it."""

from __future__ import annotations

import random

from seekwise.report.content import Advice, ReportContent
from seekwise.store.record import CpuSeconds, Phase, Record

MEAN_MS = {"none": 4.0, "mq-deadline": 3.6, "bfq": 3.9}


def sample_records(repetitions: int = 4, threads: tuple[int, ...] = (1, 8)) -> list[Record]:
    random.seed(7)
    records = []
    for repetition in range(repetitions):
        for count in threads:
            for setting, mean_ms in MEAN_MS.items():
                phases = []
                for place, operation in enumerate(("seq_read", "seq_write", "rand_read", "rand_write")):
                    mean_ns = mean_ms * 1e6 * (place + 1) * count**0.8 * random.lognormvariate(0, 0.03)
                    ios = int(count * 1e9 / mean_ns)
                    bins: dict[int, int] = {}
                    for _ in range(ios):
                        bound = int(mean_ns * random.lognormvariate(0, 0.4) / 1e4 + 1) * 10_000
                        bins[bound] = bins.get(bound, 0) + 1
                    phases.append(Phase(operation, 1.0, ios * 65536, ios, bins, mean_ns, max(bins), CpuSeconds(0.01, 0.02, 0.02, ios * 2e-5)))  # fmt: skip
                valid = not (repetition == 1 and setting == "bfq" and count == 1)
                factors = {"scheduler": setting, "threads": count, "block_bytes": 65536}
                records.append(Record("20260101-sample", len(records), repetition, f"{count} threads", setting, factors, "simulated", 1, "2026-01-01T00:00:00Z",
                                      tuple(phases), valid=valid, invalid_reason=None if valid else "another program used vda (8 MB by other processes)"))  # fmt: skip
    return records


def sample_content() -> ReportContent:
    return ReportContent(
        run_id="20260101-sample",
        title="Which scheduler for this storage?",
        subject="/srv on sda1 <WD2500YS>",
        provenance="simulated",
        advice=Advice(
            "Use mq-deadline",
            ("Random reads are 1.08 to 1.14 times as fast as with none.",),
            ("echo mq-deadline | sudo tee /sys/block/sda/queue/scheduler",),
            ("echo none | sudo tee /sys/block/sda/queue/scheduler",),
        ),
        records=sample_records(),
        rule="Rule 1: 95 % intervals, differences below 3 % count as equal.",
        environment={"kernel": "6.1.0", "memory_mib": 2048},
        repeat_lines=("seekwise run studies/quick.toml --seed 1",),
    )
