"""What one period says of one job, and the figures of several periods merged.

Latencies are kept as counts in bins of 1/64 octave (1.1 % wide), so that percentiles of several periods are those of all their
operations together; within a bin they are interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BINS_PER_OCTAVE = 64
BINS = 44 * BINS_PER_OCTAVE
"""Up to 2^44 ns, five hours."""
QUANTILES = {"p50": 0.50, "p99": 0.99, "p999": 0.999}
TAIL_BEYOND = 10
"""A tail is as far out as leaves so many units of every setting beyond it."""
TAILS = (0.99, 0.95)


def histogram(latencies_ns: Array) -> dict[int, int]:
    """{bin: operations} of latencies in nanoseconds."""
    if len(latencies_ns) == 0:
        return {}
    bins = np.floor(np.log2(np.maximum(latencies_ns, 1.0)) * BINS_PER_OCTAVE).astype(int)
    numbers, counts = np.unique(np.clip(bins, 0, BINS - 1), return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def upper_bound_ns(number: int) -> int:
    """Upper edge of a bin in nanoseconds."""
    return math.ceil(2 ** ((number + 1) / BINS_PER_OCTAVE))


@dataclass(frozen=True)
class JobPeriod:
    """One job during the counted part of one period."""

    seconds: float
    ops: int
    bytes: int
    latency_sum_ns: float
    bins: dict[int, int] = field(default_factory=dict)
    cpu_s: float = 0.0
    """Processor time of the whole machine outside of idling and waiting, for all jobs of the use together."""
    use_ops: int = 0
    """Operations of all jobs of the use."""
    fairness: float = math.nan
    """Jain's index of the rates of the job's processes: 1 when all are served alike, 1/n when one has everything
    (Jain, Chiu, Hawe 1984, DEC-TR-301)."""

    @property
    def rate_bytes_per_s(self) -> float:
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


def dense(bins: dict[int, int]) -> Array:
    """The histogram as an array of counts, one place per bin."""
    found = np.zeros(BINS)
    if bins:
        found[np.fromiter(bins, int)] = np.fromiter(bins.values(), float)
    return found


def quantile_ns(counts: Array, q: float) -> float:
    """The q-quantile in nanoseconds, interpolated within its bin; NaN of nothing."""
    total = counts.sum()
    if total <= 0:
        return math.nan
    reached = np.cumsum(counts)
    # The rank of a quantile among n operations, as numpy's default counts it.
    rank = q * (total - 1) + 0.5
    number = int(np.searchsorted(reached, rank))
    number = min(number, len(counts) - 1)
    before = reached[number] - counts[number]
    inside = (rank - before) / counts[number] if counts[number] else 0.5
    return float(2 ** ((number + min(max(inside, 0.0), 1.0)) / BINS_PER_OCTAVE))


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index; NaN when nothing moved or there is one process."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if len(rates) > 1 and squares > 0 else math.nan


class Merged:
    """Figures of one job and metric by candidate and round (`table.Figures`). A round holds one or more periods."""

    def __init__(self, settings: Sequence[str], kind: str) -> None:
        self.settings = tuple(settings)
        self.kind = kind
        self._periods: dict[str, dict[int, list[JobPeriod]]] = {name: {} for name in settings}
        self._dense: dict[tuple[str, int], Array] = {}
        self._smallest: float | None = None
        """Bytes of the smallest request seen."""
        self._tail: float | None = None
        """Quantile of the tail; 0 with too few units."""

    def add(self, setting: str, number: int, period: JobPeriod) -> None:
        self._periods[setting].setdefault(number, []).append(period)
        self._dense.pop((setting, number), None)
        self._smallest = self._tail = None

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Rates exist wherever time was counted: a job that moved nothing has the rate zero, which is an answer."""
        found = self._periods[setting]
        if self.kind in ("rate", "done"):
            return tuple(sorted(n for n, each in found.items() if sum(p.seconds for p in each) > 0))
        if self.kind == "tail" and self.tail is None:
            return ()
        if self.kind == "cpu":
            return tuple(sorted(n for n, each in found.items() if any(p.use_ops and p.cpu_s > 0 for p in each)))
        if self.kind == "fairness":
            return tuple(sorted(n for n, each in found.items() if any(p.fairness > 0 for p in each)))
        return tuple(sorted(n for n, each in found.items() if sum(p.ops for p in each) > 0))

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        if self.kind == "rate":
            return self._log_rate(setting, rounds)
        if self.kind == "done":
            return self._log_done(setting, rounds)
        if self.kind in ("mean", "time"):
            return self._log_mean_ms(setting, rounds)
        if self.kind in ("cpu", "fairness"):
            periods = [p for number in rounds for p in self._periods[setting][number]]
            if self.kind == "cpu":
                return math.log(1e6 * sum(p.cpu_s for p in periods) / max(1, sum(p.use_ops for p in periods)))
            return math.log(float(np.mean([p.fairness for p in periods if p.fairness > 0])))
        counts = np.sum([self._counts(setting, number) for number in rounds], axis=0)
        return math.log(quantile_ns(counts, self._quantile()) / 1e6)

    @property
    def tail(self) -> float | None:
        """The quantile that is the slow tail here, the same for every setting; None with too few units."""
        if self._tail is None:
            units = [sum(p.ops for each in by.values() for p in each) for by in self._periods.values() if by]
            fewest = min(units, default=0)
            self._tail = next((q for q in TAILS if fewest * (1 - q) >= TAIL_BEYOND - 1e-9), 0.0)
        return self._tail or None

    def _quantile(self) -> float:
        return (self.tail or TAILS[-1]) if self.kind == "tail" else QUANTILES[self.kind]

    def log_values_without_one(self, setting: str, groups: Sequence[Sequence[int]]) -> Array:
        """`log_value` over all rounds of these groups, with each group left out in turn."""
        if self.kind in QUANTILES or self.kind == "tail":
            each = np.array([np.sum([self._counts(setting, number) for number in group], axis=0) for group in groups])
            rest = each.sum(axis=0) - each
            return np.array([math.log(quantile_ns(counts, self._quantile()) / 1e6) for counts in rest])
        rests = [[number for other in groups if other is not left_out for number in other] for left_out in groups]
        return np.array([self.log_value(setting, rest) for rest in rests])

    def added_variance(self, a: str, b: str) -> float:
        """What a setting leaves behind is cut from the periods instead."""
        return 0.0

    def _log_rate(self, setting: str, rounds: Sequence[int]) -> float:
        periods = [p for number in rounds for p in self._periods[setting][number]]
        seconds, moved = sum(p.seconds for p in periods), sum(p.bytes for p in periods)
        # What moved nothing is slower than half a request in all of its time; that is all that is known.
        return math.log(max(moved, 0.5 * self._smallest_bytes()) / seconds / 1e6)

    def _log_done(self, setting: str, rounds: Sequence[int]) -> float:
        """Units per second; where none was done, fewer than half a one."""
        periods = [p for number in rounds for p in self._periods[setting][number]]
        return math.log(max(sum(p.ops for p in periods), 0.5) / sum(p.seconds for p in periods))

    def _smallest_bytes(self) -> float:
        if self._smallest is None:
            sizes = [p.bytes / p.ops for by in self._periods.values() for each in by.values() for p in each if p.ops]
            self._smallest = min(sizes) if sizes else 512.0
        return self._smallest

    def _log_mean_ms(self, setting: str, rounds: Sequence[int]) -> float:
        periods = [p for number in rounds for p in self._periods[setting][number]]
        ops, waited = sum(p.ops for p in periods), sum(p.latency_sum_ns for p in periods)
        return math.log(max(waited / ops, 1.0) / 1e6)

    def _counts(self, setting: str, number: int) -> Array:
        key = (setting, number)
        if key not in self._dense:
            self._dense[key] = np.sum([dense(p.bins) for p in self._periods[setting][number]], axis=0)
        return self._dense[key]
