"""The rule for verdicts: its numbers in one place, and a version that every verdict carries.

Records outlive rules. A change of a number here raises `RULE_VERSION`, so that a verdict says which rule made it and
an old record can get a new verdict. Reasons for each number: `docs/concepts/verdicts-of-studies.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

RULE_VERSION = "2026.11-2"

CONTROL_SUFFIX = " (control)"
"""The second label of an A/A pair: `mq-deadline (control)` is `mq-deadline` under another name."""

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


@dataclass(frozen=True)
class Rule:
    """What decides. `threshold_share` is a difference that counts, as a share of the better value (0.03 = 3 %)."""

    version: str = RULE_VERSION
    threshold_share: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {"rate": 0.03, "cpu_efficiency": 0.05, "access_time": 0.05, "access_time_median": 0.05, "p99": 0.10}
        )
    )
    threshold_share_default: float = 0.05
    threshold_share_percentile: float = 0.10
    """For percentiles beyond the named ones: a tail is noisier than a mean."""
    looks: tuple[int, ...] = (3, 5, 8)
    """Numbers of blocks at which a run may be judged and stopped."""
    level: float = 0.03
    """Nominal level of a judgement made once. What is promised is 0.05; the rest is kept for noise that is not as the
    model thinks (see the calibration suite)."""
    level_per_look: float = 0.022
    """Nominal level at each look of a run that stops when decided: three looks at 0.022 err 5 times in 100 in all
    (Pocock 1977, "Group sequential methods", table 1: 0.0221 for three looks)."""
    blocks_min: int = 3
    """Fewer common blocks of two settings never decide."""
    cells_for_pooling_min: int = 10
    """Fewer cells say too little about how noise is distributed over cells: plain t."""
    control_noise_factor: float = 2.0
    """A win must exceed this many standard deviations of the A/A control's difference of means."""
    interval_level: float = 0.95
    power_target: float = 0.80
    """`blocks_more` is the number of blocks that would decide with this probability."""
    blocks_more_max: int = 997
    """Larger answers mean "not in this life" and are cut here."""

    def threshold_log(self, metric: str) -> float:
        """The smallest difference that counts, on the log scale: 3 % is ln 1.03 in either direction."""
        share = self.threshold_share.get(metric)
        if share is None:
            percentile = metric[:1] == "p" and metric[1:2].isdigit()
            share = self.threshold_share_percentile if percentile else self.threshold_share_default
        return math.log1p(share)


RULE = Rule()
