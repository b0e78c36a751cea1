"""`judge`: observations in, verdicts out. The one rule for runs, tables in files, comparisons and calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seekwise.analysis.contrasts import Contrasts, Grid, contrasts, grids
from seekwise.analysis.decide import CLEAR, WORDS, Decision, Tested, decide, family_q, test
from seekwise.analysis.model import Observation, Verdict
from seekwise.analysis.rule import CONTROL_SUFFIX, RULE, Rule, more_is_better

Array = NDArray[np.float64]


def judge(
    observations: Sequence[Observation],
    *,
    rule: Rule = RULE,
    alpha: float = 0.05,
    control: tuple[str, str] | None = None,
    sequential: bool = False,
    unsteady: Mapping[tuple[str, str], str] | None = None,
) -> list[Verdict]:
    """Every pair of settings in every cell by every metric.

    `alpha` is what is promised: the share of false winners, and of tables without any difference that show a winner.
    `sequential`: the run could have stopped at an earlier look (`--until decided`), so each look spends less of it.
    `unsteady`: {(cell, setting): reason} of what did not reach steady state (`steady.py`); it is measured, but never wins.
    `control` names the two labels of an A/A pair; by default any setting `X (control)` beside `X` is one. The second label
    is only used to measure the noise: it takes part in no comparison (see `control.py` for its own verdicts).
    """
    level = nominal_level(rule, alpha, sequential=sequential)
    tables: dict[str, list[Grid]] = {}
    for grid in grids(observations):
        tables.setdefault(grid.table, []).append(grid)
    found = [
        verdict
        for members in tables.values()
        for judged in judge_table(members, level, rule, control)
        for verdict in verdicts(judged, rule)
    ]
    return [_without_unsteady(v, unsteady) for v in found] if unsteady else found


def _without_unsteady(v: Verdict, unsteady: Mapping[tuple[str, str], str]) -> Verdict:
    """A setting that was not steady neither wins nor ties; it may lose."""
    reasons = {name: unsteady[v.cell, name] for name in (v.setting_a, v.setting_b) if (v.cell, name) in unsteady}
    loses = v.winner is not None and v.winner not in reasons
    if not reasons or loses or v.word == "undecided":
        return v
    text = ", ".join(f"{name}: {reason}" for name, reason in reasons.items())
    reason = f"never wins, because not steady ({text})"
    return replace(v, winner=None, word="undecided", blocks_more=1, reason=reason, unsteady=tuple(reasons))


@dataclass(frozen=True)
class Judged:
    """One metric of one table, judged; rows of `contrasts`, `tested` and `decision` belong together."""

    grid: Grid
    contrasts: Contrasts
    tested: Tested
    decision: Decision
    level: float
    noise_threshold: float
    """Twice the A/A noise on the log scale; 0 without a control."""


def judge_table(
    members: Sequence[Grid], level: float, rule: Rule = RULE, control: tuple[str, str] | None = None
) -> list[Judged]:
    """All metrics of one table together: they share one error rate."""
    prepared = []
    for grid in members:
        pairs = control_pairs(grid.settings, control)
        rows = contrasts(grid, leave_out=frozenset(second for _, second in pairs))
        tested = test(rows.mean, rows.s_squared, rows.blocks, rows.cell, rule, rows.cell_s_squared, rows.cell_df)
        prepared.append((grid, rows, tested, rule.control_noise_factor * control_noise(grid, pairs)))
    q_values = family_q([tested.p for _, _, tested, _ in prepared], level)
    return [
        Judged(grid, rows, tested, decide(tested, q, rule.threshold_log(grid.metric), noise, level, rule), level, noise)
        for (grid, rows, tested, noise), q in zip(prepared, q_values, strict=True)
    ]


def nominal_level(rule: Rule, alpha: float, *, sequential: bool) -> float:
    """The level at which q is compared, for a promised level alpha (the rule's numbers stand for 0.05)."""
    return (rule.level_per_look if sequential else rule.level) * alpha / 0.05


def control_pairs(settings: Sequence[str], control: tuple[str, str] | None) -> list[tuple[str, str]]:
    """A/A pairs among these settings."""
    if control is not None:
        return [control] if control[0] in settings and control[1] in settings else []
    return [(name, name + CONTROL_SUFFIX) for name in settings if name + CONTROL_SUFFIX in settings]


def control_noise(grid: Grid, pairs: Sequence[tuple[str, str]]) -> float:
    """A/A noise: standard deviation, about its true value zero, of the difference of means between a control's two labels."""
    squares: list[float] = []
    for first, second in pairs:
        a, b = grid.setting_index(first), grid.setting_index(second)
        difference = grid.log_values[:, :, a] - grid.log_values[:, :, b]
        for row in difference:
            present = row[~np.isnan(row)]
            if len(present):
                squares.append(float(present.mean()) ** 2)
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0


def verdicts(judged: Judged, rule: Rule = RULE) -> list[Verdict]:
    """In words and names."""
    grid, rows, tested, decision = judged.grid, judged.contrasts, judged.tested, judged.decision
    level, noise_threshold = judged.level, judged.noise_threshold
    high_wins = more_is_better(grid.metric)
    threshold = rule.threshold_log(grid.metric)
    made = []
    for i in range(len(rows.cell)):
        cell, a, b = int(rows.cell[i]), int(rows.setting_a[i]), int(rows.setting_b[i])
        word = WORDS[decision.word[i]]
        mean, low, high = float(rows.mean[i]), float(decision.low[i]), float(decision.high[i])
        winner = None
        if decision.word[i] == CLEAR:
            winner = grid.settings[a if (mean > 0) == high_wins else b]
        more = int(decision.blocks_more[i])
        blocks = int(rows.blocks[i])
        if word == "undecided" and more < 0:
            more = max(rule.blocks_min - blocks, 1)
        q = float(decision.q[i])
        made.append(
            Verdict(
                table=grid.table,
                cell=grid.cells[cell],
                metric=grid.metric,
                setting_a=grid.settings[a],
                setting_b=grid.settings[b],
                winner=winner,
                word=word,  # type: ignore[arg-type]
                ratio=math.exp(mean),
                ratio_low=math.exp(low),
                ratio_high=math.exp(high),
                q_value=None if math.isnan(q) else q,
                blocks=blocks,
                blocks_more=more if word == "undecided" else None,
                rule_version=rule.version,
                reason=_reason(grid, cell, a, b, blocks, word, mean, q, level, threshold, noise_threshold, rule),
                p_value=None if math.isnan(tested.p[i]) else float(tested.p[i]),
            )
        )
    return made


def _reason(
    grid: Grid,
    cell: int,
    a: int,
    b: int,
    blocks: int,
    word: str,
    mean: float,
    q: float,
    level: float,
    threshold: float,
    noise_threshold: float,
    rule: Rule,
) -> str:
    """One sentence without a period: why this word and not another."""
    lost = int(grid.unusable[cell, a] + grid.unusable[cell, b])
    without = f"; {lost} values without a logarithm (zero, negative or not a number) left out" if lost else ""
    percent = math.expm1(threshold) * 100
    if blocks < rule.blocks_min:
        return f"{blocks} repetitions with both settings; deciding needs at least {rule.blocks_min}{without}"
    if word == "clear":
        return f"difference shown (q {q:.2g}) and at least {math.expm1(max(threshold, noise_threshold)) * 100:.2g} %{without}"
    if word == "small":
        return f"difference shown (q {q:.2g}), the 95 % interval lies within ±{percent:.2g} %{without}"
    if word == "tie":
        return f"equality shown: the 95 % interval lies within ±{percent:.2g} %{without}"
    if q <= level and abs(mean) >= threshold:
        return f"difference shown, but below twice the A/A noise ({math.expm1(noise_threshold) * 100:.2g} %){without}"
    if q <= level:
        return f"difference shown, but not whether it reaches {percent:.2g} %{without}"
    return f"neither a difference (q {q:.2g}) nor equality within ±{percent:.2g} % shown{without}"
