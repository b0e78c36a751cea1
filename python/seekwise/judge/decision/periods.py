"""What one period says of one job, and the figures of several periods merged.

Latencies are kept as counts in bins of 1/64 octave (1.1 % wide), so that percentiles of several periods are those of all their
operations together; within a bin they are interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision.effects import Observed

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
    counts = np.bincount(np.clip(bins, 0, BINS - 1))
    numbers = np.flatnonzero(counts)
    return dict(zip(numbers.tolist(), counts[numbers].tolist(), strict=True))


@lru_cache(BINS)
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
        """Throughput; 0 for a period without a counted part."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Ratio:
    """A figure that is a sum over periods by another one, times `unit`."""

    of: Callable[[JobPeriod], float]
    over: Callable[[JobPeriod], float]
    unit: float = 1.0


MEAN_MS = Ratio(lambda p: p.latency_sum_ns, lambda p: p.ops, 1e-6)
RATIOS = {
    "rate": Ratio(lambda p: p.bytes, lambda p: p.seconds, 1e-6),
    "done": Ratio(lambda p: p.ops, lambda p: p.seconds),
    "mean": MEAN_MS,
    "time": MEAN_MS,
    "cpu": Ratio(lambda p: p.cpu_s, lambda p: p.use_ops, 1e6),
    "fairness": Ratio(lambda p: p.fairness if p.fairness > 0 else 0.0, lambda p: float(p.fairness > 0)),
}


def dense(bins: dict[int, int]) -> Array:
    """The histogram as an array of counts, one place per bin."""
    counts = np.zeros(BINS)
    if bins:
        counts[np.fromiter(bins, int)] = np.fromiter(bins.values(), float)
    return counts


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


def jain(throughputs: Sequence[float]) -> float:
    """Jain's fairness index; NaN when nothing moved or there is one process."""
    squares = sum(throughput * throughput for throughput in throughputs)
    return sum(throughputs) ** 2 / (len(throughputs) * squares) if len(throughputs) > 1 and squares > 0 else math.nan


AGAIN = 1_000_000
"""Added to a round's number for a second value of the same setting in it: the A/A check runs what is in force twice in a round."""


