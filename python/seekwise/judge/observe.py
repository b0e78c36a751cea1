"""Records become observations: which numbers of a trial are judged, and in which family.

- table: one run. Everything that a reader sees side by side shares one error rate and lends each other its noise.
- combination: operation, then the record's own combination: `seq_read disk=vda threads=8`.
- An operation with several thread counts also gets one combination without them (`seq_read disk=vda`): the geometric
  mean over the thread counts, repetition by repetition. That is the row of the winner table.

Only valid trials are observed. A value that a trial cannot give (no CPU second seen, too few operations for p99) is
absent, not zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from seekwise.judge.observation import Observation
from seekwise.store.record import Phase, Record
from seekwise.workload.study import combination_key

METRICS = ("rate", "access_time", "cpu_efficiency", "p99")
POOLED_FACTOR = "threads"


def values(phase: Phase) -> dict[str, float]:
    """What one phase says, by metric."""
    figures: dict[str, float] = {}
    if phase.elapsed_s > 0:
        figures["rate"] = phase.rate_bytes_per_s
    if phase.ios > 0 and phase.latency_mean_ns > 0:
        figures["access_time"] = phase.latency_mean_ns
    efficiency = phase.cpu_efficiency
    if efficiency is not None:
        figures["cpu_efficiency"] = efficiency
    p99_ns = phase.percentile_ns(99)
    if p99_ns is not None:
        figures["p99"] = float(p99_ns)
    return figures


def observations(records: Iterable[Record], *, over_threads: bool = True) -> list[Observation]:
    """Everything that valid records say; with `over_threads` also per operation over all thread counts."""
    single = [
        Observation(record.run_id, combination_of(record, phase), record.repetition, record.setting, metric, value)
        for record in records
        if record.valid
        for phase in record.phases
        for metric, value in values(phase).items()
    ]
    return single + (pooled_over_threads(single) if over_threads else [])


def pooled_over_threads(single: Sequence[Observation]) -> list[Observation]:
    """Geometric mean over the thread counts of a combination; a repetition counts only if it has every thread count."""
    wholes = {o.combination: combination_key.without(o.combination, POOLED_FACTOR) for o in single}
    wholes = {combination: whole for combination, whole in wholes.items() if whole != combination}
    return [joined(o, sum(means.values()) / len(means)) for o, means in complete(single, wholes) if len(means) > 1]


def complete(single: Sequence[Observation], wholes: Mapping[str, str]) -> list[tuple[Observation, dict[str, float]]]:
    """(one of its observations as one of the whole, {combination: mean of ln}) of every repetition and setting that has
    all combinations of a whole.

    `wholes`: {combination: what it is a part of}.
    """
    members: dict[tuple[str, str, str], set[str]] = {}
    logs: dict[Observation, dict[str, list[float]]] = {}
    for o in single:
        if (whole := wholes.get(o.combination)) is None:
            continue
        members.setdefault((o.table, whole, o.metric), set()).add(o.combination)
        if is_usable(o):
            place = replace(o, combination=whole, value=0.0)
            logs.setdefault(place, {}).setdefault(o.combination, []).append(math.log(o.value))
    return [
        (place, {combination: sum(values) / len(values) for combination, values in by_combination.items()})
        for place, by_combination in logs.items()
        if by_combination.keys() == members[place.table, place.combination, place.metric]
    ]


def joined(place: Observation, log: float) -> Observation:
    """The observation of a whole."""
    return replace(place, value=math.exp(log))


def is_usable(observation: Observation) -> bool:
    """Whether its value has a logarithm."""
    return observation.value > 0 and math.isfinite(observation.value)


def combination_of(record: Record, phase: Phase) -> str:
    """The combination that a phase of a record belongs to, as observations name it."""
    return f"{phase.operation} {record.combination}".rstrip()
