"""Two runs of the same work on the same storage: what changed from one to the other.

        base ──┐   same device, same load,                  a combination × setting of the base against the same of the new run,
        new  ──┴─  same combinations and settings    →     judged by the one rule; first repetition with first repetition, and so on

Repetitions of two runs shared no hour and no temperature, so a difference is shown to exist, not what made it: only
settings that met in one repetition are compared fairly. The report says so. What does not compare is refused with every
reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seekwise.judge.decision.observed import judge_observations, verdicts
from seekwise.judge.decision.runs import mean_interval, together
from seekwise.judge.observation import Observation, Verdict
from seekwise.judge.observe import combination_of, observations, values
from seekwise.judge.records import is_exact
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX


@dataclass(frozen=True)
class ComparedRun:
    """One run, as far as comparing needs it."""

    run_id: str
    records: Sequence[Record]
    loads: Mapping[str, Mapping[str, Any]]
    """By combination: everything that defines the work, as plain data."""
    devices: tuple[str, ...]
    """What the work ran on, most specific name first known: model and serial, or drive model; empty when not known."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What may differ, but is said: kernel, fio, filesystem …"""

    @property
    def provenance(self) -> str:
        """measured, virtual or simulated; `measured` for a run without records."""
        return self.records[0].provenance if self.records else "measured"

    @property
    def compared(self) -> list[Record]:
        """Records that compete: no drift check, no second label of the A/A check."""
        return [r for r in self.records if r.role != "sentinel" and not r.setting.endswith(CONTROL_SUFFIX)]


@dataclass(frozen=True)
class Change:
    """One combination and setting by one metric, new against base: a ratio above 1 is a higher value in the new run."""

    combination: str
    setting: str
    verdict: Verdict
    outcome: str
    """regression, improvement, unconfirmed (shown by some pairs of runs only), small, tie or undecided."""


@dataclass(frozen=True)
class Comparison:
    base: str
    new: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    pairs: int = 1
    """Pairs of runs that it rests on; `base` and `new` are the newest."""

    def count(self, outcome: str) -> int:
        """Changes with this outcome, e.g. `regression`."""
        return sum(change.outcome == outcome for change in self.changes)


def reasons_against(base: ComparedRun, new: ComparedRun) -> list[str]:
    """Why two runs do not compare; empty if they do."""
    reasons = []
    for side in (base, new):
        if not any(record.valid for record in side.compared):
            reasons.append(f"run {side.run_id} has no valid trial")
        if not side.devices:
            reasons.append(f"run {side.run_id} does not say which device it ran on")
    if base.devices and new.devices and base.devices != new.devices:
        reasons.append(f"different devices: {', '.join(base.devices)} against {', '.join(new.devices)}")
    shared = base.loads.keys() & new.loads.keys()
    if not shared:
        reasons.append("the runs have no combination of workload and configuration in common")
    for combination in sorted(shared):
        a, b = base.loads[combination], new.loads[combination]
        for name in sorted(a.keys() | b.keys()):
            if a.get(name) != b.get(name):
                reasons.append(f"different load in {combination}: {name} {a.get(name)} against {b.get(name)}")
    if shared and not {r.setting for r in base.compared} & {r.setting for r in new.compared}:
        reasons.append("no setting in common")
    return reasons


def notes(base: ComparedRun, new: ComparedRun) -> list[str]:
    """Differences that do not forbid comparing but must be said."""
    said = ["the runs were not interleaved: something else may have changed between them"]
    for name in sorted(base.facts.keys() | new.facts.keys()):
        if base.facts.get(name) != new.facts.get(name):
            said.append(f"{name}: {base.facts.get(name, 'unknown')} against {new.facts.get(name, 'unknown')}")
    for side, other in ((base, new), (new, base)):
        lone = sorted(side.loads.keys() - other.loads.keys())
        if lone:
            said.append(
                f"only in run {side.run_id}: {len(lone)} combinations ({', '.join(lone[:3])}{' …' if len(lone) > 3 else ''})"
            )
    return said


