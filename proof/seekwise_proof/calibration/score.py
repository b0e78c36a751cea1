"""Counting: what verdicts are worth against the truth. One definition for files and for the built-in suite.

- null table         a table in which every known true ratio is 1
- winner             a comparison with known truth that is judged *clear*; false if the true ratio is 1, or lies on the
  other side
- tie                a comparison judged *tie*; false if the true difference reaches the metric's threshold
- effect             a comparison whose true ratio is not 1; found if its winner is named and is not false
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from seekwise.judge.decision.pairs import Pair
from seekwise.judge.rule import threshold_log
from seekwise.special import beta_quantiles

EQUAL = 1e-9
"""True ln ratios below this are a ratio of 1."""


@dataclass
class Counts:
    """Counts that add up over tables, runs and files."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def share(count: float, of: float) -> float:
    """0 of nothing."""
    return count / of if of else 0.0


@dataclass
class Score(Counts):
    """What verdicts of pairs are worth."""

    tables: int = 0
    null_tables: int = 0
    null_tables_with_winner: int = 0
    winners: int = 0
    false_winners: int = 0
    ties: int = 0
    false_ties: int = 0
    effects: int = 0
    found: int = 0

    def count(self, pair: Pair, log_ratio_true: float, limit_log: float) -> bool:
        """Adds one comparison; whether the truth contradicts the verdict.

        A winner is false where there is nothing to win, or on the wrong side; a tie where the truth is a difference
        that counts (a tenth of a percent of it is rounding of a file).
        """
        is_effect = abs(log_ratio_true) >= EQUAL
        self.effects += is_effect
        if pair.winner is not None:
            wrong = not is_effect or (log_ratio_true > 0) != (pair.interval(pair.settings[0])[0] > 1)
            self.winners += 1
            self.false_winners += wrong
            self.found += not wrong
            return wrong
        if pair.verdict == "same" and not pair.is_sure:
            wrong = abs(log_ratio_true) >= limit_log * 0.999
            self.ties += 1
            self.false_ties += wrong
            return wrong
        return False

    @property
    def null_tables_with_winner_share(self) -> float:
        """Share of null tables in which any winner is named: the error rate per table; 0 without null tables."""
        return share(self.null_tables_with_winner, self.null_tables)

    @property
    def false_winners_share(self) -> float:
        """Share of the named winners; 0 where none is named."""
        return share(self.false_winners, self.winners)

    @property
    def false_ties_share(self) -> float:
        """Share of the named ties; 0 where none is named."""
        return share(self.false_ties, self.ties)

    @property
    def found_share(self) -> float:
        """Share of true effects whose winner is named (power); 0 where there are none."""
        return share(self.found, self.effects)


def of_table(rows: Iterable[tuple[Pair, float]], limit: Callable[[str], float] = threshold_log) -> Score:
    """One table whose comparisons are all known: (pair, true ln a / b). `limit`: of a metric, what counts as a
    difference."""
    score = Score(tables=1)
    for pair, true in rows:
        score.count(pair, true, limit(pair.figure.metric))
    score.null_tables = int(not score.effects)
    score.null_tables_with_winner = int(not score.effects and score.winners > 0)
    return score


def binomial_upper(count: int, of: int, level: float = 0.95) -> float:
    """Upper confidence bound of a share (Clopper & Pearson 1934), to say how sure a measured share is."""
    return (
        1.0 if count >= of else float(beta_quantiles(count + 1, of - count, np.array([level]))[0]) if of else math.nan
    )
