"""Every pair of candidates compared: for tables with known truth, and for comparing runs.

A winner is shown to be better (corrected over the pairs of its table, Benjamini and Hochberg 1995) and not shown to be within the
threshold; a tie is shown to be within the threshold on either side, each side tested at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from seekwise.analysis.decision.bounds import ALPHA, ROUNDS_MIN, Pair, interval, pair, prior_of
from seekwise.analysis.decision.table import Entry
from seekwise.analysis.decision.verdicts import LEVEL_WORSE, log_of_share, passed


@dataclass(frozen=True)
class Compared:
    """a against b in one entry. `ratio`: a / b, with its 95 % interval."""

    use: str
    metric: str
    setting_a: str
    setting_b: str
    winner: str | None
    word: str
    """clear, tie, undecided"""
    ratio: float
    low: float
    high: float


def compare(entries: Sequence[Entry], *, alpha: float = ALPHA) -> list[Compared]:
    """All pairs of all entries; the entries are one table."""
    rows: list[tuple[Entry, str, str, Pair | None, tuple[float, float, float]]] = []
    for entry in entries:
        names = entry.figures.settings
        found = {(a, b): pair(entry, a, b) for a, b in combinations(names, 2)}
        prior = prior_of([each for each in found.values() if each is not None and math.isfinite(each.s_squared)])
        for (a, b), each in found.items():
            if each is None or each.rounds < ROUNDS_MIN or not math.isfinite(each.s_squared):
                rows.append((entry, a, b, None, (math.nan, math.nan, 1.0)))
                continue
            # One-sided bounds at 5 % each: for a tie both must hold.
            low, high, p_one = interval(each, each.mean, prior, alpha, 1)
            rows.append((entry, a, b, each, (low, high, min(1.0, 2 * min(p_one, 1 - p_one)))))
    clear = passed(np.array([row[4][2] for row in rows]), LEVEL_WORSE * alpha / ALPHA)
    return [_compared(*row, bool(good)) for row, good in zip(rows, clear, strict=True)]


def _compared(
    entry: Entry, a: str, b: str, each: Pair | None, bounds: tuple[float, float, float], clear: bool
) -> Compared:
    if each is None:
        return Compared(entry.use, entry.metric, a, b, None, "undecided", math.nan, 0.0, math.inf)
    low, high, _ = bounds
    limit = log_of_share(entry.threshold, entry.more_is_better)
    # `mean` is how much better b is; the ratio a / b of a rate is its inverse.
    sign = -1.0 if entry.more_is_better else 1.0
    wide = float(special.stdtrit(max(each.rounds - 1, 1), 0.975) / special.stdtrit(max(each.rounds - 1, 1), 0.95))
    ends = sorted(math.exp(sign * (each.mean + wide * (end - each.mean))) for end in (low, high))
    word, winner = "undecided", None
    if -limit < low and high < limit:
        word = "tie"
    elif clear:
        word, winner = "clear", b if each.mean > 0 else a
    return Compared(entry.use, entry.metric, a, b, winner, word, math.exp(sign * each.mean), ends[0], ends[1])
