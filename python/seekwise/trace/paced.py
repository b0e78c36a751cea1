"""Programs with a rate limit: they send at even times and seem to wait, since the storage is always done by then."""

from __future__ import annotations

import numpy as np

from seekwise import special

REQUESTS_MIN = 20
"""With fewer, nothing is said of a program."""
EVEN_MIN = 200
"""Distances between bursts that are needed before their evenness says anything."""
EVEN_SPREAD = 0.05
"""They are even where the 10th and the 90th percentile lie at most this share of the median apart."""
EVEN_CORRELATION = -0.3
"""Of a distance with the next, by a clock: below this. Exactly even bursts that come late at random have -1/2, pauses
after each end 0."""
DRIFT_STEPS = 50
DRIFT_MAX = 5.0
"""By a clock, a sum of so many distances strays less than this many times as far as one of them; of pauses it strays
√50 = 7 times as far."""
PACED_SLOPE = 0.5
PACED_SURE = 4.0
"""A distance grows with the time of service by a slope of 1 where a program waits and of 0 by a clock. Below half, by
four standard errors, is a clock."""


def starts(arrivals: np.ndarray, done: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which arrivals begin a burst (something was done since the one before), and how many were under way before
    each."""
    completed = np.searchsorted(done, arrivals, side="right")
    before = np.arange(len(arrivals)) - completed
    return np.diff(completed, prepend=-1) > 0, np.maximum(before, 0)


def is_paced(arrivals: np.ndarray, done: np.ndarray) -> bool:
    """Whether bursts begin at even times, although none begins before the last one is done.

    `arrivals` in ns, in order; `done`: ends in ns, sorted.

    From one burst to the next a program that waits takes what the storage takes, and thinks: their distance grows with
    it, one to one. That of a paced one does not. The slope of a line through both decides, where it is known well
    enough. Where the storage always takes the same, a clock shows in another way: a burst that comes late is followed
    by a short distance, so neighbours are correlated by
    -1/2, and after fifty
    distances it is as exact as after one; pauses after each end drift away.
    """
    begins, before = starts(arrivals, done)
    at = np.flatnonzero(begins & (before == 0))
    if len(at) < REQUESTS_MIN:
        return False
    began, distance = arrivals[at[:-1]], np.diff(arrivals[at]).astype(float)
    took = (done[np.maximum(np.searchsorted(done, arrivals[at[1:]], side="right") - 1, 0)] - began).astype(float)
    low, middle, high = np.percentile(distance, [10, 50, 90])
    if high - low <= EVEN_SPREAD * middle and len(distance) >= EVEN_MIN:
        near = np.clip(distance, low, high) - middle
        if (
            near.std()
            and float(np.corrcoef(near[:-1], near[1:])[0, 1]) < EVEN_CORRELATION
            and _drift(distance) < DRIFT_MAX
        ):
            return True
    # One pause of minutes would decide alone.
    usual = (distance <= np.percentile(distance, 95)) & (took <= np.percentile(took, 95))
    distance, took = distance[usual], took[usual]
    if len(took) < REQUESTS_MIN or took.std() == 0:
        return False
    if distance.std() == 0:
        return True
    slope, error = special.slope_with_error(took, distance)
    return slope + PACED_SURE * error < PACED_SLOPE


def _drift(distance: np.ndarray) -> float:
    """How far fifty distances in a row differ from the usual fifty, against one from the usual one."""
    off = distance - np.median(distance)
    sums = np.convolve(off, np.ones(DRIFT_STEPS), "valid")
    return float(np.median(np.abs(sums - np.median(sums))) / max(np.median(np.abs(off)), 1.0))
