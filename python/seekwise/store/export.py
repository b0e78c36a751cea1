"""Records for other programs: JSON with everything, CSV with a line per phase and the machine that it ran on."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

from seekwise.document import printed
from seekwise.store.database import Run
from seekwise.store.record import Record

COLUMNS = (
    "run_id",
    "host",
    "kernel",
    "device",
    "model",
    "firmware",
    "trial",
    "attempt",
    "repetition",
    "combination",
    "setting",
    "role",
    "provenance",
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


EVALUATED = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of what spreadsheets evaluate, also in full width (OWASP, "CSV Injection")."""


def _plain(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: a name or a reason may come from another's file. Numbers stay."""
    if not isinstance(value, str):
        return value
    value = value.replace("\r", "\n")  # Python's writer leaves it unquoted, and readers begin a row there
    # A spreadsheet of another country begins a cell there.
    value = re.sub(rf"((?:;|(?<=.)[\t\n]) *)(?=[{re.escape(''.join(EVALUATED))}])", r"\1'", value, flags=re.DOTALL)
    if not value.lstrip(" ").startswith(EVALUATED):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_csv(records: Sequence[Record], out: TextIO) -> None:
    """One line per phase; factors become columns. Several devices of a machine share a cell, joined by `+`."""
    factors = sorted({name for record in records for name in record.factors} - set(COLUMNS))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_plain, (*COLUMNS, *factors)))
    machine: dict[str, dict[str, str]] = {}
    for record in records:
        # Only the first record of a run describes the machine where nothing changed in between.
        if record.environment.get("devices") or record.run_id not in machine:
            machine[record.run_id] = _machine(record.environment)
        for phase in record.phases:
            percentiles = phase.percentiles_ns
            row = {
                **{name: record.factors.get(name) for name in factors},
                **machine[record.run_id],
                "run_id": record.run_id,
                "trial": record.trial,
                "attempt": record.attempt,
                "repetition": record.repetition,
                "combination": record.combination,
                "setting": record.setting,
                "role": record.conditions.get("role"),
                "provenance": record.provenance,
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
            }
            writer.writerow(_plain(row.get(name)) for name in (*COLUMNS, *factors))


def _machine(environment: dict[str, Any]) -> dict[str, str]:
    devices = [device for device in environment.get("devices") or [] if isinstance(device, dict)]
    columns = {"device": "name", "model": "model", "firmware": "firmware"}
    return {
        "host": str(environment.get("host") or ""),
        "kernel": str(environment.get("kernel") or ""),
        **{
            column: "+".join(dict.fromkeys(str(device[key]) for device in devices if device.get(key)))
            for column, key in columns.items()
        },
    }
