"""Steady state: a rate counts only when it has stopped changing.

        window 1   2   3   4   5   6   7 …
                       └──── five ────┘      (max − min) ≤ 20 % of the mean, and the fitted line moves ≤ 10 % of the mean

The rule of SNIA's Solid State Storage Performance Test Specification (as implemented in cloudharmony/block-storage,
BlockStorageTest.php; the standard's text itself was not at hand): five windows, at most 25 tried. Rate and access time
must both hold, in each phase for itself, so reads and writes are separate where a study separates them. What came
before is warm-up and kept as data. A combination that never becomes steady is shown, struck out, and never wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.judge.observe import POOLED_FACTOR, combination_of
from seekwise.store.record import Phase, Record
from seekwise.workload.study import combination_key

WINDOWS = 5
WINDOWS_TRIED_MAX = 25
RANGE_SHARE_MAX = 0.20
TREND_SHARE_MAX = 0.10
WINDOW_OPERATIONS_MIN = 200
WINDOW_SECONDS_MIN = 5.0


@dataclass(frozen=True)
class Steadiness:
    """Where a series became steady, and whether it stayed so."""

    steady: bool
    first_window: int | None
    """Index of the first of the five windows that fulfil the rule; what is before is warm-up."""
    left_again: bool
    """Some later five windows break the rule: temperature, a full cache, garbage collection."""
    reason: str


def window_seconds(operations_per_second: float) -> float:
    """Length of a window: at least 200 operations and at least 5 s."""
    if operations_per_second <= 0:
        return WINDOW_SECONDS_MIN
    return max(WINDOW_SECONDS_MIN, WINDOW_OPERATIONS_MIN / operations_per_second)


def is_steady(values: Sequence[float]) -> bool:
    """The rule on one stretch of windows."""
    y = np.asarray(values, dtype=float)
    mean = float(y.mean())
    if not np.isfinite(y).all() or mean <= 0:
        return False
    # Least squares line; it moves slope × (n − 1) from the first to the last window.
    slope = float(np.polyfit(np.arange(len(y)), y, 1)[0])
    return float(y.max() - y.min()) <= RANGE_SHARE_MAX * mean and abs(slope) * (len(y) - 1) <= TREND_SHARE_MAX * mean


def steadiness(*series: Sequence[float]) -> Steadiness:
    """Series over the same windows (rate, access time): the first five windows in which all are steady."""
    length = min((len(s) for s in series), default=0)
    if length < WINDOWS:
        return Steadiness(False, None, False, f"{length} windows, {WINDOWS} are needed")
    holds = [all(is_steady(s[i : i + WINDOWS]) for s in series) for i in range(length - WINDOWS + 1)]
    tried = holds[: WINDOWS_TRIED_MAX - WINDOWS + 1]
    if True not in tried:
        return Steadiness(False, None, False, f"not steady within {min(length, WINDOWS_TRIED_MAX)} windows")
    first = tried.index(True)
    left = not all(holds[first:])
    return Steadiness(True, first, left, "left steady state again" if left else "")


def regrouped(phase: Phase) -> list[tuple[float, float]]:
    """The phase's windows joined until each has 5 s and 200 operations; a remainder at the end is left out.

    Mean access time is weighed by operations, which within a phase are as the rate.
    """
    if not phase.windows or phase.elapsed_s <= 0:
        return []
    width_s = phase.elapsed_s / len(phase.windows)
    joined = math.ceil(window_seconds(phase.iops) / width_s - 1e-9)
    windows = []
    for first in range(0, len(phase.windows) - joined + 1, joined):
        part = phase.windows[first : first + joined]
        throughputs = [throughput for throughput, _ in part]
        total = sum(throughputs)
        access = sum(throughput * latency for throughput, latency in part) / total if total > 0 else math.nan
        windows.append((total / len(part), access))
    return windows


def unsteady(records: Iterable[Record]) -> dict[tuple[str, str], str]:
    """{(combination as observed, setting): reason} for `judge`: what may not win. One unsteady trial is enough.

    Trials shorter than five windows say nothing: they have no steady state to show, and a study that wants one asks for
    longer trials. An unsteady thread count also spoils the mean over thread counts.
    """
    reasons: dict[tuple[str, str], str] = {}
    for record in records:
        for phase in record.phases if record.valid else ():
            windows = regrouped(phase)
            if len(windows) < WINDOWS:
                continue
            state = steadiness(*zip(*windows, strict=True))
            if not state.steady or state.left_again:
                combination = combination_of(record, phase)
                for name in (combination, combination_key.without(combination, POOLED_FACTOR)):
                    reasons.setdefault((name, record.setting), state.reason)
    return reasons
