"""How long after a switch a period does not count: measured for each use and candidate, not assumed.

Seen on a virtio disk (Linux 6.18): none, mq-deadline and kyber are at their level within 0.1 s of the switch; bfq starts level with
them and falls after 0.3 s, for as long as it stays. So no fixed time is right.

All periods of a candidate are averaged bin by bin, and the cut is put where the rest has the least uncertainty of its mean (MSER:
White 1997, Simulation 69(6)): a start that differs raises the scatter of what it is averaged with, a late cut leaves little to average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

BIN_S = 0.05
CUT_LEAST_S = 0.1
"""The kernel freezes and drains the queue while it switches; requests that waited for that are in the first tenth."""
CUT_SHARE_MAX = 0.6
"""At most this share of a period is cut; if the best cut lies there, the period is too short and grows."""
REST_BINS_MIN = 4


def cut_s(profiles: Sequence[Sequence[float]], least_s: float = CUT_LEAST_S) -> float:
    """Seconds to cut from the start of each period, from profiles (values per bin of `BIN_S`) of one candidate's periods.

    Periods of unlike length count as far as they go. Without enough bins the least cut.
    """
    length = max((len(each) for each in profiles), default=0)
    if length < REST_BINS_MIN:
        return least_s
    table = np.full((len(profiles), length), np.nan)
    for row, each in enumerate(profiles):
        values = np.asarray(each, dtype=float)
        scale = np.nanmean(values) if np.isfinite(values).any() else math.nan
        if scale and math.isfinite(scale):
            table[row, : len(values)] = values / scale
    # Bins that few periods reach would let one of them decide.
    enough = np.sum(np.isfinite(table), axis=0) >= max(1, (len(profiles) + 1) // 2)
    known = table[:, enough]
    if known.shape[1] < REST_BINS_MIN:
        return least_s
    mean = np.nanmean(known, axis=0)
    most = max(1, min(int(CUT_SHARE_MAX * len(mean)), len(mean) - REST_BINS_MIN))
    least = min(most, math.ceil(least_s / BIN_S))
    scores = [_mser(mean[start:]) for start in range(least, most + 1)]
    best = least + int(np.argmin(scores))
    # A later cut must be clearly better than the least one: noise alone always finds some place.
    if scores[best - least] > 0.5 * scores[0]:
        best = least
    return best * BIN_S


def _mser(values: np.ndarray) -> float:
    """Squared standard error of the mean, as if the values were independent."""
    return float(np.nanvar(values)) / len(values)


def too_short(cut: float, period_s: float) -> bool:
    """Whether the best cut lies where the search ends: the period must grow to see where the value stands still."""
    return cut >= (CUT_SHARE_MAX - 0.1) * period_s
