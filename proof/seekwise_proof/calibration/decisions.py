"""What a run like the last one is worth: whole runs of machines with known truth, repeated.

A scenario is a machine: uses with their figures, what each setting does to them in truth, how much rounds scatter and
how. Measured on a virtio disk (2 cores, Linux 6.18): rounds of a start beside a copy scatter by 10 to 20 %, of programs
alone by 5 %. Kinds of scatter:

    even            normal
    bursts          one period in ten loses a large part
    swings          somebody else works on the device, on and off for several periods
    drift           the device becomes faster or slower by 30 %
    autocorrelated  a period resembles the one before it
    starved         the last setting stands still in a part of its periods, which belongs to its truth

Each run is judged as `tune` judges, with what is in force under a second name in every round. Of what it says is
counted what the truth makes of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision import choose
from seekwise.judge.decision.priors import PROGRAMS
from seekwise.judge.decision.records import Decided, with_choices
from seekwise.judge.decision.table import Conditions, UseFigure, values_of
from seekwise.judge.decision.verdicts import control, judge
from seekwise.judge.rule import THRESHOLD_OF_PERIODS
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.purpose import Purpose
from seekwise.workload.study.uses import Judged
from seekwise_proof.calibration.score import Counts, share

Array = NDArray[np.float64]
Scatter = Literal["even", "bursts", "swings", "drift", "autocorrelated", "starved"]

SETTINGS = ("mq-deadline", "none", "kyber", "bfq")
IN_FORCE = SETTINGS[0]
WITH_COPY, ALONE = 0.15, 0.05
"""Scatter of one round beside a copy, and alone (standard deviation of ln value)."""
TAIL_NOISE = 1.5
"""A slow tail scatters so many times as much as the mean."""
STANDSTILL = 0.1
"""Goodness in a period in which a starved setting stands still."""


@dataclass(frozen=True)
class SimulatedFigure:
    """One judged figure. `effects`: true ln gain of each setting over the first one, above zero where it is better."""

    use: str
    kind: Judged
    purpose: Purpose
    effects: tuple[float, ...]
    noise: float
    rounds: int
    role: str = "foreground"


@dataclass(frozen=True)
class Scenario:
    """`stalls`: share of the periods of the last setting that stand still."""

    name: str
    figures: tuple[SimulatedFigure, ...]
    scatter: Scatter = "even"
    stalls: float = 0.0

    def truth(self, figure: SimulatedFigure) -> tuple[float, ...]:
        """True ln gains, what stalls cost on average included."""
        if not self.stalls:
            return figure.effects
        return (*figure.effects[:-1], figure.effects[-1] + math.log1p(-self.stalls * (1 - STANDSTILL)))


def _times(*factors: float) -> tuple[float, ...]:
    return tuple(math.log(factor) for factor in factors)


def _mixed(
    use: str, faster: tuple[float, ...], done: tuple[float, ...], rounds: int, noise: float = WITH_COPY
) -> tuple[SimulatedFigure, ...]:
    """A foreground beside a background: times of the one, what gets done of the other."""
    return (
        SimulatedFigure(use, "time", "responsive", faster, noise, rounds),
        SimulatedFigure(use, "tail", "responsive", faster, TAIL_NOISE * noise, rounds),
        SimulatedFigure(use, "done", "throughput", done, noise, rounds, "background"),
    )


def _alone(use: str, done: tuple[float, ...], rounds: int, noise: float = ALONE) -> tuple[SimulatedFigure, ...]:
    return (SimulatedFigure(use, "done", "throughput", done, noise, rounds),)


SAME = (0.0, 0.0, 0.0, 0.0)


SHORT, LONG = "2 minutes", "12 minutes"


def known() -> tuple[Scenario, ...]:
    """Machines as they are: short runs hold few rounds, long ones many."""
    # The ratios measured on the virtio disk: start beside cp 2.9, 2.6, 3.0, 2.3 s; pgbench 4750, 4650, 4520, 4510
    # transactions/s; dd 1180, 1210, 1200, 900 MB/s; cat 1550, 1540, 1580, 1490 MB/s.
    start, copy = _times(1, 2.9 / 2.6, 2.9 / 3.0, 2.9 / 2.3), _times(1, 1, 840 / 920, 890 / 920)
    pgbench = _times(1, 4650 / 4750, 4520 / 4750, 4510 / 4750)
    dd, cat = _times(1, 1210 / 1180, 1200 / 1180, 900 / 1180), _times(1, 1540 / 1550, 1580 / 1550, 1490 / 1550)
    disk_start, disk_done = _times(1, 0.5, 0.9, 4.0), _times(1, 1.05, 1.0, 0.75)
    scenarios = []
    # Units of a third of a second make eight rounds of a use in two minutes.
    for length, few, many in ((SHORT, 8, 10), (LONG, 20, 30)):
        scenarios += [
            Scenario(f"virtio disk, {length}", (*_mixed("start", start, copy, few), *_alone("pgbench", pgbench, many))),
            Scenario(
                f"virtio disk, streams, {length}",
                (*_mixed("start", start, copy, few), *_alone("dd", dd, many), *_alone("cat", cat, many)),
            ),
            Scenario(f"no difference, {length}", (*_mixed("start", SAME, SAME, few), *_alone("pgbench", SAME, many))),
            Scenario(
                f"hard disk, {length}",
                (
                    *_mixed("start", disk_start, disk_done, many),
                    *_mixed("commit", _times(1, 0.4, 1.0, 30.0), disk_done, many),
                    *_alone("streams", disk_done, many),
                    *_alone("files", _times(1, 0.9, 1, 0.8), many),
                ),
            ),
            Scenario(
                f"NVMe, {length}",
                (
                    *_mixed("start", _times(1, 1, 1.02, 1.4), _times(1, 1.02, 1, 0.7), many, ALONE),
                    *_alone("streams", _times(1, 1.02, 1, 0.6), many),
                    *_alone("machines", _times(1, 1.08, 1.02, 0.65), many),
                ),
            ),
        ]
    return tuple(scenarios)


def drawn(count: int, rng: np.random.Generator, kinds: Sequence[Scatter] = ("even",)) -> list[Scenario]:
    """Machines of which nothing is known. Most schedulers differ little from each other; one that differs does so in
    times above all."""
    scenarios = []
    for number in range(count):
        others = len(SETTINGS) - 1
        alike = rng.random(others) < 0.6
        figures: list[SimulatedFigure] = []
        for use in range(int(rng.integers(2, 6))):
            with_copy = rng.random() < 0.5
            rounds = int(rng.choice([4, 6, 8, 20] if with_copy else [8, 20, 30]))
            faster = (0.0, *np.where(alike, 0.02, 0.4) * rng.normal(0, 1, others))
            done = (0.0, *np.where(alike, 0.02, 0.15) * rng.normal(0, 1, others))
            noise = float(rng.uniform(0.1, 0.2))
            figures += (
                _mixed(f"use {use}", faster, done, rounds, noise) if with_copy else _alone(f"use {use}", done, rounds)
            )
        scatter = kinds[number % len(kinds)]
        stalls = float(rng.choice([0.05, 0.2, 0.6])) if scatter == "starved" else 0.0
        scenarios.append(Scenario(f"drawn {number}, {scatter}", tuple(figures), scatter, stalls))
    return scenarios


def run(scenario: Scenario, rng: np.random.Generator, unsteady_log: float = 0.0) -> Decided:
    """One run of it, judged. `unsteady_log`: what is in force under its second name differs from itself by this
    much."""
    names = (*SETTINGS, IN_FORCE + CONTROL_SUFFIX)
    entries = []
    for figure in scenario.figures:
        more = figure.kind == "done"
        effects = np.array([*figure.effects, unsteady_log])
        order = np.concatenate([rng.permutation(len(names)) for _ in range(figure.rounds)])
        luck = np.repeat(rng.normal(0, figure.noise / 2, figure.rounds), len(names))
        logs = effects[order] + luck + _scatter(scenario.scatter, figure.noise, len(order), rng)
        stands = (order == len(SETTINGS) - 1) & (rng.random(len(order)) < scenario.stalls)
        logs[stands] += math.log(STANDSTILL)
        values = np.exp(logs if more else -logs)
        figures = values_of([(names[i], float(value)) for i, value in zip(order, values, strict=True)])
        entries.append(
            UseFigure(
                figure.use,
                figure.kind,
                "/s" if more else "ms",
                more,
                THRESHOLD_OF_PERIODS.share(figure.kind, figure.role),
                replace(figures, settings=SETTINGS),
                figure.role,
                "drawn",
                purpose=figure.purpose,
                kind=figure.kind,
                conditions=Conditions(f"{figure.kind} {figure.role}", added_log=0.02),
            )  # fmt: skip
        )
    judged = judge(entries, IN_FORCE, PROGRAMS)
    return with_choices(judged, IN_FORCE, SETTINGS, control(entries, IN_FORCE, PROGRAMS))


def _scatter(kind: Scatter, noise: float, count: int, rng: np.random.Generator) -> Array:
    phi = 0.6 if kind == "autocorrelated" else 0.0
    steps = rng.normal(0, noise * math.sqrt(1 - phi**2), count)
    found, last = np.empty(count), float(rng.normal(0, noise))
    for t in range(count):
        last = phi * last + steps[t]
        found[t] = last
    if kind == "bursts":
        found -= (rng.random(count) < 0.1) * rng.exponential(0.5, count)
    elif kind == "swings":
        changes = rng.random(count) < 0.2
        found -= (np.cumsum(changes) % 2) * rng.normal(0.3, 0.1, count)
    elif kind == "drift":
        found += np.linspace(0, float(rng.choice([-0.3, 0.3])), count)
    return found


def decision(decided: Decided) -> tuple[str, ...]:
    """What a run says to set: for everything, and for each purpose."""
    return tuple(
        choice.setting if choice is not None else ""
        for choice in (decided.choice, decided.by_purpose.get("responsive"), decided.by_purpose.get("throughput"))
    )


def utility_log(scenario: Scenario, setting: str, purpose: Purpose | None) -> tuple[float, bool] | None:
    """(what a setting brings in truth, whether it harms), by the rule's own measures; None where the machine has
    nothing of the purpose."""
    parts: dict[tuple[str, str], list[float]] = {}
    for figure in scenario.figures:
        gain = scenario.truth(figure)[SETTINGS.index(setting)] - scenario.truth(figure)[0]
        parts.setdefault((figure.use, figure.purpose), []).append(choose.capped(gain))
    own = [np.array([np.mean(gains)]) for (_, name), gains in parts.items() if purpose in (None, name)]
    others = [np.array([np.mean(gains)]) for (_, name), gains in parts.items() if purpose not in (None, name)]
    return (float(np.mean(own)), bool(choose.harms(np.mean(own, axis=0), own, others)[0])) if own else None


def loses_most(scenario: Scenario, setting: str) -> bool:
    """Whether in truth this setting loses more in most uses than it gains in one, by what counts."""
    parts: dict[tuple[str, str], list[float]] = {}
    for figure in scenario.figures:
        parts.setdefault((figure.use, figure.purpose), []).append(scenario.truth(figure)[SETTINGS.index(setting)])
    worst = [choose.capped(min(part)) for part in parts.values()]
    gain = max(0.0, *(choose.capped(max(part)) for part in parts.values()))
    return 2 * sum(-loss > max(gain, 0.05) for loss in worst) > len(worst)


BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.000001)
"""Of stated probabilities."""


@dataclass
class RunScore(Counts):
    """What runs say and what is true."""

    runs: int = 0
    flips: int = 0
    """Runs with another decision than the usual one of their scenario."""
    everything_flips: int = 0
    advised: int = 0
    """Settings other than the one in force that were named, for everything or for a purpose."""
    harmful: int = 0
    vetoed: int = 0
    statements: int = 0
    named: int = 0
    false_named: int = 0
    same: int = 0
    false_same: int = 0
    intervals_true: int = 0
    answers: Array = field(default_factory=lambda: np.zeros(3))
    """By everything, responsive, throughput."""
    regret: Array = field(default_factory=lambda: np.zeros(3))
    """Sum of what the answers lose against the best, ln."""
    stated: Array = field(default_factory=lambda: np.zeros(len(BINS) - 1))
    """How often a probability of each bin was stated, the sum of them, and how often it was true; a truth of zero
    counts half."""
    stated_sum: Array = field(default_factory=lambda: np.zeros(len(BINS) - 1))
    stated_true: Array = field(default_factory=lambda: np.zeros(len(BINS) - 1))
    large_regrets: int = 0
    """Answers that lose 10 % or more."""

    @property
    def useful_share(self) -> float:
        """Comparisons of which a difference is named, or bounded by 10 %."""
        return share(self.named + self.same, self.statements)

    @property
    def regret_mean(self) -> Array:
        """Mean loss of an answer: everything, responsive, throughput."""
        return self.regret / np.maximum(self.answers, 1)

    @property
    def largest_miscalibration(self) -> float:
        """By how much less often than stated something is true, in the worst bin of 50 statements or more."""
        enough = self.stated >= 50
        gap = (self.stated_sum - self.stated_true) / np.maximum(self.stated, 1)
        return float(max(0.0, gap[enough].max())) if enough.any() else 0.0

    @property
    def calibration_text(self) -> str:
        """`0.5–0.6: 0.56 of 812; …`: of what was stated with a probability in each bin, the share that is true."""
        return "; ".join(
            f"{BINS[i]:g}–{min(BINS[i + 1], 1):g}: {self.stated_true[i] / self.stated[i]:.3f} of {self.stated[i]:.0f}"
            for i in range(len(BINS) - 1)
            if self.stated[i]
        )


def score(scenario: Scenario, runs: int, rng: np.random.Generator) -> RunScore:
    """Runs of one scenario."""
    total, seen, everything = RunScore(runs), Counter(), Counter()  # type: ignore[var-annotated]
    purposes: tuple[Purpose | None, ...] = (None, "responsive", "throughput")
    for _ in range(runs):
        decided = run(scenario, rng)
        said = decision(decided)
        seen[said] += 1
        everything[said[0]] += 1
        total.vetoed += bool(decided.unsteady)
        for place, (purpose, setting) in enumerate(zip(purposes, said, strict=True)):
            known = {name: each for name in SETTINGS if (each := utility_log(scenario, name, purpose)) is not None}
            if setting not in known:
                continue
            # What harms is not what one would have wanted.
            best = max(
                gain for name, (gain, does_harm) in known.items() if name in (IN_FORCE, setting) or not does_harm
            )
            lost = best - known[setting][0]
            total.answers[place] += 1
            total.regret[place] += lost
            total.large_regrets += lost >= 0.1
        for name in set(said) - {"", IN_FORCE}:
            total.advised += 1
            total.harmful += loses_most(scenario, name)
        _count_statements(total, scenario, decided)
    total.flips = runs - max(seen.values())
    total.everything_flips = runs - max(everything.values())
    return total


def _count_statements(total: RunScore, scenario: Scenario, decided: Decided) -> None:
    truths: dict[tuple[str, str], tuple[float, ...]] = {
        (figure.use, figure.kind): scenario.truth(figure) for figure in scenario.figures
    }
    for judged in decided.judged:
        for standing in judged.standings:
            if standing.setting == IN_FORCE or standing.p_better is None or standing.p_worse is None:
                continue
            true = truths[judged.use, judged.kind][SETTINGS.index(standing.setting)]
            known = judged.difference(standing.setting)
            total.statements += 1
            total.intervals_true += known is not None and known.low <= true <= known.high
            if standing.verdict in ("better", "worse"):
                total.named += 1
                total.false_named += true == 0 or (true > 0) != (standing.verdict == "better")
            if standing.verdict == "same" and standing.bound is not None:
                total.same += 1
                total.false_same += abs(true) > math.log1p(standing.bound) + 1e-9
            for stated, is_true in ((standing.p_better, true > 0), (standing.p_worse, true < 0)):
                if stated >= BINS[0]:
                    place = int(np.searchsorted(BINS, stated, side="right")) - 1
                    total.stated[place] += 1
                    total.stated_sum[place] += stated
                    total.stated_true[place] += 0.5 if true == 0 else is_true


def over(scenarios: Sequence[Scenario], runs: int, rng: np.random.Generator) -> RunScore:
    """All of them together."""
    return sum((score(scenario, runs, rng) for scenario in scenarios), RunScore())
