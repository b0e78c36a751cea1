"""Settings compared over many hosts, with the host as a random effect (statsmodels' `combine_effects`).

Each unit gives the ratio of two settings under one load, which its own speed cancels from, with the error that its repeats show. The pooled ratio is
that of an unseen unit of the kind: its interval counts how much hosts differ in it, not only how often each was measured.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seekwise.errors import MissingError
from seekwise.judge.rule import more_is_better
from seekwise.report.fleet.rows import METRICS, FleetSums, LogSums, Unit
from seekwise.report.fleet.words import interval_text, kind_text, load_text, unlike_text

UNITS_LEAST = 3
THRESHOLD = 0.03
"""Differences below this share are no win, as in the verdicts of one host."""
ALPHA = 0.05
CONTROL = " (control)"


@dataclass(frozen=True)
class Pooled:
    """A setting against the most common one, with the host as a random effect."""

    model: str
    level: str
    load: str
    metric: str
    """rate or p99."""
    setting: str
    reference: str
    devices: int
    ratio: float
    ratio_low: float
    ratio_high: float
    """95 % interval of the mean ratio, corrected for all comparisons of the fleet."""
    host_spread: float
    """Standard deviation of the ratio between hosts, beyond that of repeats, as a share."""
    word: Literal["clear", "small", "tie", "undecided"]

    @property
    def is_better(self) -> bool:
        """By the estimate alone, whatever its interval; `word` says whether the difference is proved."""
        return (self.ratio > 1) == more_is_better(self.metric)

    @property
    def kind(self) -> tuple[str, str]:
        """Of the devices."""
        return (self.model, self.level)

    @property
    def sentence(self) -> str:
        """The ratio with its 95 % interval and the number of devices."""
        verb = "is" if self.metric == "rate" else "has"
        return (
            f"{kind_text(self.kind)}, {load_text(self.load)}: {self.setting} {verb} {unlike_text(self.ratio, self.metric)} than {self.reference} "
            f"({interval_text(self.ratio_low, self.ratio_high)}, {self.devices} devices)."
        )


def pooled(summary: FleetSums) -> list[Pooled]:
    """Every setting against the most common one, by kind, load and metric; the surest first. Raises MissingError without statsmodels."""
    try:
        from statsmodels.stats.meta_analysis import combine_effects
    except ModuleNotFoundError:
        raise MissingError(
            "pooling hosts needs statsmodels, which is not installed", hint="pip install 'seekwise[fleet]'"
        ) from None
    groups: dict[tuple[tuple[str, str], str, str], dict[str, dict[Unit, LogSums]]] = {}
    for (unit, load, setting, metric), sums in summary.sums.items():
        if not setting.endswith(CONTROL):
            groups.setdefault((unit.kind, load, metric), {}).setdefault(setting, {})[unit] = sums
    pairs = []
    for key, settings in sorted(groups.items()):
        reference = max(settings, key=lambda name: (len(settings[name]), name))
        for setting in sorted(settings):
            shared = sorted(settings[setting].keys() & settings[reference].keys())
            if setting != reference and len(shared) >= UNITS_LEAST:
                pairs.append(
                    (key, setting, reference, [(settings[setting][u], settings[reference][u]) for u in shared])
                )
    found = []
    for (kind, load, metric), setting, reference, both in pairs:
        effects = np.array([one.mean - other.mean for one, other in both])
        spread = sum(one.spread + other.spread for one, other in both)
        freedom = sum(one.count + other.count - 2 for one, other in both)
        within = spread / freedom if freedom > 0 else 0.0
        variances = np.array([within * (1 / one.count + 1 / other.count) for one, other in both])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = combine_effects(effects, np.maximum(variances, 1e-12), method_re="dl", use_t=True)
            frame = result.summary_frame(alpha=ALPHA / len(pairs))
        row = frame.loc["random effect"]
        mean, low, high = float(row["eff"]), float(row["ci_low"]), float(row["ci_upp"])
        found.append(
            Pooled(
                *kind, load, metric, setting, reference, len(both), math.exp(mean), math.exp(low), math.exp(high),
                math.expm1(math.sqrt(max(float(result.tau2), 0.0))), _word(mean, low, high),
            )
        )  # fmt: skip
    order = {"clear": 0, "small": 1, "tie": 2, "undecided": 3}
    found.sort(key=lambda each: (order[each.word], METRICS.index(each.metric), -abs(math.log(each.ratio))))
    return found


def _word(mean: float, low: float, high: float) -> Literal["clear", "small", "tie", "undecided"]:
    edge = math.log1p(THRESHOLD)
    if low > 0 or high < 0:
        return "clear" if abs(mean) >= edge else "small"
    return "tie" if -edge < low and high < edge else "undecided"
