"""Records as JSON and back: the one place that knows how a record lies in the database.

Keys of `latency_bins` are integers in memory and text in JSON; everything else is the same in both.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields
from typing import Any

from seekwise.store import typed
from seekwise.store.record import CpuSeconds, Derived, Phase, Record


def to_document(record: Record) -> dict[str, Any]:
    """The record as plain data, ready for JSON; derived figures are added under `derived` for readers without our code."""
    document = _plain(record)
    document["schema"] = Record.SCHEMA
    document["phases"] = tuple(_plain(phase) for phase in record.phases)
    for phase, plain in zip(record.phases, document["phases"], strict=True):
        plain["cpu"] = _plain(phase.cpu)
        plain["latency_bins"] = {str(upper): count for upper, count in sorted(phase.latency_bins.items())}
        plain["derived"] = _plain(phase.derived)
    return document


def _plain(value: Record | Phase | CpuSeconds | Derived) -> dict[str, Any]:
    """Fields by name, the values as they are: nothing is copied that is only read."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def from_document(document: dict[str, Any]) -> Record:
    """The record that `to_document` wrote. Unknown keys of later minor versions are ignored.

    ValueError where a value is not of its type or out of all bounds, or where the machine's devices are no list of objects.
    """
    document = typed.require(document, typed.RECORD, "a record")
    devices = document.get("environment", {}).get("devices") or []
    if not isinstance(devices, list) or not all(isinstance(device, dict) for device in devices):
        raise ValueError("the devices of the environment are no list of objects")
    plain = {name: document[name] for name in Record.__dataclass_fields__ if name in document}
    plain["phases"] = tuple(_phase(phase) for phase in document["phases"])
    return Record(**plain)


def _phase(document: dict[str, Any]) -> Phase:
    document = typed.require(document, typed.PHASE, "a phase")
    plain = {key: document[key] for key in Phase.__dataclass_fields__ if key in document}
    plain["latency_bins"] = {int(upper): count for upper, count in document["latency_bins"].items()}
    cpu = typed.require(document["cpu"], typed.CPU, "CPU seconds")
    plain["cpu"] = CpuSeconds(**{key: cpu[key] for key in CpuSeconds.__dataclass_fields__ if key in cpu})
    plain["windows"] = tuple((throughput, latency) for throughput, latency in document.get("windows", ()))
    return Phase(**plain)


@dataclass(frozen=True)
class StoredRecord:
    """A record as it lies in the database: its text, and the columns that one searches by."""

    run_id: str
    trial: int
    attempt: int
    repetition: int
    combination: str
    setting: str
    provenance: str
    valid: bool
    invalid_reason: str | None
    seed: int
    started_at: str
    record: str


def row(record: Record) -> StoredRecord:
    """A record as a row of the database."""
    shared = [name for name in StoredRecord.__dataclass_fields__ if name != "record"]
    return StoredRecord(**{name: getattr(record, name) for name in shared}, record=encode(record))


def encode(record: Record) -> str:
    """A record as JSON text."""
    return json.dumps(to_document(record), separators=(",", ":"), sort_keys=True)


def decode(text: str) -> Record:
    """The record in a JSON text."""
    return from_document(json.loads(text))


class Brief:
    """Decodes records for verdicts over many of them: what they have in common is there once, percentiles stand for histograms.

    Left out are what each job and thread of a trial did (`details`), and specification and seed of the simulator (`load`). Verdicts are those of
    whole records; pages and documents show more than this.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def decode(self, text: str) -> Record:
        """The record in a JSON text."""
        document = json.loads(text)
        for name in ("environment", "factors", "settings_seen", "conditions", "load"):
            if name in document:
                document[name] = self._shared({k: v for k, v in document[name].items() if k not in ("spec", "seed")})
        for name in ("run_id", "combination", "setting", "provenance"):
            document[name] = sys.intern(document[name])
        for phase in document["phases"]:
            self._shorten(phase)
        return from_document(document)

    def _shorten(self, phase: dict[str, Any]) -> None:
        bins = phase["latency_bins"]
        # Where a histogram counts other requests than the phase, percentiles of one would be judged by the other's number.
        if bins and sum(bins.values()) == phase["ios"] and "latency_percentiles_ns" in phase.get("derived", {}):
            phase["latency_bins"] = {}
            phase["reported_percentiles_ns"] = phase["derived"]["latency_percentiles_ns"]
        details = phase.get("details", {})
        phase["details"] = {name: value for name, value in details.items() if name not in ("jobs", "threads")}
        phase["operation"] = sys.intern(phase["operation"])
        phase["cpu"]["kernel_threads"] = self._shared(phase["cpu"].get("kernel_threads", {}))

    def _shared(self, value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._kept.setdefault(repr(value), value)
        return found
