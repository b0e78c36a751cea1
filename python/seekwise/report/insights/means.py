"""Means over repeats, ready to be compared: by metric, system, setting, operation, threads and request size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seekwise.judge.repeats import MIB, Metric, Place, repeats
from seekwise.number_text import three
from seekwise.store.operations import OPERATIONS
from seekwise.store.record import Record

METRICS: tuple[Metric, ...] = ("rate", "access_time", "cpu_efficiency")
UNITS = {"rate": "MB/s", "access_time": "ms", "cpu_efficiency": "MB per system-CPU second"}
SCALE = {"rate": MIB / 1e6, "access_time": 1.0, "cpu_efficiency": MIB / 1e6}
"""Repeats count in 2^20 bytes; a MB here has 10^6 bytes, as everywhere else."""
NAMES = {
    "seq_read": "sequential reading",
    "seq_write": "sequential writing",
    "rand_read": "random reading",
    "rand_write": "random writing",
    "mixed": "mixed load",
}
LEVEL = 0.10
"""Values nearer than this are called level: three times the 3 % at which single winners are ties, since whole curves
are compared."""


@dataclass(frozen=True)
class Means:
    values: dict[str, dict[Place, float]]
    noise: float
    """Median over all places of the range of the repeats, as a share of their mean: rates."""
    order: tuple[str, ...] = ()
    """Systems in the order of their study; trials run in another one."""
    efficiency_errors: dict[Place, float] = field(default_factory=dict)
    """Standard error that the clock of the host leaves in a mean of CPU efficiency; 0 where none is known."""

    @classmethod
    def from_records(cls, records: Sequence[Record], order: Sequence[str] = ()) -> Means:
        """Throughput in MB/s (10⁶ bytes), other units as in `UNITS`. `order`: names of systems as the study lists
        them."""
        values: dict[str, dict[Place, float]] = {}
        noises: list[float] = []
        for metric in METRICS:
            known = repeats(records, metric)
            values[metric] = {
                place: SCALE[metric] * sum(known_values) / len(known_values) for place, known_values in known.items()
            }
            if metric == "rate":
                noises = sorted(
                    (max(v) - min(v)) / (sum(v) / len(v)) for v in known.values() if len(v) > 1 and sum(v) > 0
                )
        ticks = repeats(records, "cpu_efficiency", errors=True)
        scale = SCALE["cpu_efficiency"]
        errors = {place: scale * math.hypot(*known_values) / len(known_values) for place, known_values in ticks.items()}
        return cls(values, noises[len(noises) // 2] if noises else 0.0, tuple(order), errors)

    @property
    def level(self) -> float:
        """Difference up to which values are called level: repeats of noisy runs must not look like groups."""
        return max(LEVEL, 2 * self.noise)

    @property
    def quiet(self) -> bool:
        """Repeats agree well enough for `level` to mean equal, not only hidden by scatter."""
        return self.level <= LEVEL

    def alike(self) -> str:
        """`no difference beyond 10 %`; with noisy repeats, what hides a difference is said."""
        return f"no difference beyond {100 * self.level:.0f} %" + ("" if self.quiet else ", which is the noise")

    def axis(self, position: int) -> list[Any]:
        """Values of one part of the place, in order."""
        points = {place[position] for place in self.values["rate"]}
        if position == 0 and self.order:
            return [name for name in self.order if name in points]
        if position == 2:
            return [name for name in OPERATIONS if name in points]
        return sorted(points) if position > 2 else list(dict.fromkeys(place[position] for place in self.values["rate"]))

    def get(self, metric: str, system: str, setting: str, operation: str, threads: int, size: int) -> float | None:
        """In the unit of `UNITS`; None where nothing was measured. `size`: request size in bytes."""
        return self.values[metric].get((system, setting, operation, threads, size))


def span(values: Iterable[float], unit: str) -> str:
    """`80 MB/s` or `76 to 84 MB/s`."""
    given = list(values)
    low, high = three(min(given)), three(max(given))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
