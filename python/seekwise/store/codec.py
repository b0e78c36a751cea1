"""Records as JSON and back: the one place that knows how a record lies in the database.

Keys of `latency_bins` are integers in memory and text in JSON; everything else is the same in both.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from seekwise.store.record import CpuSeconds, Derived, Phase, Record

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def to_document(record: Record) -> dict[str, Any]:
    """The record as plain data, ready for JSON; derived figures are added under `derived` for readers without our
    code."""
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


@cache
def _stored() -> TypeAdapter[Record]:
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def decode(text: str) -> Record:
    """The record in a JSON text. Unknown keys of later minor versions are ignored.

    ValueError where a value is not of its type or out of all bounds, or where the machine's devices are no list of
    objects.
    """
    try:
        record = _stored().validate_json(text, strict=True)
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None
    devices = record.environment.get("devices") or []
    if not isinstance(devices, list) or not all(isinstance(device, dict) for device in devices):
        raise ValueError("the devices of the environment are no list of objects")
    return record


class Brief:
    """Decodes records for verdicts over many of them: what they have in common is there once, percentiles stand for
    histograms.

    Left out are what each job and thread of a trial did (`details`), and specification and seed of the simulator
    (`load`). Verdicts are those of whole records; pages and documents show more than this.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def decode(self, text: str) -> Record:
        """The record in a JSON text."""
        record = decode(text)
        return replace(
            record,
            run_id=sys.intern(record.run_id),
            combination=sys.intern(record.combination),
            setting=sys.intern(record.setting),
            environment=self._shared(record.environment),
            factors=self._shared(record.factors),
            settings_seen=self._shared(record.settings_seen),
            conditions=self._shared(record.conditions),
            load=self._shared({key: value for key, value in record.load.items() if key not in ("spec", "seed")}),
            phases=tuple(map(self._shortened, record.phases)),
        )

    def _shortened(self, phase: Phase) -> Phase:
        # Where a histogram counts other requests than the phase, percentiles of one would be judged by the other's
        # number.
        is_whole = bool(phase.latency_bins) and sum(phase.latency_bins.values()) == phase.ios
        return replace(
            phase,
            latency_bins={} if is_whole else phase.latency_bins,
            reported_percentiles_ns=phase.percentiles_ns if is_whole else phase.reported_percentiles_ns,
            details={name: value for name, value in phase.details.items() if name not in ("jobs", "threads")},
            cpu=replace(phase.cpu, kernel_threads=self._shared(phase.cpu.kernel_threads)),
            operation=sys.intern(phase.operation),
        )

    def _shared(self, value: dict[str, T]) -> dict[str, T]:
        shared: dict[str, T] = self._kept.setdefault(repr(value), value)
        return shared
