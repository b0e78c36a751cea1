"""One insight: what some numbers say, as a sentence with the numbers, and the numbers themselves."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    kind: str
    """What it is about: groups, level, slope, spread, cpu_efficiency, cpu_equal, threshold, doubling, meeting, chunk, pair, controller,
    jobs, loads, lock, protects."""
    text: str
    """One sentence without a period."""
    numbers: dict[str, object] = field(default_factory=dict)
    strength: float = 0.0
    """Natural logarithm of the greatest ratio that it states: what orders insights."""
