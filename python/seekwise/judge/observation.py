"""Observations go in, verdicts come out. Nothing here knows where a number was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
    """rate: bytes/s (more is better) · access_time: mean ns (less) · cpu_efficiency: MB per system-CPU second (more) ·
    p99: ns (less)."""
    value: float


@dataclass(frozen=True)
class Verdict:
    """A against B in one combination by one metric."""

    table: str
    combination: str
    metric: str
    """rate, access_time, cpu_efficiency or p99."""
    setting_a: str
    setting_b: str
    winner: str | None
    """The better setting of a clear difference, or None (small, tie, undecided)."""
    word: Word
    """clear: one is better, so surely that few of its table are expected to be wrong · tie: within the threshold with
    90 % · small: both of these · undecided: neither."""
    ratio: float
    """Estimated a / b."""
    ratio_low: float
    ratio_high: float
    """90 % interval of the ratio."""
    p_better: float | None
    """Probability that a is better than b, and that it is worse; None where nothing is known."""
    p_worse: float | None
    repetitions: int
    """Repetitions with both settings."""
    rule_version: str
    unsteady: tuple[str, ...] = ()
    """Which of the two did not reach a steady state, where that keeps the verdict from being decided."""

    @property
    def loser(self) -> str | None:
        """Who is shown to be worse, or None."""
        if self.winner is None:
            return None
        return self.setting_b if self.winner == self.setting_a else self.setting_a

    @property
    def interval(self) -> tuple[float, float, float]:
        """(estimate, low, high) of the ratio."""
        return self.ratio, self.ratio_low, self.ratio_high

    def turned(self) -> Verdict:
        """The same with b as the first setting: ratios are b / a."""
        ratio, low, high = (1 / bound if bound else math.inf for bound in (self.ratio, self.ratio_high, self.ratio_low))
        return replace(
            self, setting_a=self.setting_b, setting_b=self.setting_a, ratio=ratio, ratio_low=low, ratio_high=high,
            p_better=self.p_worse, p_worse=self.p_better,
        )  # fmt: skip


def interval_of(verdicts: Sequence[Verdict], setting: str, other: str) -> tuple[float, float, float] | None:
    """(estimate, low, high) of `setting` / `other`; None where no verdict is of the two."""
    verdict = next((v for v in verdicts if {v.setting_a, v.setting_b} == {setting, other}), None)
    if verdict is None:
        return None
    return (verdict if verdict.setting_a == setting else verdict.turned()).interval
