"""Observations go in, verdicts come out. Nothing here knows where a number was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Metric = Literal["rate", "access_time", "cpu_efficiency", "p99"]
"""rate: bytes/s (more is better) · access_time: mean ns (less) · cpu_efficiency: MB per system-CPU second (more) · p99: ns (less)."""

Word = Literal["clear", "small", "tie", "undecided"]


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
    value: float


BLOCKS_MANY = 100
"""Above this a forecast of blocks is not a number to plan with."""


def repetitions_text(blocks: int) -> str:
    """`about 12 more repetitions`, or `over 100 more repetitions` of a forecast that only says many."""
    many = f"over {BLOCKS_MANY}" if blocks > BLOCKS_MANY else f"about {blocks}"
    return f"{many} more repetition{'' if blocks == 1 else 's'}"


@dataclass(frozen=True)
class Verdict:
    """A against B in one cell by one metric."""

    NAMES: ClassVar = {"combination": "cell"}

    table: str
    combination: str
    metric: str
    """rate, access_time, cpu_efficiency or p99."""
    setting_a: str
    setting_b: str
    winner: str | None
    """The better setting of a clear difference, or None (small, tie, undecided)."""
    word: Word
    """clear: shown, and large enough to count · small: shown, but shown to be too small to count · tie: equality shown ·
    undecided: neither shown."""
    ratio: float
    """Estimated a / b."""
    ratio_low: float
    ratio_high: float
    """95 % interval of the ratio."""
    q_value: float | None
    """Corrected for all comparisons of the study."""
    blocks: int
    """Repetitions with both settings."""
    blocks_more: int | None
    """How many more blocks would probably decide; None when decided. A guess above `BLOCKS_MANY` only says many."""
    rule_version: str
    reason: str = ""
    unsteady: tuple[str, ...] = ()
    """Which of the two did not reach a steady state, where that keeps the verdict from being decided."""
    p_value: float | None = None
    """Two-sided, before any correction for many comparisons; None below the least number of blocks."""

    @property
    def loser(self) -> str | None:
        """Who is shown to be worse, or None."""
        if self.winner is None:
            return None
        return self.setting_b if self.winner == self.setting_a else self.setting_a
