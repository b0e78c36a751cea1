"""The built-in calibration: what the rule promises, measured on studies whose truth is known.

Every line is a promise of `docs/engineering/verdicts-of-studies.md` with its bound. The seed is fixed: the same version prints the same
numbers. Nothing here is tuned per line; the rule has one set of numbers (`rule.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from seekwise.judge.decision.observed import entries_of
from seekwise.judge.decision.verdicts import judge
from seekwise.judge.families import benjamini_hochberg
from seekwise.judge.grid import ValueGrid
from seekwise.judge.observation import Verdict
from seekwise_proof.calibration import decisions, periods, units
from seekwise_proof.calibration.noise import NoiseDesign, Truth, mixture, study
from seekwise_proof.calibration.score import Score, binomial_upper, of_table

SEED = 20260101
STUDY_5_2 = NoiseDesign(
    combinations=60, settings=2, noise_median=0.03, spread="mild", effect_share=0.5, effect_min=0.03, effect_max=0.15
)
"""Half of 60 combinations without effect, the others 3 to 15 %, median noise 3 %."""


@dataclass(frozen=True)
class Check:
    """One promise."""

    HIDDEN: ClassVar = ("bound", "at_most")
    SHOWN: ClassVar = ("required", "met")

    name: str
    measured: float
    bound: float
    at_most: bool
    detail: str = ""

    @property
    def met(self) -> bool:
        """The bound itself still passes."""
        return self.measured <= self.bound if self.at_most else self.measured >= self.bound

    @property
    def text(self) -> str:
        """Name, measured share or ratio, and what is required, on one line."""
        sign = "≤" if self.at_most else "≥"
        return f"{self.name}: {self.measured:.4g} (required {sign} {self.bound:.4g}){'; ' + self.detail if self.detail else ''}"

    @property
    def required(self) -> dict[str, float]:
        """`at_most` or `at_least`, and the bound."""
        return {"at_most" if self.at_most else "at_least": self.bound}


def verdicts_of(table: ValueGrid, true: Truth, share: float = 1.0) -> list[tuple[Verdict, float]]:
    """Every verdict of one simulated table with its true ln a / b. `share`: of the error rate, for one look of several."""
    found = []
    for judged in judge(entries_of(table, share=share)):
        effect = true.log_effect[table.combinations.index(judged.use)]
        for verdict in judged.verdicts:
            a, b = (table.setting_index(name) for name in (verdict.setting_a, verdict.setting_b))
            found.append((verdict, float(effect[a] - effect[b])))
    return found


def judged_score(designs: Sequence[NoiseDesign], rng: np.random.Generator) -> Score:
    """All designs, one table each."""
    return sum((of_table(verdicts_of(*study(design, rng))) for design in designs), Score())


def null_tables(rng: np.random.Generator) -> tuple[Score, list[Check]]:
    """Tables without any true difference, of every kind of noise; then the kind at which borrowed variance is weakest."""
    total = judged_score(mixture(1200, rng), rng)
    upper = binomial_upper(total.null_tables_with_winner, total.null_tables)
    hard = judged_score([NoiseDesign(combinations=60, repetitions=3, spread="strong")] * 500, rng)
    return total + hard, [
        Check(
            "null tables with a winner, all kinds of noise",
            total.null_tables_with_winner_share,
            0.05,
            True,
            f"95 % bound {upper:.3f}",
        ),
        Check(
            "null tables with a winner, 60 uneven combinations at 3 repetitions",
            hard.null_tables_with_winner_share,
            0.05,
            True,
        ),
    ]


def mixed_tables(rng: np.random.Generator) -> tuple[Score, list[Check]]:
    """Tables in which half of the combinations differ by up to 15 %, of every kind of noise."""
    total = judged_score(mixture(800, rng, effect_share=0.5, effect_min=0.0, effect_max=0.15), rng)
    return total, [
        Check(
            "false winners in mixed tables",
            total.false_winners_share,
            0.05,
            True,
            f"{total.false_winners} of {total.winners}",
        ),
        Check("false ties", total.false_ties_share, 0.01, True, f"{total.false_ties} of {total.ties}"),
    ]


def power(rng: np.random.Generator, tables: int = 150) -> tuple[Score, list[Check]]:
    """What is found in the mixed study, beside a Welch test per combination with the same correction over the table."""
    ours: dict[int, Score] = {}
    welch: dict[int, float] = {}
    for repetitions in (3, 5, 8):
        design = replace(STUDY_5_2, repetitions=repetitions)
        ours[repetitions] = Score()
        found = 0
        for _ in range(tables):
            table, true = study(design, rng)
            ours[repetitions] += of_table(verdicts_of(table, true))
            found += _welch_found(table, true.log_effect)
        welch[repetitions] = found / ours[repetitions].effects
    gain = ours[3].found_share / max(welch[3], 1e-9)
    detail = f"{100 * ours[3].found_share:.1f} % against {100 * welch[3]:.1f} %"
    return ours[3] + ours[5] + ours[8], [
        Check("found at 3 repetitions, relative to a Welch test per combination", gain, 4.0, False, detail),
        Check("found at 5 repetitions", ours[5].found_share, 0.75, False, f"Welch {100 * welch[5]:.1f} %"),
        Check("found at 8 repetitions", ours[8].found_share, 0.75, False, f"Welch {100 * welch[8]:.1f} %"),
        Check("false winners in the mixed study", max(s.false_winners_share for s in ours.values()), 0.05, True),
    ]


def _welch_found(table: ValueGrid, log_effect: np.ndarray) -> int:
    # Half a second to load, which only this line needs.
    from scipy.stats import ttest_ind

    a, b = table.log_values[:, :, 0], table.log_values[:, :, 1]
    q = benjamini_hochberg(ttest_ind(a, b, axis=1, equal_var=False).pvalue)
    effect = log_effect[:, 0] - log_effect[:, 1]
    right = (np.sign(a.mean(axis=1) - b.mean(axis=1)) == np.sign(effect)) & (effect != 0)
    return int(((q <= 0.05) & right).sum())


def coverage(rng: np.random.Generator) -> tuple[Score, list[Check]]:
    """How often the 95 % interval holds the true ratio."""
    inside = count = 0
    for design in mixture(300, rng, effect_share=0.5, effect_min=0.0):
        table, true = study(design, rng)
        for verdict, value in verdicts_of(table, true):
            inside += verdict.ratio_low <= math.exp(value) <= verdict.ratio_high
            count += 1
    return Score(), [Check("95 % intervals that hold the true ratio", inside / count, 0.94, False)]


def live_switching(rng: np.random.Generator, tables: int = 25) -> tuple[Score, list[Check]]:
    """Runs of periods with noise that remembers: tables without and with differences (`calibration.periods`)."""
    none, some = periods.designs(), periods.designs(effects=(0.0, 0.0, -0.03, -0.2))
    empty, full = (sum((periods.score(d, tables, rng) for d in each), periods.PeriodScore()) for each in (none, some))
    both = empty + full
    few = [study(replace(STUDY_5_2, repetitions=5), rng) for _ in range(tables)]
    upper = binomial_upper(empty.pairs.null_tables_with_winner, empty.pairs.null_tables)
    return both.pairs, [
        Check(
            "live switching: null tables with a winner, all kinds of noise",
            empty.pairs.null_tables_with_winner_share,
            0.05,
            True,
            f"95 % bound {upper:.3f}",
        ),
        Check(
            "live switching: false winners in mixed tables",
            full.pairs.false_winners_share,
            0.05,
            True,
            f"{full.pairs.false_winners} of {full.pairs.winners}",
        ),
        Check(
            "live switching: statements on losses that the truth contradicts",
            both.false_statements / both.statements,
            0.05,
            True,
            f"of {both.statements}",
        ),
        Check("live switching: found at 5 rounds", periods.found_share(few), 0.70, False),
        Check("live switching: false ties", full.pairs.false_ties_share, 0.01, True, f"of {full.pairs.ties}"),
    ]


def programs(rng: np.random.Generator, runs: int = 24) -> tuple[Score, list[Check]]:
    """Runs of programs whose slow units come in swings and bursts (`calibration.units`)."""
    equal = units.over((0.0, 0.0, 0.0), runs, rng)
    unequal = units.over((0.0, math.log(1.15), math.log(1.5)), runs // 2, rng)
    both = equal + unequal
    return Score(), [
        Check(
            "programs: runs without any difference in which a setting is called worse, slow units in swings and bursts",
            equal.runs_with_worse / equal.runs,
            0.05,
            True,
            f"95 % bound {binomial_upper(equal.runs_with_worse, equal.runs):.3f}",
        ),
        Check(
            "programs: statements on losses that the truth contradicts",
            both.false_statements / both.statements,
            0.05,
            True,
            f"of {both.statements}; {100 * unequal.found / unequal.effects:.0f} % of true losses of 15 and 50 % shown",
        ),
    ]


def repeated_runs(rng: np.random.Generator, runs: int = 20, machines: int = 40) -> tuple[Score, list[Check]]:
    """The same run again and again: how often it decides otherwise than usual, and what it advises."""
    short = [each for each in decisions.known() if each.name.endswith(f", {decisions.SHORT}")]
    usual, drawn = decisions.over(short, runs, rng), decisions.over(decisions.drawn(machines, rng), runs // 2, rng)
    total = usual + drawn
    return Score(), [
        Check(
            "live switching: runs of 2 minutes that decide otherwise than usual, five known machines",
            usual.flip_share,
            0.03,
            True,
            f"{usual.flips} of {usual.runs}",
        ),
        Check(
            "live switching: the same for everything, machines drawn at random",
            drawn.everything_flip_share,
            0.05,
            True,
            f"{drawn.everything_flips} of {drawn.runs}",
        ),
        Check(
            "live switching: the same for everything or a purpose, machines drawn at random",
            drawn.flip_share,
            0.12,
            True,
            f"{drawn.flips} of {drawn.runs}; {100 * drawn.changes / drawn.runs:.0f} % advise a change",
        ),
        Check(
            "live switching: settings advised that lose more in most uses than they gain in one",
            total.harmful_share,
            0.01,
            True,
            f"{total.harmful} of {total.advised}",
        ),
    ]


PARTS: dict[int, Callable[[np.random.Generator], tuple[Score, list[Check]]]] = {
    0: null_tables,
    1: mixed_tables,
    2: power,
    4: coverage,
    6: live_switching,
    7: repeated_runs,
    8: programs,
}
"""By the number of their random sequence, which stays when a part goes."""


def calibrate(seed: int = SEED) -> tuple[Score, list[Check]]:
    """Everything; the score adds up the tables that were judged once."""
    total, checks = Score(), []
    for i, part in PARTS.items():
        counted, made = part(np.random.default_rng([seed, i]))
        total += counted
        checks.extend(made)
    return total, checks
