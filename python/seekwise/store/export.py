"""Records for other programs: JSON with everything, CSV with a line per phase."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TextIO

from seekwise.document import printed
from seekwise.store.database import Run
from seekwise.store.record import Record

COLUMNS = (
    "run_id",
    "trial",
    "attempt",
    "block",
    "cell",
    "setting",
    "role",
    "badge",
    "valid",
    "invalid_reason",
    "seed",
    "started_at",
    "operation",
    "elapsed_s",
    "bytes",
    "ios",
    "rate_bytes_per_s",
    "iops",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "submitter_user_s",
    "submitter_system_s",
    "system_cpu_s",
    "cpu_efficiency_mb_per_s",
    "device_bytes",
)


@dataclass(frozen=True)
class Export:
    """`export RUN --format json`: everything that is kept of a run."""

    SCHEMA: ClassVar = "seekwise.export/1"

    run: Run
    records: Sequence[Record]


def write_json(run: Run, records: Iterable[Record], out: TextIO) -> None:
    """One document, schema `seekwise.export/1`."""
    json.dump(printed(Export(run, list(records))), out, indent=1)
    out.write("\n")


def write_csv(run: Run, records: Iterable[Record], out: TextIO) -> None:
    """One line per phase; factors become columns."""
    records = list(records)
    factors = sorted({name for record in records for name in record.factors} - set(COLUMNS))
    writer = csv.DictWriter(out, [*COLUMNS, *factors], lineterminator="\n")
    writer.writeheader()
    for record in records:
        for phase in record.phases:
            percentiles = phase.percentiles_ns
            writer.writerow({
                **{name: record.factors.get(name) for name in factors},
                "run_id": record.run_id,
                "trial": record.trial,
                "attempt": record.attempt,
                "block": record.repetition,
                "cell": record.combination,
                "setting": record.setting,
                "role": record.conditions.get("role"),
                "badge": record.provenance,
                "valid": int(record.valid),
                "invalid_reason": record.invalid_reason,
                "seed": record.seed,
                "started_at": record.started_at,
                "operation": phase.operation,
                "elapsed_s": phase.elapsed_s,
                "bytes": phase.bytes,
                "ios": phase.ios,
                "rate_bytes_per_s": phase.rate_bytes_per_s,
                "iops": phase.iops,
                "latency_mean_ns": phase.latency_mean_ns,
                "latency_p50_ns": percentiles.get("50"),
                "latency_p99_ns": percentiles.get("99"),
                "latency_max_ns": phase.latency_max_ns,
                "submitter_user_s": phase.cpu.submitter_user,
                "submitter_system_s": phase.cpu.submitter_system,
                "system_cpu_s": phase.cpu.system_cpu,
                "cpu_efficiency_mb_per_s": phase.cpu_efficiency,
                "device_bytes": phase.device_bytes,
            })  # fmt: skip
