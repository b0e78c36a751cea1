"""How long after a switch a period does not count: measured for each use and candidate, not assumed.

Seen on a virtio disk (Linux 6.18): none, mq-deadline and kyber are at their level within 0.1 s of the switch; bfq
starts level with them and falls after 0.3 s, for as long as it stays. So no fixed time is right.

All periods of a candidate are averaged bin by bin, and the cut is put where the rest has the least uncertainty of its
mean (MSER: White 1997, Simulation 69(6)): a start that differs raises the scatter of what it is averaged with, a late
cut leaves little to average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from seekwise import schedulers, special
from seekwise.workload.live_plan import Candidate

BIN_S = 0.025
CUT_LEAST_S = 0.1
"""The kernel freezes and drains the queue while it switches; requests that waited for that are in the first tenth."""
LEARNING_CUT_S = 0.35
"""Least cut of a scheduler that measures rates, budgets and processes anew after each switch, and of any that the
program does not know: seen of bfq on a virtio disk, 0.3 to 0.4 s."""
RAISED_S = 3.5
"""The same where processes that have worked for seconds compete with others: to bfq they are new after a switch. Seen on
a quiet virtio disk beside four readers: for 1.0 to 1.5 s, until 61 MB were read, one read 300 to 4,500 files per second,
then 40 to 80 as before; `bfq_wr_max_time` ends it after 3 s at the latest."""
CUT_SHARE_MAX = 0.6
"""At most this share of a period is cut; if the best cut lies there, the period is too short and grows."""
REST_BINS_MIN = 4
CHANGE_LEAST = 0.05
"""A level that moves by less (log) is no start worth cutting."""
CHANGE_LEVEL = 0.001
"""Of the test whether the level moved: a dozen candidates and uses are looked at, each with the cut that fits best of
several, and a false one costs all short periods of a candidate."""


def cut_s(profiles: Sequence[Sequence[float]], least_s: float = CUT_LEAST_S) -> float:
    """Seconds to cut from the start of each period, from profiles (values per bin of `BIN_S`) of one candidate's
    periods.

    Periods of unlike length count as far as they go. Without enough bins the least cut.
    """
    length = max((len(profile) for profile in profiles), default=0)
    if length < REST_BINS_MIN:
        return least_s
    table = np.full((len(profiles), length), np.nan)
    for row, profile in enumerate(profiles):
        values = np.asarray(profile, dtype=float)
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


def settles_at_once(candidate: Candidate) -> bool:
    """Whether nothing of the setting before lasts into this one: a scheduler alone, and one that keeps no history."""
    row = schedulers.registry().get(str(candidate.values.get("scheduler", "")))
    return row is not None and row.settles_at_once and len(candidate.values) == 1


def cuts_s(profiles: Mapping[str, Sequence[Sequence[float]]], least: Mapping[str, float]) -> dict[str, float]:
    """Cuts of all candidates of a use: a later cut than the least one only where the level before it is shown to
    differ.

    How much levels of unchanged periods scatter is known from all candidates together: one alone has run three or four
    periods.
    """
    proposed = {name: cut_s(profile, least[name]) for name, profile in profiles.items()}
    return {
        name: cut if cut <= least[name] or _level_changes(profiles, name, cut, least[name]) else least[name]
        for name, cut in proposed.items()
    }


def _level_changes(profiles: Mapping[str, Sequence[Sequence[float]]], name: str, cut: float, least_s: float) -> bool:
    """Whether the level from `least_s` to `cut` differs from the one after it by more than a little and more than
    noise."""
    steps = {
        other: [step for values in profile if (step := _step(values, cut, least_s)) is not None]
        for other, profile in profiles.items()
    }
    mine = steps[name]
    if not mine:
        return True
    change = float(np.mean(mine))
    scatter = [np.asarray(sizes) - np.mean(sizes) for sizes in steps.values() if len(sizes) > 1]
    df = sum(len(below) - 1 for below in scatter)
    if df == 0:
        return abs(change) > CHANGE_LEAST
    s = math.sqrt(sum(float((below**2).sum()) for below in scatter) / df)
    errors = special.t_quantile(df, 1 - CHANGE_LEVEL / 2)
    return abs(change) > max(CHANGE_LEAST, errors * s / math.sqrt(len(mine)))


def _step(values: Sequence[float], cut: float, least_s: float) -> float | None:
    """Logarithm of the level after `cut` over the level from `least_s` to it; None when a part is empty."""
    first, place = math.ceil(least_s / BIN_S - 1e-9), round(cut / BIN_S)
    before, after = np.asarray(values[first:place], dtype=float), np.asarray(values[place:], dtype=float)
    if not len(before) or not len(after) or before.mean() <= 0 or after.mean() <= 0:
        return None
    return math.log(after.mean() / before.mean())


def _mser(values: np.ndarray) -> float:
    """Squared standard error of the mean, as if the values were independent."""
    return float(np.nanvar(values)) / len(values)


def too_short(cut: float, period_s: float) -> bool:
    """Whether the best cut lies where the search ends: the period must grow to see where the value stands still."""
    return cut >= (CUT_SHARE_MAX - 0.1) * period_s