def compare(base: ComparedRun, new: ComparedRun) -> Comparison:
    """Judges every combination and setting that both runs have."""
    sides = {"base": base, "new": new}
    paired: list[Observation] = []
    places: dict[str, tuple[str, str]] = {}
    for label, side in sides.items():
        of_side = observations(side.compared)
        for o, repetition in zip(of_side, _repetition_ranks(of_side), strict=True):
            combination = f"{o.combination} [{o.setting}]"
            places[combination] = (o.combination, o.setting)
            paired.append(Observation("compare", combination, repetition, label, o.metric, o.value))
    # Base first, whatever the order of combinations: ratios are then base / new in every verdict.
    verdicts_of_pair = verdicts(judge_observations(paired, exact=is_exact([*base.records, *new.records])))
    changes = [
        Change(*places[v.combination], v if v.setting_a == "new" else v.turned(), _outcome(v)) for v in verdicts_of_pair
    ]
    return Comparison(base.run_id, new.run_id, tuple(changes), tuple(notes(base, new)))


def over_pairs(comparisons: Sequence[Comparison], *, needs_confirmation: bool) -> Comparison:
    """One comparison of those of one or more pairs of runs, oldest first: ratios of all, all else of the newest."""
    same: dict[tuple[str, str, str], list[Change]] = {}
    for one in comparisons:
        for change in one.changes:
            same.setdefault((change.combination, change.setting, change.verdict.metric), []).append(change)
    changes = []
    for change in comparisons[-1].changes:
        mine = same[change.combination, change.setting, change.verdict.metric]
        outcome = together([one.outcome for one in mine], needs_confirmation=needs_confirmation)
        ratio, low, high = mean_interval([one.verdict.interval for one in mine])
        verdict = replace(change.verdict, ratio=ratio, ratio_low=low, ratio_high=high)
        changes.append(replace(change, outcome=outcome, verdict=verdict))
    return replace(comparisons[-1], changes=tuple(changes), pairs=len(comparisons))


def _repetition_ranks(rows: Sequence[Observation]) -> list[int]:
    """Repetitions counted from 0 in each run, so that first meets first."""
    rank = {repetition: i for i, repetition in enumerate(sorted({o.repetition for o in rows}))}
    return [rank[o.repetition] for o in rows]


def _outcome(v: Verdict) -> str:
    if v.word == "clear":
        return "improvement" if v.winner == "new" else "regression"
    return v.word


AGREE_METRICS = ("rate", "access_time", "cpu_efficiency", "p99")
P99_OPERATIONS_MIN = 200
"""One run beside another needs fewer operations in the tail than a verdict does: two of them are at or beyond the 99th
percentile."""


@dataclass(frozen=True)
class ValuePair:
    """Two values of one combination and setting: means over the repetitions, in bytes/s, ns, or MB per CPU second."""

    metric: str
    combination: str
    setting: str
    base: float
    new: float


def pairs(base: ComparedRun, new: ComparedRun) -> list[ValuePair]:
    """Everything that both runs have."""
    a, b = (_means(side) for side in (base, new))
    order = {metric: number for number, metric in enumerate(AGREE_METRICS)}
    both = [ValuePair(*key, value, b[key]) for key, value in a.items() if key in b]
    return sorted(both, key=lambda pair: (order.get(pair.metric, len(order)), pair.combination, pair.setting))


def _means(side: ComparedRun) -> dict[tuple[str, str, str], float]:
    """Mean over repetitions (geometric) by (metric, combination, setting)."""
    logs: dict[tuple[str, str, str], list[float]] = {}
    for record in side.compared if side.records else ():
        for phase in record.phases if record.valid else ():
            figures = values(phase)
            if p99_ns := phase.percentile_ns(99, P99_OPERATIONS_MIN):
                figures["p99"] = float(p99_ns)
            for metric, value in figures.items():
                if value > 0:
                    logs.setdefault((metric, combination_of(record, phase), record.setting), []).append(math.log(value))
    return {key: math.exp(sum(log) / len(log)) for key, log in logs.items()}
