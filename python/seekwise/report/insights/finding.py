"""One insight: what some numbers say, as a sentence with the numbers, and the numbers themselves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean
from typing import TypeVar

Place = TypeVar("Place", bound=Hashable)
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
    grouped: Mapping[Place, Mapping[str, Sequence[Numbers]]],
) -> dict[Place, dict[str, Numbers]]:
    """{place: {setting: the mean of its repeats}}; they are dataclasses of numbers, averaged field by field."""
    return {
        place: {setting: _mean(repeats) for setting, repeats in settings.items()} for place, settings in grouped.items()
    }


def _mean(repeats: Sequence[Numbers]) -> Numbers:
    names = [one.name for one in fields(repeats[0])]  # type: ignore[arg-type]
    return type(repeats[0])(*(fmean(getattr(repeat, name) for repeat in repeats) for name in names))
