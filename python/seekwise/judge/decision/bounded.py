"""What strikes from outside is given a limit; what belongs to a setting counts in full.

A blow from outside (a neighbour on the host, a write-back) strikes each candidate with the same probability, by the random order of each
round, so the rounds that fall far out lie on both sides alike and are bounded (Huber 1964, Annals of Mathematical Statistics 35(1)).
Where they lie on one side they belong to a candidate: stalls are part of its figure, and nothing is bounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

FAR_OUT = 2.5
"""Robust standard deviations from the centre of all rounds; with normal noise 1 % of the rounds lie beyond, and bounding costs 0.5 %."""
FAR_SHARE_MOST = 0.25
ONE_SIDED_P = 0.3
"""Far rounds whose split into above and below is less likely than this are a candidate's own."""
ONE_SIDED_MOST = 0.06
"""Nor may one side have more than the other by this share of the rounds: all of it lost would be a threshold of the rate."""
ROUNDS_TO_BOUND = 8
NEARLY_EQUAL_LOG = 0.7
"""Beyond a factor of two nothing hangs on a few rounds, and their differences are not symmetric."""
CENTRE_STEPS = 10


def bounded(values: Array) -> tuple[float, float] | None:
    """(Huber's centre, variance that one value adds to it); None where the far values do not lie on both sides alike, or are too few to tell."""
    if len(values) < ROUNDS_TO_BOUND:
        return None
    middle = float(np.median(values))
    reach = FAR_OUT * 1.4826 * float(np.median(np.abs(values - middle)))
    if reach <= 0:
        return None
    for _ in range(CENTRE_STEPS):
        middle = float(np.clip(values, middle - reach, middle + reach).mean())
    above, below = int((values > middle + reach).sum()), int((values < middle - reach).sum())
    far = above + below
    if far == 0 or far > FAR_SHARE_MOST * len(values) or abs(above - below) > ONE_SIDED_MOST * len(values):
        return None
    if special.bdtr(min(above, below), far, 0.5) < ONE_SIDED_P / 2:
        return None
    clipped = np.clip(values, middle - reach, middle + reach)
    inside = 1 - far / len(values)
    return middle, float(((clipped - middle) ** 2).sum() / (len(values) - 1)) / inside**2


def of_logs(whole: float, without: Array) -> tuple[float, float]:
    """(log ratio, variance of one round's) of mean logarithms, from the ratio with each round left out in turn.

    By the relative difference (b − a) / (b + a) = tanh(δ / 2): near equality that is the jackknife of the logarithm, and a value that is all but
    zero has a sure share of the other and an unsure logarithm.
    """
    count = len(without)
    share, shares = np.tanh(whole / 2), np.tanh(without / 2)
    slope = 0.5 * (1 - share**2)
    pseudo = count * share - (count - 1) * shares
    if not np.isfinite(pseudo).all() or slope <= 0:
        return whole, np.inf
    plain = float(np.var(pseudo, ddof=1) / slope**2)
    found = bounded(pseudo) if abs(whole) <= NEARLY_EQUAL_LOG else None
    if found is None:
        return whole, plain
    middle, variance = found
    return whole + float(middle - pseudo.mean()) / slope, min(plain, variance / slope**2)
