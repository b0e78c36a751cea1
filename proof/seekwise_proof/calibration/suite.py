"""The built-in calibration: what the judge promises, measured on studies and runs whose truth is known.

Every line is a promise of `proof/docs/verdicts-of-studies.md` with its bound. The seed is fixed: the same version
prints the same numbers. Nothing here is tuned per line; the rule has one set of numbers (`judge/rule.py`,
`judge/decision/choose.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from seekwise.judge.decision.observed import entries_of
from seekwise.judge.decision.pairs import Pair, pairs
from seekwise.judge.decision.verdicts import judge
from seekwise.judge.grid import ValueGrid
from seekwise_proof.calibration import decisions, former_rule, periods, permuted, units
from seekwise_proof.calibration.decisions import RunScore
from seekwise_proof.calibration.noise import NoiseDesign, Truth, mixture, study
from seekwise_proof.calibration.score import Score, binomial_upper, of_table, share

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


def verdicts_of(table: ValueGrid, true: Truth) -> list[tuple[Pair, float]]:
    """Every verdict of one simulated table with its true ln a / b."""
    verdicts = []
    for pair in pairs(judge(entries_of(table))):
        effect = true.log_effect[table.combinations.index(pair.figure.use)]
        a, b = (table.setting_index(name) for name in pair.settings)
        verdicts.append((pair, float(effect[a] - effect[b])))
    return verdicts


def judged_score(designs: Sequence[NoiseDesign], rng: np.random.Generator) -> Score:
    """All designs, one table each."""
    return sum((of_table(verdicts_of(*study(design, rng))) for design in designs), Score())


def null_tables(rng: np.random.Generator) -> tuple[Score, list[Check]]:
    """Tables without any true difference, of every kind of noise."""
    total = judged_score(mixture(120, rng), rng)
    upper = binomial_upper(total.null_tables_with_winner, total.null_tables)
    return total, [
        Check(
            "tables of a study without any difference in which a winner is named, all kinds of noise",
            total.null_tables_with_winner_share,
            0.08,
            True,
            f"95 % bound {upper:.3f}; before: {former_rule.NULL_TABLES:.3f}",
        ),
    ]


def mixed_tables(rng: np.random.Generator) -> tuple[Score, list[Check]]:
    """Tables in which half of the combinations differ by up to 15 %, of every kind of noise."""
    total = judged_score(mixture(120, rng, effect_share=0.5, effect_min=0.0, effect_max=0.15), rng)
    return total, [
        Check(
            "false winners in mixed tables",
            total.false_winners_share,
            0.05,
            True,
            f"{total.false_winners} of {total.winners}",
        ),
        Check("false ties in mixed tables", total.false_ties_share, 0.07, True, f"{total.false_ties} of {total.ties}"),
    ]


def power(rng: np.random.Generator, tables: int = 24) -> tuple[Score, list[Check]]:
    """What is found in the mixed study at three, five and eight repetitions."""
    ours = {}
    for repetitions in (3, 5, 8):
        design = replace(STUDY_5_2, repetitions=repetitions)
        ours[repetitions] = sum((of_table(verdicts_of(*study(design, rng))) for _ in range(tables)), Score())
    ties = sum(counts.ties for counts in ours.values())
    return sum(ours.values(), Score()), [
        Check("differences of 3 to 15 % found at 3 repetitions", ours[3].found_share, 0.45, False),
        Check("the same at 5 repetitions", ours[5].found_share, 0.65, False, f"before: {former_rule.POWER_AT_5:.2f}"),
        Check("the same at 8 repetitions", ours[8].found_share, 0.70, False),
        Check("false winners in the mixed study", max(s.false_winners_share for s in ours.values()), 0.05, True),
        Check(
            "ties shown in the mixed study, per comparison",
            share(ties, 3 * tables * STUDY_5_2.combinations),
            0.30,
            False,
        ),
    ]


def coverage(rng: np.random.Generator) -> tuple[Score, list[Check]]:
    """How often the 90 % interval holds the true ratio."""
    inside = count = 0
    for design in mixture(60, rng, effect_share=0.5, effect_min=0.0):
        table, true = study(design, rng)
        for verdict, value in verdicts_of(table, true):
            _, low, high = verdict.interval(verdict.settings[0])
            inside += low <= math.exp(value) <= high
            count += 1
    return Score(), [Check("90 % intervals of studies that hold the true ratio", inside / count, 0.88, False)]


def live_switching(rng: np.random.Generator, tables: int = 20) -> tuple[Score, list[Check]]:
    """Runs of periods with noise that remembers: tables without and with differences (`calibration.periods`)."""
    none, some = periods.designs(), periods.designs(effects=(0.0, 0.0, -0.06, -0.2))
    empty, full = (sum((periods.score(d, tables, rng) for d in designs), Score()) for designs in (none, some))
    upper = binomial_upper(empty.null_tables_with_winner, empty.null_tables)
    steady = sum((periods.score(d, tables, rng) for d in some[:4]), Score())
    return empty + full, [
        Check(
            "tables of 36 pairs of periods without any difference in which a winner is named, all kinds of noise",
            empty.null_tables_with_winner_share,
            0.05,
            True,
            f"95 % bound {upper:.3f}; {empty.winners} of {6 * 6 * empty.null_tables} pairs",
        ),
        Check(
            "false winners in mixed tables of periods",
            full.false_winners_share,
            0.03,
            True,
            f"{full.false_winners} of {full.winners}",
        ),
        Check("differences of 6 and 20 % found in steady tables of periods", steady.found_share, 0.95, False),
        Check(
            "the same under bursts, neighbours, drift and carry-over too",
            full.found_share,
            0.70,
            False,
            f"before: {former_rule.PERIODS_POWER:.2f}",
        ),
        Check("false ties in mixed tables of periods", full.false_ties_share, 0.07, True, f"of {full.ties}"),
    ]


def permuted_runs(rng: np.random.Generator, runs: int = 20) -> tuple[Score, list[Check]]:
    """Recorded runs in which labels mean nothing (`calibration.permuted`)."""
    total = permuted.score(runs, rng)
    return Score(), [
        Check(
            "recorded runs with permuted labels: a change advised for what waits",
            share(total.changes, total.runs),
            0.05,
            True,
            f"{total.changes} of {total.runs}; for anything {total.any_changes}; before: {former_rule.PERMUTED:.2f}",
        ),
        Check(
            "the same: programs of a kind said to gain or to lose",
            share(total.claimed, total.foretold),
            0.05,
            True,
            f"{total.claimed} of {total.foretold}",
        ),
    ]


def programs(rng: np.random.Generator, runs: int = 10) -> tuple[Score, list[Check]]:
    """Runs of programs whose slow units come in swings and bursts (`calibration.units`)."""
    equal = units.over((0.0, 0.0, 0.0), runs, rng)
    unequal = units.over((0.0, math.log(1.15), math.log(1.5)), runs // 2, rng)
    both = equal + unequal
    return Score(), [
        Check(
            "programs whose slow units come in swings and bursts: differences named that are none",
            share(equal.named, equal.statements),
            0.03,
            True,
            f"{equal.named} of {equal.statements}",
        ),
        Check("programs: named, and wrong", share(both.false_named, both.named), 0.06, True, f"of {both.named}"),
        Check(
            "programs: true losses of 15 and 50 % named",
            share(unequal.found, unequal.effects),
            0.45,
            False,
            f"of {unequal.effects}",
        ),
    ]


SCATTERS: tuple[decisions.Scatter, ...] = ("even", "bursts", "swings", "drift", "autocorrelated", "starved")


def repeated_runs(rng: np.random.Generator, runs: int = 10, machines: int = 36) -> tuple[Score, list[Check]]:
    """The same run again and again, on machines of every kind: what its statements, probabilities and advice are
    worth."""
    short = [scenario for scenario in decisions.known() if scenario.name.endswith(f", {decisions.SHORT}")]
    usual = decisions.over(short, runs, rng)
    drawn = decisions.over(decisions.drawn(machines, rng, SCATTERS), runs // 2, rng)
    total: RunScore = usual + drawn
    vetoed = sum(
        bool(decisions.run(scenario, rng, unsteady_log=-0.3).unsteady) for scenario in decisions.drawn(20, rng)
    )
    regret = total.regret_mean
    return Score(), [
        Check(
            "runs: named differences that are wrong",
            share(total.false_named, total.named),
            0.03,
            True,
            f"{total.false_named} of {total.named}",
        ),
        Check(
            "runs: alike within a bound, and wrong",
            share(total.false_same, total.same),
            0.10,
            True,
            f"{total.false_same} of {total.same}",
        ),
        Check(
            "runs: stated probabilities, by how much less often true in the worst bin",
            total.largest_miscalibration,
            0.06,
            True,
            total.calibration_text,
        ),
        Check("runs: 90 % intervals that hold the truth", share(total.intervals_true, total.statements), 0.87, False),
        Check(
            "runs: comparisons with a useful statement",
            total.useful_share,
            0.60,
            False,
            f"before: {former_rule.USEFUL:.2f}",
        ),
        Check(
            "runs of two minutes on five known machines: useful statements",
            usual.useful_share,
            0.75,
            False,
            f"before: {former_rule.USEFUL_SHORT:.2f}",
        ),
        Check(
            "runs: what the answer for everything loses on average, ln",
            regret[0],
            0.02,
            True,
            f"before: {former_rule.REGRET[0]:.3f}",
        ),
        Check(
            "runs: the same for a purpose",
            float(max(regret[1:])),
            0.025,
            True,
            f"responsive {regret[1]:.3f}, throughput {regret[2]:.3f}; before: {former_rule.REGRET[1]:.3f}, {former_rule.REGRET[2]:.3f}",
        ),
        Check(
            "runs: advised settings that lose more in most uses than they gain in one",
            share(total.harmful, total.advised),
            0.01,
            True,
            f"{total.harmful} of {total.advised}",
        ),
        Check(
            "runs: another setting for everything than usual, machines drawn at random",
            share(drawn.everything_flips, drawn.runs),
            0.10,
            True,
        ),
        Check(
            "runs: another setting for anything than usual, machines drawn at random",
            share(drawn.flips, drawn.runs),
            0.18,
            True,
        ),
        Check(
            "A/A check: steady machines vetoed",
            share(total.vetoed, total.runs),
            0.02,
            True,
            f"{total.vetoed} of {total.runs}",
        ),
        Check(
            "A/A check: machines on which what is in force differs from itself by 30 % vetoed",
            share(vetoed, 20),
            0.95,
            False,
        ),
    ]


PARTS: tuple[Callable[[np.random.Generator], tuple[Score, list[Check]]], ...] = (
    null_tables,
    mixed_tables,
    power,
    coverage,
    live_switching,
    repeated_runs,
    programs,
    permuted_runs,
)


def calibrate(seed: int = SEED) -> tuple[Score, list[Check]]:
    """Everything; the score adds up the tables that were judged once."""
    total, checks = Score(), []
    for i, part in enumerate(PARTS):
        counted, made = part(np.random.default_rng([seed, i]))
        total += counted
        checks.extend(made)
    return total, checks
