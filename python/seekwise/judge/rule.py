"""The rule for verdicts: its numbers in one place, and the version that every verdict carries.

Records outlive rules. A change of a number here raises `RULE_VERSION`, so that a verdict says which rule made it and
an old record can get a new verdict. Reasons for each number: `proof/docs/verdicts-of-studies.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from seekwise.workload.live_plan import Threshold

RULE_VERSION = "11"

P_BETTER = 0.95
"""A difference is named where it has this probability: said falsely of settings that are alike once in a hundred
statements (`verify judgement`)."""
P_LIKELY = 0.80
"""A direction is said with its probability where it has this much."""
P_DIFFERS = 0.99
"""The same for the A/A check, which forbids any advice."""
WINNERS_WRONG = 0.006
"""A table of pairs, which is read as a whole, names as many winners of this probability as leave so small a share of
them expected to be wrong. Tables without any difference name one in 7 of 100 cases (`verify judgement`)."""
P_SAME = 0.90
"""Two settings are called alike where they lie within a bound with this probability."""
SAME_BOUNDS = (0.05, 0.08, 0.10)
"""Bounds that are worth naming, as shares."""
INTERVAL_TAIL = 0.05
"""Of the intervals that are shown: 90 %."""
ROUNDS_MIN = 3
"""Two rounds know their own noise to a factor of ten; nothing is said from them."""

MORE_IS_BETTER: Mapping[str, bool] = MappingProxyType(
    {"rate": True, "access_time": False, "access_time_median": False, "cpu_efficiency": True, "p99": False}
)
"""Metrics that the rule knows by name. Others: `more_is_better`."""


def more_is_better(metric: str) -> bool:
    """Whether a higher value of this metric is the better one.

    Unknown names: percentiles (`p…`), times and latencies are better when low; anything else when high.
    """
    known = MORE_IS_BETTER.get(metric)
    if known is not None:
        return known
    name = metric.lower()
    percentile = name.startswith("p") and name[1:2].isdigit()
    return not (percentile or "latency" in name or "time" in name or name.endswith(("_ns", "_us", "_ms")))


THRESHOLD_SHARE: Mapping[str, float] = MappingProxyType(
    {"rate": 0.03, "cpu_efficiency": 0.05, "access_time": 0.05, "access_time_median": 0.05, "p99": 0.10}
)
"""A difference of whole trials that counts: 0.03 is from 1 / 1.03 to 1.03."""
THRESHOLD_OF_PERIODS = Threshold(rate=0.05, latency=0.10, background=0.10)
"""The same of periods of live switching, as losses; `tune --threshold` sets others."""
THRESHOLD_DEFAULT = 0.05
THRESHOLD_PERCENTILE = 0.10
"""For percentiles beyond the named ones: a tail is noisier than a mean."""


def threshold_log(metric: str) -> float:
    """The smallest difference that counts, on the log scale: 3 % is ln 1.03 in either direction."""
    percentile = metric[:1] == "p" and metric[1:2].isdigit()
    usual = THRESHOLD_PERCENTILE if percentile else THRESHOLD_DEFAULT
    return math.log1p(THRESHOLD_SHARE.get(metric, usual))


def threshold_loss(metric: str) -> float:
    """The same as a loss against the better value: 3 % more is a loss of 2.9 % for who has less."""
    log = threshold_log(metric)
    return -math.expm1(-log) if more_is_better(metric) else math.expm1(log)
