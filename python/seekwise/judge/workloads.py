"""Which setting for which work: the combinations of a run, weighed by what the machine does.

    score(setting, repetition) = product over combinations of value ^ weight        a weighted geometric mean, per metric

Within a repetition every setting meets the same conditions, so the scores of one repetition are compared like the
values of any other combination, by the same rule (`decision`): the same intervals, thresholds and words.

Pareto: a setting is on the front if no other is at least as good by rate, p99 and CPU efficiency, and better by one.
Regret: what a setting costs, by rate, in the combination where it is furthest from that combination's best. Both are
estimates, without an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seekwise.errors import UsageError
from seekwise.judge.decision.observed import judge_observations
from seekwise.judge.decision.pairs import Pair, pairs, unbeaten
from seekwise.judge.front import on_front
from seekwise.judge.observation import Observation
from seekwise.judge.observe import METRICS, combination_of, complete, is_usable, joined, observations
from seekwise.judge.records import is_exact
from seekwise.judge.rule import more_is_better
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study import combination_key, uses

THREAD_RULES: dict[str, Callable[[int], float]] = {"few": lambda n: 1 / n, "many": float, "all": lambda n: 1.0}
PARETO_METRICS = ("rate", "p99", "cpu_efficiency")


@dataclass(frozen=True)
class OperationMix:
    """What somebody does with storage: shares of operations, and how many threads count."""

    name: str
    meaning: str
    threads: str
    operations: Mapping[str, float]

    def weight(self, operation: str, threads: int) -> float:
        """Share of the operation times the rule for threads: `few` 1/n, `many` n, `all` 1. Only ratios of weights
        matter."""
        return self.operations.get(operation, 0.0) * THREAD_RULES[self.threads](threads)

    def unmeasured(self) -> UsageError:
        """What to raise where a run has no trial of its kind."""
        needed = ", ".join(name for name, share in self.operations.items() if share)
        return UsageError(f"no trial of this run is of the kind that {self.name} does", f"it needs {needed}")


@dataclass(frozen=True)
class WeighedSetting:
    """A setting, weighted for a use."""

    setting: str
    ratios: Mapping[str, tuple[float, float, float]]
    """{metric: [estimate, low, high]} against the reference."""
    on_pareto_front: bool
    """No other setting is as good in rate, p99 and CPU efficiency."""
    regret: float
    """Share of the best rate that is lost in the worst combination: 0.1 is 10 %."""
    regret_combination: str


@dataclass(frozen=True)
class Weighed:
    workload: OperationMix
    reference: str
    standings: tuple[WeighedSetting, ...]
    """Best rate first."""
    best: tuple[str, ...]
    """Settings that the best by rate does not beat, itself first; empty while nothing is decided."""
    pairs: tuple[Pair, ...]
    not_covered: float
    """Share of the workload that no trial represents."""
    repetitions: int
    is_simulated: bool


def shipped() -> dict[str, OperationMix]:
    """The uses that say what requests they make, by name; those of a group by the group's."""
    mixes: dict[str, OperationMix] = {}
    for use in uses.shipped():
        name = use.name if use.group == uses.LIMITS else use.group
        if use.requests is not None and name not in mixes:
            mixes[name] = _operation_mix(use, name)
    return mixes


def find(word: str) -> OperationMix:
    """The use or group of that name, or the use in a TOML file, by its requests."""
    is_file = word.endswith(".toml")
    candidates = [uses.load(Path(word))] if is_file else uses.named(word)
    use = next((candidate for candidate in candidates if candidate.requests is not None), None)
    if use is None:
        raise UsageError(
            f"{word} does not say what requests it makes, so it weighs no study",
            f"uses that do: {', '.join(shipped())}; or a TOML file with `[requests]`",
        )
    return _operation_mix(use, use.name if is_file else word)


def _operation_mix(use: uses.Use, name: str) -> OperationMix:
    assert use.requests is not None
    return OperationMix(
        name, use.title, use.requests.threads, {str(name): share for name, share in use.requests.operations.items()}
    )


