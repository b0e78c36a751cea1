"""What is judged: one number of one trial. Nothing here knows where it was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Observation:
    """One value of one metric from one valid trial."""

    table: str
    """Family within which errors are controlled: one operation group of one run, as shown in one table."""
    combination: str
    """What is held equal when settings are compared, operation and thread count included."""
    repetition: int
    setting: str
    metric: str
    """rate: bytes/s (more is better) · access_time: mean ns (less) · cpu_efficiency: MB per system-CPU second (more) ·
    p99: ns (less)."""
    value: float
