"""The decision itself, on arrays: differences in, words out. Pure; no names, no storage, no records.

For each difference (mean over blocks, on the log scale) with its moderated variance:

- *clear*      shown to differ (q ≤ level) and estimated at the threshold or beyond: there is a winner
- *small*      shown to differ, and shown to differ by less than the threshold
- *tie*        not shown to differ, and shown to differ by less than the threshold (two one-sided tests)
- *undecided*  the rest, with the number of blocks that would probably end it

"Shown to differ by less than the threshold": the 95 % interval lies inside ± threshold. The threshold of a win is raised to
twice the A/A noise where a control says so; the threshold of equality never is: noise is no licence for a "=".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seekwise.analysis.families import two_stage
from seekwise.analysis.moderate import NO_PRIOR, Prior, fit_prior
from seekwise.analysis.rule import RULE, Rule

Array = NDArray[np.float64]

UNDECIDED, TIE, SMALL, CLEAR = 0, 1, 2, 3
WORDS = ("undecided", "tie", "small", "clear")

SD_FLOOR = 1e-4
"""No measured difference is known better than to 0.01 %, even if three runs gave the same number."""


@dataclass(frozen=True)
class Tested:
    """Differences with their moderated variance and p."""

    mean: Array
    blocks: NDArray[np.int64]
    variance: Array
    """Moderated variance of one block's difference."""
    df: Array
    p: Array
    """Two-sided; NaN where too few blocks were observed."""
    prior: Prior

    @property
    def standard_error(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(self.variance / self.blocks)

    def half_width(self, level: float) -> Array:
        """Half of the two-sided interval of the mean."""
        return t_quantile(0.5 + level / 2, self.df) * self.standard_error


def t_quantile(probability: float, df: Array) -> Array:
    """Student's quantile for each number of degrees of freedom; NaN where that is not known."""
    known = np.isfinite(df) & (df > 0)
    return np.where(known, special.stdtrit(np.where(known, df, 1.0), probability), np.nan)


def test(
    mean: Array,
    s_squared: Array,
    blocks: NDArray[np.int64],
    cell: NDArray[np.int64],
    rule: Rule = RULE,
    cell_s_squared: Array | None = None,
    cell_df: Array | None = None,
) -> Tested:
    """Moderated t of every row; the rows are one metric of one table, `cell` says which rows share a cell.

    With too few cells to borrow from, the other settings of the same cell (`cell_s_squared`) lend their degrees of freedom,
    but never a smaller variance than the pair's own: one noisy setting must not hide behind three quiet ones.
    """
    df = np.maximum(blocks - 1, 0).astype(float)
    enough = (blocks >= max(rule.blocks_min, 2)) & np.isfinite(mean) & np.isfinite(s_squared)
    s2 = np.where(enough, np.maximum(s_squared, 0.0), np.nan)
    prior = NO_PRIOR
    if len(np.unique(cell[enough])) >= rule.cells_for_pooling_min:
        prior = fit_prior(s2[enough], df[enough])
    elif cell_s_squared is not None and cell_df is not None:
        lends = enough & (cell_df > df)
        s2 = np.where(lends, np.maximum(s2, cell_s_squared), s2)
        df = np.where(lends, cell_df, df)
    s2 = np.maximum(s2, SD_FLOOR**2)
    variance = np.full(mean.shape, np.nan)
    posterior_df = np.full(mean.shape, np.nan)
    p = np.full(mean.shape, np.nan)
    # Two blocks have an interval (a wide one), but no vote.
    spread = (blocks >= 2) & np.isfinite(s_squared)
    s2 = np.where(spread & ~enough, np.maximum(s_squared, SD_FLOOR**2), s2)
    if spread.any():
        variance[spread], posterior_df[spread] = prior.squeeze(s2[spread], df[spread])
    if enough.any():
        p[enough] = prior.p(mean[enough], s2[enough], blocks[enough].astype(float), df[enough])
    return Tested(mean, blocks, variance, posterior_df, p, prior)


@dataclass(frozen=True)
class Decision:
    """One row per difference."""

    word: NDArray[np.int64]
    """Index into WORDS."""
    q: Array
    low: Array
    high: Array
    """95 % interval of the difference, log scale."""
    blocks_more: NDArray[np.int64]
    """0 where decided; −1 where nothing can be said."""


def decide(
    tested: Tested, q: Array, threshold: float | Array, threshold_win: float | Array, level: float, rule: Rule = RULE
) -> Decision:
    """Words for rows whose q values are known (a family may be larger than these rows)."""
    half = tested.half_width(rule.interval_level)
    low, high = tested.mean - half, tested.mean + half
    with np.errstate(invalid="ignore"):
        shown = q <= level
        inside = (np.maximum(np.abs(low), np.abs(high))) < threshold
        beyond = np.abs(tested.mean) >= np.maximum(threshold, threshold_win)
    word = np.select([shown & beyond, shown & inside, inside], [CLEAR, SMALL, TIE], UNDECIDED)
    word = np.where(np.isnan(tested.p), UNDECIDED, word)
    more = np.where(word == UNDECIDED, blocks_more(tested, q, threshold, threshold_win, level, rule), 0)
    return Decision(word, q, low, high, more)


def blocks_more(
    tested: Tested, q: Array, threshold: float | Array, threshold_win: float | Array, level: float, rule: Rule = RULE
) -> NDArray[np.int64]:
    """Blocks that would decide with the rule's power if the estimate and the variance are right; −1 if unknown."""
    win = np.maximum(threshold, threshold_win)
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = np.abs(tested.mean)
        # The table multiplies each p by what q / p says now: with more blocks the same number of rivals remains.
        burden = np.clip(np.where(tested.p > 0, q / tested.p, 1.0), 1.0, None)
        power = special.ndtri(rule.power_target)
        sd = np.sqrt(tested.variance)
        to_show = ((-special.ndtri(level / burden / 2) + power) * sd / effect) ** 2
        to_clear_win = np.where(effect > win, (power * sd / (effect - win)) ** 2, np.inf)
        to_equal = np.where(
            effect < threshold,
            ((special.ndtri(0.5 + rule.interval_level / 2) + power) * sd / (threshold - effect)) ** 2,
            np.inf,
        )
        needed = np.minimum(np.maximum(to_show, to_clear_win), to_equal)
    # With few degrees of freedom the normal quantile flatters: one block more for each four needed below thirty.
    needed = needed * (1 + np.where(needed < 30, 0.25, 0.0))
    known = np.isfinite(needed)
    more = np.ceil(np.where(known, needed, 0.0)) - tested.blocks
    more = np.clip(more, 1, rule.blocks_more_max)
    more = np.where(np.isinf(needed), rule.blocks_more_max, more)
    return np.where(np.isnan(needed), -1, more).astype(np.int64)


def family_q(p_of_metrics: list[Array], level: float) -> list[Array]:
    """q values over a whole table, all metrics together: a table without differences rarely shows even one winner."""
    if not p_of_metrics:
        return []
    joined = two_stage(np.concatenate(p_of_metrics), level)
    return list(np.split(joined, np.cumsum([len(p) for p in p_of_metrics])[:-1]))
