"""One insight: what some numbers say, as a sentence with the numbers, and the numbers themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean
from typing import TypeVar

from seekwise.store.record import Record

Numbers = TypeVar("Numbers")


@dataclass(frozen=True)
class Finding:
    kind: str
    """What it is about: groups, level, slope, spread, cpu_efficiency, cpu_equal, threshold, doubling, meeting, chunk,
    pair, controller, jobs, loads, lock, protects."""
    text: str
    """One sentence without a period."""
    numbers: Mapping[str, object] = field(default_factory=dict)
    strength: float = 0.0
    """Natural logarithm of the greatest ratio that it states: what orders insights."""


def means(
    records: Sequence[Record], numbers_of: Callable[[Record], Numbers | None]
) -> dict[tuple[str, str], dict[str, Numbers]]:
    """{(system, combination): {setting: the mean of its repeats}} of the valid records. `numbers_of`: a dataclass of numbers,
    averaged field by field; None where a record does not tell."""
    grouped: dict[tuple[str, str], dict[str, list[Numbers]]] = {}
    for record in records:
        if record.valid and (own := numbers_of(record)) is not None:
            place = (str(record.factors.get("system", "")), record.combination)
            grouped.setdefault(place, {}).setdefault(record.setting, []).append(own)
    return {
        place: {setting: _mean(repeats) for setting, repeats in settings.items()} for place, settings in grouped.items()
    }


def _mean(repeats: Sequence[Numbers]) -> Numbers:
    names = [one.name for one in fields(repeats[0])]  # type: ignore[arg-type]
    return type(repeats[0])(*(fmean(getattr(repeat, name) for repeat in repeats) for name in names))