def weigh(records: Sequence[Record], workload: OperationMix, reference: str) -> Weighed:
    """Judges the settings of one run under a workload."""
    single = observations(records, over_threads=False)
    weights = {
        combination: workload.weight(operation, threads) for combination, operation, threads in _combinations(records)
    }
    weights = {combination: weight for combination, weight in weights.items() if weight > 0}
    if not weights:
        raise workload.unmeasured()
    total = sum(workload.operations.values())
    seen = {combination_key.parse(combination)[0] for combination in weights}
    covered = sum(share for operation, share in workload.operations.items() if operation in seen)
    scores = _scores(single, weights, workload.name)
    decided = pairs(judge_observations(scores, exact=is_exact(records)))
    settings = [name for name in dict.fromkeys(o.setting for o in single) if not name.endswith(CONTROL_SUFFIX)]
    regrets = _regrets(single, weights)
    ratios = {setting: _ratios(decided, setting, reference) for setting in settings}
    ratios = {setting: row for setting, row in ratios.items() if row or setting == reference}
    standings = [
        WeighedSetting(setting, row, is_on, *regrets.get(setting, (0.0, "")))
        for (setting, row), is_on in zip(ratios.items(), _on_front(ratios), strict=True)
    ]
    standings.sort(key=lambda standing: -standing.ratios.get("rate", (1.0, 1.0, 1.0))[0])
    return Weighed(
        workload,
        reference,
        tuple(standings),
        unbeaten([pair for pair in decided if pair.figure.metric == "rate"]),
        tuple(decided),
        1 - covered / total,
        len({o.repetition for o in scores}),
        is_exact(records),
    )


def _combinations(records: Sequence[Record]) -> list[tuple[str, str, int]]:
    """(combination as observations name it, operation, threads)."""
    combinations = {
        (combination_of(record, phase), phase.operation, _threads(record))
        for record in records
        if record.valid
        for phase in record.phases
    }
    return sorted(combinations)


def _threads(record: Record) -> int:
    threads = record.factors.get("threads", 1)
    return threads if isinstance(threads, int) and threads > 0 else 1


def _scores(single: Sequence[Observation], weights: Mapping[str, float], name: str) -> list[Observation]:
    """One observation per repetition, setting and metric; only where every weighed combination has one."""
    scores = []
    # A metric that some kind of trial never gives (too few operations for p99) is weighed over the others.
    for place, logs in complete([o for o in single if is_usable(o)], dict.fromkeys(weights, name)):
        total = sum(weights[combination] for combination in logs)
        scores.append(joined(place, sum(weights[combination] / total * log for combination, log in logs.items())))
    return scores


def _ratios(compared: Sequence[Pair], setting: str, reference: str) -> dict[str, tuple[float, float, float]]:
    if setting == reference:
        known = {pair.figure.metric for pair in compared}
        return {metric: (1.0, 1.0, 1.0) for metric in METRICS if metric in known}
    both = {pair.figure.metric: pair for pair in compared if {setting, reference} == {*pair.settings}}
    intervals = {metric: both[metric].interval(setting) for metric in METRICS if metric in both}
    return {metric: interval for metric, interval in intervals.items() if interval[0] > 0}


def _on_front(ratios: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> list[bool]:
    """By the metrics that every setting has."""
    metrics = [m for m in PARETO_METRICS if all(m in row for row in ratios.values())]
    return on_front([[row[m][0] if more_is_better(m) else 1 / row[m][0] for m in metrics] for row in ratios.values()])


def _regrets(single: Sequence[Observation], weights: Mapping[str, float]) -> dict[str, tuple[float, str]]:
    logs: dict[str, dict[str, list[float]]] = {}
    for o in single:
        if o.metric == "rate" and o.combination in weights and is_usable(o) and not o.setting.endswith(CONTROL_SUFFIX):
            logs.setdefault(o.combination, {}).setdefault(o.setting, []).append(math.log(o.value))
    worst: dict[str, tuple[float, str]] = {}
    for combination, settings in logs.items():
        means = {setting: sum(values) / len(values) for setting, values in settings.items()}
        best = max(means.values())
        for setting, mean in means.items():
            loss = 1 - math.exp(mean - best)
            if loss > worst.get(setting, (-1.0, ""))[0]:
                worst[setting] = (loss, combination)
    return worst
