"""Builders that several tests of live switching share."""

import math
import random

from seekwise.judge.decision.table import UseFigure, values_of


def entry_of(values, *, use="desktop", metric="rate", noise=0.01, rounds=8, seed=1):
    """One entry with {setting: true value} in random rounds; more is better."""
    rng = random.Random(seed)
    periods = []
    for _ in range(rounds):
        names = list(values)
        rng.shuffle(names)
        periods += [(name, values[name] * math.exp(rng.gauss(0, noise))) for name in names]
    return UseFigure(use, metric, "MB/s", True, 0.05, values_of(periods))
