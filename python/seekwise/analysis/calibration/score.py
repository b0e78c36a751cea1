"""Counting: what verdicts are worth against the truth. One definition for files and for the built-in suite.

- null table         a table in which every known true ratio is 1
- winner             a comparison with known truth that is judged *clear*; false if the true ratio is 1, or lies on the other side
- tie                a comparison judged *tie*; false if the true difference reaches the metric's threshold
- effect             a comparison whose true ratio is not 1; found if its winner is named and is not false
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from seekwise.analysis.calibration.noise import Truth
from seekwise.analysis.decide import CLEAR, TIE
from seekwise.analysis.judge import Judged
from seekwise.analysis.rule import RULE, Rule

EQUAL = 1e-9
"""True ln ratios below this are a ratio of 1."""


@dataclass
class Score:
    """Counts; they add up over tables and files."""

    tables: int = 0
    null_tables: int = 0
    null_tables_with_winner: int = 0
    winners: int = 0
    false_winners: int = 0
    ties: int = 0
    false_ties: int = 0
    effects: int = 0
    found: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def document(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def null_tables_with_winner_share(self) -> float:
        return self.null_tables_with_winner / self.null_tables if self.null_tables else 0.0

    @property
    def false_winners_share(self) -> float:
        return self.false_winners / self.winners if self.winners else 0.0

    @property
    def false_ties_share(self) -> float:
        return self.false_ties / self.ties if self.ties else 0.0

    @property
    def found_share(self) -> float:
        return self.found / self.effects if self.effects else 0.0


def winner_is_false(log_ratio_true: float, log_ratio_estimated: float) -> bool:
    """For a named winner: nothing to win, or the wrong side."""
    return abs(log_ratio_true) < EQUAL or (log_ratio_true > 0) != (log_ratio_estimated > 0)


def tie_is_false(log_ratio_true: float, metric: str, rule: Rule = RULE) -> bool:
    """For a declared tie: the truth is a difference that counts (a tenth of a percent of it is rounding of the file)."""
    return abs(log_ratio_true) >= rule.threshold_log(metric) * 0.999


def score(judged: Judged, true: Truth, rule: Rule = RULE) -> Score:
    """One simulated table of one metric."""
    rows, decision = judged.contrasts, judged.decision
    true_log = true.log_effect[rows.cell, rows.setting_a] - true.log_effect[rows.cell, rows.setting_b]
    clear, tie = decision.word == CLEAR, decision.word == TIE
    effect = np.abs(true_log) >= EQUAL
    wrong = clear & (~effect | (np.sign(true_log) != np.sign(rows.mean)))
    null = not effect.any()
    return Score(
        tables=1,
        null_tables=int(null),
        null_tables_with_winner=int(null and bool(clear.any())),
        winners=int(clear.sum()),
        false_winners=int(wrong.sum()),
        ties=int(tie.sum()),
        false_ties=int((tie & (np.abs(true_log) >= rule.threshold_log(judged.grid.metric) * 0.999)).sum()),
        effects=int(effect.sum()),
        found=int((clear & ~wrong).sum()),
    )


def binomial_upper(count: int, of: int, level: float = 0.95) -> float:
    """Upper confidence bound of a share (Clopper & Pearson 1934), to say how sure a measured share is."""
    from scipy.stats import beta

    return 1.0 if count >= of else float(beta.ppf(level, count + 1, of - count)) if of else math.nan
