"""A record as flat rows, one per operation, and their sums by device, load and setting.

A **unit** is a storage device of a host: a drive, or an array. Units are **twins** if model and level are equal; firmware and kernel may differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from seekwise.judge.observe import values
from seekwise.store.record import Record
from seekwise.workload.study import combination_key

METRICS = ("rate", "p99")
LENGTH_MOST = 200
"""Characters of a name that are kept: names come from other machines."""


@dataclass(frozen=True, order=True)
class Unit:
    """A storage device of a host."""

    host: str
    device: str
    model: str
    firmware: str
    kernel: str
    level: str
    """`RAID 5 of 4`, or `single`."""

    @property
    def kind(self) -> tuple[str, str]:
        """What its twins have in common."""
        return (self.model, self.level)


@dataclass(frozen=True)
class OperationRow:
    """One operation of one trial."""

    unit: Unit
    load: str
    setting: str
    metrics: dict[str, float]
    """Of `METRICS`: rate in bytes/s, p99 in ns."""


@dataclass
class LogSums:
    """Logarithms of one metric of a unit under a load and a setting."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, count: int, total: float, squares: float) -> None:
        """Sums of logarithms and of their squares, so that parts can be added in any order."""
        self.count += count
        self.total += total
        self.squares += squares

    @property
    def mean(self) -> float:
        """Mean natural logarithm; ZeroDivisionError before the first value."""
        return self.total / self.count

    @property
    def spread(self) -> float:
        """Sum of squared deviations from the mean."""
        return max(self.squares - self.total * self.total / self.count, 0.0)


@dataclass
class FleetSums:
    """Everything that the analysis needs; it takes the same however many trials there are."""

    sums: dict[tuple[Unit, str, str, str], LogSums] = field(default_factory=dict)
    """{(unit, load, setting, metric): sums}."""
    trials: int = 0

    def add(self, row: OperationRow) -> None:
        """Metrics of one operation of one trial; they must be above 0."""
        self.trials += 1
        for metric, value in row.metrics.items():
            log = math.log(value)
            self.of(row.unit, row.load, row.setting, metric).add(1, log, log * log)

    def of(self, unit: Unit, load: str, setting: str, metric: str) -> LogSums:
        """Made empty where it was not known yet."""
        return self.sums.setdefault((unit, load, setting, metric), LogSums())

    @property
    def units(self) -> list[Unit]:
        """Sorted, each once."""
        return sorted({unit for unit, *_ in self.sums})


def unit_of(environment: dict[str, object]) -> Unit:
    """The device that a run was on, from what its records keep of their machine."""
    devices = environment.get("devices")
    leaves = [each for each in devices if isinstance(each, dict)] if isinstance(devices, list) else []
    levels = environment.get("raid_levels")
    numbers = [str(each).removeprefix("raid") for each in levels] if isinstance(levels, list) else []
    raid = next((number for number in numbers if number.isdigit()), None)
    several = len(leaves) > 1
    level = f"RAID {raid} of {len(leaves)}" if raid else f"{len(leaves)} drives" if several else "single"
    return Unit(
        host=_text(environment.get("host"), "host unknown"),
        device="+".join(sorted(_text(each.get("name"), "?") for each in leaves)) or "device unknown",
        model=_joined(leaves, "model", "model unknown"),
        firmware=_joined(leaves, "firmware", "unknown"),
        kernel=_text(environment.get("kernel"), "unknown"),
        level=level,
    )


def _joined(leaves: list[dict[str, Any]], name: str, otherwise: str) -> str:
    return " + ".join(sorted({_text(each.get(name), otherwise) for each in leaves})) or otherwise


def _text(value: object, otherwise: str) -> str:
    return " ".join(str(value).split())[:LENGTH_MOST] if value not in (None, "") else otherwise


def of_records(records: Iterable[Record], unit: Unit | None = None) -> Iterator[OperationRow]:
    """Rows of a run's records in their order: valid trials that were measured, background jobs left out.

    `unit`: whose they are; else what the first record says of its machine holds for those that say nothing.
    """
    for record in records:
        if unit is None or record.environment.get("devices"):
            unit = unit_of(record.environment)
        if not record.valid or record.provenance != "measured":
            continue
        for phase in record.phases:
            if phase.details.get("role", "foreground") != "foreground":
                continue
            known = values(phase)
            metrics = {name: known[name] for name in METRICS if known.get(name, 0) > 0 and math.isfinite(known[name])}
            if metrics:
                job = str(phase.details.get("job", ""))
                yield OperationRow(unit, load_of(record.combination, phase.operation, job), record.setting, metrics)


def load_of(combination: str, operation: str, job: str) -> str:
    """`rand_read use=database queries`: without the device's name, which differs between hosts."""
    return " ".join([operation, combination_key.without(combination, "disk", "system"), job]).strip()
