"""Any setting against any other, where what is in force is no side of the question: an A/A check, what a load weighs best.

The words are those of `verdicts.py`. A table of pairs is read as a whole, so it names as many differences as leave few of them expected to be wrong
(`rule.WINNERS_WRONG`), and calls alike what lies within the threshold of its metric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from seekwise.judge.decision.verdicts import CandidateVerdict, Difference, Judged, Word, ratios
from seekwise.judge.rule import P_BETTER, ROUNDS_MIN, WINNERS_WRONG


@dataclass(frozen=True)
class Pair:
    """One setting against another, in one figure of one use."""

    figure: Judged
    other: str
    standing: CandidateVerdict
    """Of the first setting against `other`."""
    is_sure: bool
    """Which is better is known, however little that is."""

    @property
    def verdict(self) -> Word:
        """Of the first setting."""
        return self.standing.verdict

    @property
    def settings(self) -> tuple[str, str]:
        """The first and the other."""
        return self.standing.setting, self.other

    @property
    def winner(self) -> str | None:
        """The better one of the two; None where they are alike or little is known."""
        return {"better": self.standing.setting, "worse": self.other}.get(self.verdict)

    def interval(self, setting: str) -> tuple[float, float, float]:
        """(ratio, low, high) of the values of `setting` to those of the other."""
        standing = self.standing
        ends = tuple(math.nan if end is None else end for end in (standing.ratio, standing.low, standing.high))
        ratio, low, high = ends if setting == standing.setting else (1 / end for end in (ends[0], ends[2], ends[1]))
        return ratio, low, high


def pairs(judged: Sequence[Judged]) -> list[Pair]:
    """Every pair of settings of every figure, in their order."""
    compared = [
        (entry, [(a, b, entry.difference(a, b)) for a, b in combinations(entry.figures.settings, 2)])
        for entry in judged
    ]
    doubts: dict[str, list[float]] = {}
    for entry, rows in compared:
        doubts.setdefault(entry.table, []).extend(
            1 - max(known.p_better, known.p_worse)
            for _, _, known in rows
            if known is not None and known.bound > entry.threshold
        )
    most = {table: _doubt_most(sorted(each)) for table, each in doubts.items()}
    return [_pair(entry, a, b, known, most[entry.table]) for entry, rows in compared for a, b, known in rows]


def _doubt_most(doubts: Sequence[float]) -> float:
    """The largest probability that a named difference is none."""
    means = np.cumsum(doubts) / np.arange(1, len(doubts) + 1)
    most = max((doubt for doubt, mean in zip(doubts, means, strict=True) if mean <= WINNERS_WRONG), default=-1.0)
    return min(most, 1 - P_BETTER)


def _pair(entry: Judged, a: str, b: str, known: Difference | None, doubt_most: float) -> Pair:
    rounds = [entry.figures.rounds(name) for name in (a, b)]
    is_sure = known is not None and 1 - max(known.p_better, known.p_worse) <= doubt_most
    word: Word = "unknown"
    if known is not None and (entry.conditions.exact or min(map(len, rounds)) >= ROUNDS_MIN):
        if known.bound <= entry.threshold:
            word = "same"
        elif is_sure:
            word = "better" if known.p_better > known.p_worse else "worse"
        # What was not steady may lose; it neither wins nor is alike.
        winners = {"better": {a}, "worse": {b}}.get(word, {a, b})
        if winners & entry.conditions.unsteady.keys():
            word = "unknown"
    ratio, low, high = ratios(known, entry.more_is_better) if known is not None else (None, None, None)
    standing = CandidateVerdict(
        setting=a,
        verdict=word,
        value=None,
        ratio=ratio,
        low=low,
        high=high,
        p_better=None if known is None else round(known.p_better, 3),
        p_worse=None if known is None else round(known.p_worse, 3),
        rounds=len(set(rounds[0]) & set(rounds[1])),
    )
    return Pair(entry, b, standing, is_sure)


def unbeaten(compared: Sequence[Pair]) -> tuple[str, ...]:
    """Of the pairs of one figure the settings that the best one by its estimate is not better than, itself first; empty while nothing is known."""
    scores: dict[str, float] = {}
    for pair in compared:
        a, b = pair.settings
        ratio = pair.interval(a)[0]
        log = pair.figure.sign * math.log(ratio) if math.isfinite(ratio) and ratio > 0 else 0.0
        scores[a], scores[b] = scores.get(a, 0.0) + log, scores.get(b, 0.0) - log
    order = sorted(scores, key=lambda name: -scores[name])
    beaten = {
        next(name for name in pair.settings if name != pair.winner) for pair in compared if pair.winner == order[0]
    }
    best = tuple(name for name in order if name not in beaten)
    return best if beaten or all(pair.verdict == "same" for pair in compared) else ()
