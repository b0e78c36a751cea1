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

from seekwise.judge.decision.effects import Observed
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.purpose import Purpose

Array = NDArray[np.float64]


class Figures(Protocol):
    """Values of one metric by candidate and round."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the candidates."""
        ...

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Rounds in which the setting has a usable value."""
        ...

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        """Logarithm of the metric over these rounds taken together."""
        ...

    def observed(self, sign: float, again: str = "") -> Observed:
        """Every value on the log scale, times `sign`, as the estimates take them. `again`: the label under which what is in force ran a second
        time, which then stands apart; otherwise its values are those of the setting in force."""
        ...


@dataclass(frozen=True)
class Conditions:
    """How the values of an entry were made. It says how sure they are; they are judged like all others."""

    family: str = ""
    """Entries of one table and family have noise of the same kind and lend each other what they know of it; empty: none."""
    exact: bool = False
    """A deterministic simulation: a single repetition decides."""
    model_error: float = 0.0
    """Of simulated values, the share by which they are usually off (`judge/model_error.py`): settings that differ by less are alike."""
    added_log: float = 0.005
    """Standard deviation of a setting's place from run to run that the rounds of one run do not show."""
    unsteady: Mapping[str, str] = field(default_factory=dict)
    """{setting: reason} of what did not reach steady state: it may lose, but not win."""
    work: str = ""
    """What tells of what: `waiting`, a person waits for it while other work goes on; `background`, that other work; `alone`.
    Of programs measured elsewhere and of other figures only those of the same work tell."""
    program: str = ""
    """The kind of programs that a unit is one of (`kinds.toml`); empty: of none."""
    age: str = ""
    background: str = ""
    """What goes on beside it: `copy`, `4 readers`; empty: nothing, or what is not known."""
    weight: float = 1.0
    """How much it counts next to other uses, as `--for` said."""


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
    title: str = ""
    job: str = ""
    """Whose figure it is; empty where that is not known."""
    purpose: Purpose = "throughput"
    work: str = ""
    """What one unit of work of the use is called; empty for requests."""
    kind: str = ""
    """As in `judge` of the use."""
    table: str = ""
    """Entries of one table are estimated together."""
    conditions: Conditions = Conditions()

    @property
    def sign(self) -> float:
        """1 where more is better, −1 where less is."""
        return 1.0 if self.more_is_better else -1.0

    @property
    def part(self) -> str:
        """What figures are averaged by: the kind of programs and what goes on beside them; else the use."""
        about = self.conditions
        return f"{about.program} with {about.background or 'nothing'}" if about.program else self.use

    @property
    def limit_log(self) -> float:
        """The threshold on the log scale."""
        return -math.log1p(-self.threshold) if self.more_is_better else math.log1p(self.threshold)

    @property
    def is_rate(self) -> bool:
        """By its unit: MB/s or units of work per second."""
        return self.unit in ("MB/s", "/s")

    @property
    def is_latency(self) -> bool:
        """By its unit: ms."""
        return self.unit == "ms"


@dataclass(frozen=True)
class Values:
    """Plain values, one per period. `rows`: (setting, or the label of its A/A check, round, ln value, setting of the period before or None)."""

    settings: tuple[str, ...]
    rows: tuple[tuple[str, int, float, str | None], ...]

    def rounds(self, setting: str) -> tuple[int, ...]:
        """Ascending, each once; empty for an unknown setting."""
        return tuple(sorted({number for name, number, _, _ in self.rows if name == setting}))

    def log_value(self, setting: str, rounds: Sequence[int]) -> float:
        """Mean of the natural logarithms, that is, of a geometric mean; NaN without any."""
        asked = set(rounds)
        known = [log for name, number, log, _ in self.rows if name == setting and number in asked]
        return sum(known) / len(known) if known else math.nan

    def observed(self, sign: float, again: str = "") -> Observed:
        """Periods in the order of `rows`."""
        names = (*self.settings, again) if again else self.settings
        index = {name: i for i, name in enumerate(names)}
        for name in self.settings:
            index.setdefault(name + CONTROL_SUFFIX, index[name])
        numbers = {number: i for i, number in enumerate(dict.fromkeys(number for _, number, _, _ in self.rows))}
        return Observed(
            names,
            np.array([index[name] for name, _, _, _ in self.rows], np.intp),
            np.array([numbers[number] for _, number, _, _ in self.rows], np.intp),
            np.array([sign * log for _, _, log, _ in self.rows], float),
            np.zeros(len(self.rows), np.intp),
            np.array([-1 if before is None else index[before] for _, _, _, before in self.rows], np.intp),
        )


def values_of(periods: Sequence[tuple[str, float]]) -> Values:
    """Figures of (setting, value) in the order of time, for those who have plain tables of periods: the calibration of the judge, other
    programs, tests. What has no logarithm is left out."""
    names = tuple(dict.fromkeys(setting.removesuffix(CONTROL_SUFFIX) for setting, _ in periods))
    numbers = rounds_of([setting for setting, _ in periods])
    before = [None, *(setting for setting, _ in periods)][: len(periods)]
    return Values(
        names,
        tuple(
            (setting, number, math.log(value), last)
            for (setting, value), number, last in zip(periods, numbers, before, strict=True)
            if value > 0 and math.isfinite(value)
        ),
    )


def rounds_of(settings: Sequence[str]) -> list[int]:
    """The round of each period of a sequence: a round ends when every setting that still takes part has been seen.

    Settings that drop out later do not hold up the rounds after their last period.
    """
    last = {setting: index for index, setting in enumerate(settings)}
    rounds: list[int] = []
    number, start, seen = 0, 0, set()
    for index, setting in enumerate(settings):
        rounds.append(number)
        seen.add(setting)
        if {name for name, final in last.items() if final >= start} <= seen:
            number, start, seen = number + 1, index + 1, set()
    if seen and number:
        # A round that was cut short joins the one before it: its candidates would have nothing to be compared with.
        whole = set(settings[rounds.index(number - 1) : rounds.index(number)])
        if not whole <= seen:
            rounds = [min(place, number - 1) for place in rounds]
    return rounds