class Merged:
    """Figures of one job and metric by candidate and round (`table.Figures`). A round holds one or more periods."""

    def __init__(self, settings: Sequence[str], kind: str) -> None:
        self.settings = tuple(settings)
        self.kind = kind
        self._periods: dict[str, dict[int, list[JobPeriod]]] = {name: {} for name in settings}
        self._dense: dict[tuple[str, int], Array] = {}
        self._at: dict[tuple[str, int], tuple[int, int, str | None, tuple[float, ...]]] = {}
        """{(setting, round): (place in time, stretch, setting before, quantities known before)}."""
        self._smallest: float | None = None
        """Bytes of the smallest request seen."""
        self._tail: float | None = None
        """Quantile of the tail; 0 with too few units."""

    def add(
        self,
        setting: str,
        number: int,
        period: JobPeriod,
        *,
        stretch: int = 0,
        before: str | None = None,
        known: tuple[float, ...] = (),
    ) -> None:
        """`number`: the round; several periods of one round are merged. `stretch`: start of the load; `before`: setting of the period before;
        `known`: quantities that were known before the period began, as many for each."""
        self._at.setdefault((setting, number), (len(self._at), stretch, before, known))
        self._periods[setting].setdefault(number, []).append(period)
        self._dense.pop((setting, number), None)
        self._smallest = self._tail = None

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Rates exist wherever time was counted: a job that moved nothing has the rate zero, which is an answer where it moved something under another setting."""
        if (self.kind == "tail" and self.tail is None) or (self.kind in ("rate", "done") and not self._has_moved):
            return ()
        ratio, no_quantile = RATIOS.get(self.kind, MEAN_MS), self.quantile is None

        def tells(period: JobPeriod) -> bool:
            # Of a live load the kernel may have counted requests whose latencies were not recorded.
            return ratio.over(period) > 0 and bool(period.cpu_s if self.kind == "cpu" else no_quantile or period.bins)

        return tuple(sorted(n for n, in_round in self._periods[setting].items() if any(map(tells, in_round))))

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        """Natural logarithm of the metric in its unit (percentiles in ms). Sums are divided by sums: long periods weigh more."""
        if self.quantile is not None:
            counts = np.sum([self._counts(setting, number) for number in rounds], axis=0)
            return math.log(quantile_ns(counts, self.quantile) / 1e6)
        ratio = RATIOS[self.kind]
        periods = [period for number in rounds for period in self._periods[setting][number]]
        done, over = sum(map(ratio.of, periods)), sum(map(ratio.over, periods))
        return math.log(max(float(done), self._least()) / float(over) * ratio.unit)

    @property
    def tail(self) -> float | None:
        """The quantile that is the slow tail here, the same for every setting; None with too few units."""
        if self._tail is None:
            units = [sum(p.ops for in_round in by.values() for p in in_round) for by in self._periods.values() if by]
            fewest = min(units, default=0)
            self._tail = next((q for q in TAILS if fewest * (1 - q) >= TAIL_BEYOND - 1e-9), 0.0)
        return self._tail or None

    @property
    def quantile(self) -> float | None:
        """Which quantile it is; None where it is none."""
        return (self.tail or TAILS[-1]) if self.kind == "tail" else QUANTILES.get(self.kind)

    def observed(self, sign: float, again: str = "") -> Observed:
        """One value per setting and round, in the order of time. `again`: a name under which second values of a setting stand apart."""
        rows = sorted(
            (self._at[name, number][0], j, number)
            for j, name in enumerate(self.settings)
            for number in self.rounds(name)
        )
        logs = {j: self._logs(name) for j, name in enumerate(self.settings)}
        numbers = {number: i for i, number in enumerate(dict.fromkeys(number % AGAIN for _, _, number in rows))}
        index = {name: i for i, name in enumerate(self.settings)}
        apart = len(self.settings) if again else None
        facts = [self._at[self.settings[j], number] for _, j, number in rows]
        stretches = {stretch: i for i, stretch in enumerate(dict.fromkeys(fact[1] for fact in facts))}
        known = np.array([fact[3] for fact in facts], float).reshape(len(rows), -1)
        return Observed(
            (*self.settings, again) if again else self.settings,
            np.array([j if apart is None or number < AGAIN else apart for _, j, number in rows], np.intp),
            np.array([numbers[number % AGAIN] for _, _, number in rows], np.intp),
            np.array([sign * logs[j][number] for _, j, number in rows], float),
            np.array([stretches[fact[1]] for fact in facts], np.intp),
            np.array([index.get(fact[2] or "", -1) for fact in facts], np.intp),
            known if known.shape[1] else None,
        )

    @property
    def _has_moved(self) -> bool:
        return any(RATIOS[self.kind].of(p) > 0 for by in self._periods.values() for moved in by.values() for p in moved)

    def _logs(self, setting: str) -> dict[int, float]:
        """{round: ln value}; a quantile is each round's own, so that bursts stay in the rounds that they strike."""
        return {number: self.log_value(setting, [number]) for number in self.rounds(setting)}

    def _least(self) -> float:
        """What moved nothing, or ended no unit, did less than half of one in all of its time; that is all that is known."""
        if self.kind == "rate":
            if self._smallest is None:
                # An idle device may end nothing but flushes in a period, and those have no bytes.
                periods = [p for by in self._periods.values() for in_round in by.values() for p in in_round]
                sizes = [p.bytes / p.ops for p in periods if p.ops and p.bytes]
                self._smallest = min(sizes) if sizes else 512.0
            return 0.5 * self._smallest
        return 0.5 if self.kind == "done" else 1.0 if self.kind in ("mean", "time") else 0.0

    def _counts(self, setting: str, number: int) -> Array:
        key = (setting, number)
        if key not in self._dense:
            self._dense[key] = np.sum([dense(p.bins) for p in self._periods[setting][number]], axis=0)
        return self._dense[key]
