"""One metric of one use over all its rounds: what the bounds are computed from.

A *round* is a stretch of time in which every candidate ran once, in an order drawn at random. Whatever drifts, bursts or hangs on
the period before then hits each candidate with the same probability, so differences within a round are symmetric about the truth
however the noise is correlated in time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seekwise.judge.decision.bounded import of_logs
from seekwise.workload.study.uses import Purpose

Array = NDArray[np.float64]


Groups = Sequence[Sequence[int]]
"""Rounds that are one observation."""


class Figures(Protocol):
    """Values of one metric by candidate and round."""

    settings: tuple[str, ...]

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Rounds in which the setting has a usable value."""
        ...

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        """Logarithm of the metric over these rounds taken together."""
        ...

    def log_ratio(self, a: str, of_a: Groups, b: str, of_b: Groups) -> tuple[float, float]:
        """(logarithm of b over a, variance of one round's) over groups of rounds that belong together one by one; at least two. The variance is
        infinite where nothing is known."""
        ...

    def own_error(self, setting: str, rounds: Sequence[int]) -> float:
        """Standard error of `log_value`; at least two rounds."""
        ...

    def added_variance(self, a: str, b: str) -> float:
        """Variance of the log ratio of two settings that their rounds do not show."""
        ...


@dataclass(frozen=True)
class Conditions:
    """How the values of an entry were made. It says how sure they are; they are judged like all others."""

    family: str = ""
    """Entries of one table and family have noise of the same kind and lend each other what they know of it; empty: none."""
    share: float = 1.0
    """Of the error rate, what each look of a run that stops when it is decided may use."""
    exact: bool = False
    """A deterministic simulation: fewer repetitions than a test needs decide by their numbers."""
    noise_log: float = 0.0
    """What an A/A check of the table says that a difference must exceed."""
    unsteady: Mapping[str, str] = field(default_factory=dict)
    """{setting: reason} of what did not reach steady state: it may lose, but not win."""
    unusable: Mapping[str, int] = field(default_factory=dict)
    """{setting: values left out, because they have no logarithm}."""


@dataclass(frozen=True)
class UseFigure:
    """One judged figure of one use."""

    use: str
    metric: str
    unit: str
    more_is_better: bool
    threshold: float
    figures: Figures
    role: str = "foreground"
    group: str = ""
    looks: tuple[int, int] = (1, 1)
    """(this look, looks planned): how much of the error rate earlier looks have spent."""
    title: str = ""
    job: str = ""
    """Whose figure it is; empty where that is not known."""
    purpose: Purpose = "throughput"
    work: str = ""
    """What one unit of work of the use is called; empty for requests."""
    kind: str = ""
    """As in `judge` of the use."""
    table: str = ""
    """Family within which errors are controlled."""
    conditions: Conditions = Conditions()

    @property
    def is_rate(self) -> bool:
        """By its unit: MB/s or units of work per second."""
        return self.unit in ("MB/s", "/s")

    @property
    def is_latency(self) -> bool:
        """By its unit: ms."""
        return self.unit == "ms"


