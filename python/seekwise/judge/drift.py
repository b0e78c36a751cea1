"""Drift: what the reference combination did at both ends of each repetition.

        repetition 1: S … … … S   repetition 2: S … … … S   …

S is a drift check: the reference setting in one combination, always the same.

Candidates are compared inside their repetition, so slow drift does not choose a winner. It is said nevertheless,
because it says whether the machine was itself: ln value against the drift check's place in the run, a straight line,
and the change from the first to the last drift check with its 95 % interval (least squares; drift checks of one
combination and operation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seekwise import special
from seekwise.judge.observe import combination_of, values
from seekwise.judge.rule import threshold_log
from seekwise.store.record import Record

SENTINELS_MIN = 4
METRICS = ("rate", "access_time")


@dataclass(frozen=True)
class Drift:
    """Change from the first to the last drift check of one combination by one metric."""

    combination: str
    metric: str
    ratio: float
    ratio_low: float
    ratio_high: float
    sentinels: int
    counts: bool
    """Shown (the interval excludes 1) and at least as large as what counts as a difference."""


def drifts(records: Sequence[Record]) -> list[Drift]:
    """Of every combination that has drift checks; `records` may hold anything else as well."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for record in records:
        if record.role != "sentinel" or not record.valid:
            continue
        for phase in record.phases:
            for metric, value in values(phase).items():
                if metric in METRICS and value > 0:
                    series.setdefault((combination_of(record, phase), metric), []).append(
                        (record.trial, math.log(value))
                    )
    drifting = []
    for (combination, metric), points in series.items():
        if len(points) < SENTINELS_MIN:
            continue
        places, logs = zip(*sorted(points), strict=True)
        span = places[-1] - places[0]
        if span == 0:
            continue
        (slope, _), covariance = np.polyfit(places, logs, 1, cov=True)
        half = special.t_quantile(len(points) - 2, 0.975) * math.sqrt(covariance[0, 0]) * span
        change = float(slope) * span
        shown = abs(change) > half and abs(change) >= threshold_log(metric)
        drifting.append(
            Drift(
                combination,
                metric,
                math.exp(change),
                math.exp(change - half),
                math.exp(change + half),
                len(points),
                shown,
            )
        )
    return drifting