@dataclass
class Values:
    """Plain values, one per period: their logarithms are averaged."""

    settings: tuple[str, ...]
    logs: dict[str, dict[int, float]] = field(default_factory=dict)
    uncertainty: dict[tuple[str, str], float] = field(default_factory=dict)
    """{(a, b): variance that taking out carry-over adds to the log ratio}."""

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Ascending; empty for an unknown setting."""
        return tuple(sorted(self.logs.get(setting, {})))

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        """Mean of the natural logarithms, that is, of a geometric mean. A round without a value is a KeyError."""
        known = self.logs[setting]
        return sum(known[each] for each in rounds) / len(rounds)

    def log_ratio(self, a: str, of_a: Groups, b: str, of_b: Groups) -> tuple[float, float]:
        """As `Figures.log_ratio`; the error by leaving one group out at a time."""
        whole = self._mean(b, of_b) - self._mean(a, of_a)
        return of_logs(whole, self._without_one(b, of_b) - self._without_one(a, of_a))

    def own_error(self, setting: str, rounds: Sequence[int]) -> float:
        """Standard error of the mean of the logarithms (ddof 1)."""
        known = [self.logs[setting][each] for each in rounds]
        return float(np.std(known, ddof=1)) / len(known) ** 0.5

    def _mean(self, setting: str, groups: Groups) -> float:
        return self.log_value(setting, [each for group in groups for each in group])

    def _without_one(self, setting: str, groups: Groups) -> Array:
        """The mean with each group left out in turn."""
        known = self.logs[setting]
        sums = np.array([sum(known[each] for each in group) for group in groups])
        counts = np.array([len(group) for group in groups])
        return (sums.sum() - sums) / (counts.sum() - counts)

    def added_variance(self, a: str, b: str) -> float:
        """0.0 for pairs from which no carry-over was taken out."""
        return self.uncertainty.get((a, b), 0.0)


def rounds_of(settings: Sequence[str]) -> list[int]:
    """The round of each period of a sequence: a round ends when every setting that still takes part has been seen.

    Settings that drop out later do not hold up the rounds after their last period.
    """
    last = {setting: index for index, setting in enumerate(settings)}
    found: list[int] = []
    number, start, seen = 0, 0, set()
    for index, setting in enumerate(settings):
        found.append(number)
        seen.add(setting)
        if {name for name, final in last.items() if final >= start} <= seen:
            number, start, seen = number + 1, index + 1, set()
    if seen and number:
        # A round that was cut short joins the one before it: its candidates would have nothing to be compared with.
        whole = set(settings[found.index(number - 1) : found.index(number)])
        if not whole <= seen:
            found = [min(each, number - 1) for each in found]
    return found


def values_of(periods: Sequence[tuple[str, float]]) -> Values:
    """Figures of (setting, value) in the order of time; several values of a setting in a round are averaged."""
    names = tuple(dict.fromkeys(setting for setting, _ in periods))
    numbers = rounds_of([setting for setting, _ in periods])
    usable = [value > 0 and math.isfinite(value) for _, value in periods]
    logs = np.array([math.log(value) if good else math.nan for (_, value), good in zip(periods, usable, strict=True)])
    names_in_order = [setting for setting, _ in periods]
    carried = carried_over(names_in_order, numbers, logs)
    logs = logs - carried.effect
    collected: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    for (setting, _), number, good, log in zip(periods, numbers, usable, logs, strict=True):
        if good:
            collected[setting].setdefault(number, []).append(float(log))
    return Values(
        names,
        {name: {number: float(np.mean(each)) for number, each in by.items()} for name, by in collected.items()},
        carried.uncertainty,
    )


CARRY_P = 0.1
"""Carry-over is taken out when its F test is below this."""


@dataclass(frozen=True)
class Carried:
    """What the setting of the period before adds to each period (log), and what taking it out costs in certainty."""

    effect: Array
    uncertainty: dict[tuple[str, str], float] = field(default_factory=dict)


def carried_over(settings: Sequence[str], numbers: Sequence[int], logs: Array) -> Carried:
    """Least squares on rounds, settings and predecessors; zeros unless the F test of the predecessors says otherwise.

    The first period has no predecessor.
    """
    none = Carried(np.zeros(len(logs)))
    names = list(dict.fromkeys(settings))
    index = {name: i for i, name in enumerate(names)}
    rows = np.array([t for t in range(1, len(logs)) if math.isfinite(logs[t])], dtype=int)
    k = len(names)
    if k < 2 or len(rows) == 0:
        return none
    kinds = sorted(set(numbers))
    base = np.zeros((len(rows), len(kinds) + k - 1))
    before = np.zeros((len(rows), k))
    for row, t in enumerate(rows):
        base[row, kinds.index(numbers[t])] = 1.0
        if index[settings[t]]:
            base[row, len(kinds) + index[settings[t]] - 1] = 1.0
        before[row, index[settings[t - 1]]] = 1.0
    whole = np.hstack([base, before[:, 1:]])
    rank_small, rank = np.linalg.matrix_rank(base), np.linalg.matrix_rank(whole)
    df = len(rows) - rank
    if df < k or rank - rank_small < k - 1:
        return none
    y = logs[rows]
    small = np.linalg.lstsq(base, y, rcond=None)[0]
    fitted = np.linalg.lstsq(whole, y, rcond=None)[0]
    rss_small = float(((y - base @ small) ** 2).sum())
    rss = float(((y - whole @ fitted) ** 2).sum())
    if rss <= 0:
        return none
    f = ((rss_small - rss) / (k - 1)) / (rss / df)
    if special.fdtrc(k - 1, df, max(f, 0.0)) > CARRY_P:
        return none
    gamma = np.concatenate([[0.0], fitted[-(k - 1) :]])
    effect = np.zeros(len(logs))
    effect[1:] = [gamma[index[name]] for name in settings[:-1]]
    covariance = np.zeros((k, k))
    covariance[1:, 1:] = np.linalg.pinv(whole.T @ whole)[-(k - 1) :, -(k - 1) :] * rss / df
    shares = np.array(
        [
            before[[settings[t] == name for t in rows]].mean(axis=0) if name in settings[1:] else np.zeros(k)
            for name in names
        ]
    )
    uncertainty = {
        (a, b): float((shares[i] - shares[j]) @ covariance @ (shares[i] - shares[j]))
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    }
    return Carried(effect - gamma.mean(), uncertainty)
