"""One pair of settings: its word, its interval, what more it would take, and one sentence why."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from scipy import special

from seekwise.judge.decision.statistics import Tested, together, whole_of
from seekwise.judge.decision.table import UseFigure
from seekwise.judge.observation import Verdict, Word
from seekwise.judge.rule import POWER_TARGET, REPETITIONS_MORE_MAX, ROUNDS_MIN, RULE_VERSION


@dataclass(frozen=True)
class ComparedPair:
    """One tested pair with what its table makes of it."""

    tested: Tested
    q: float
    """p corrected for all pairs of the table and for earlier looks; NaN below the least number of rounds."""
    level: float
    """At which q is compared."""
    alone: float
    """At which a statement is tested that needs no correction."""
    half: float
    """From the estimate to a bound at this level."""
    half_of_many: float
    """The same at this level shared out among all other settings."""
    half_shown: float
    """Half of the interval that is shown."""

    @property
    def is_shown(self) -> bool:
        """Whether the two are shown to differ."""
        return self.q <= self.level


def verdict_of(
    entry: UseFigure, a: str, b: str, row: ComparedPair | None, limit: float, starved: Collection[str]
) -> Verdict:
    """a against b. `limit`: the threshold on the log scale; a setting cannot win by the latency of a job that it starves."""
    word = _word(row, limit, entry.conditions.noise_log)
    rounds, mean = _seen(entry, a, b, row)
    winner = None
    if row is not None and word == "clear":
        winner = b if mean > 0 else a
    sign = -1.0 if entry.more_is_better else 1.0
    low, high = _interval(row, mean)
    found = Verdict(
        table=entry.table,
        combination=entry.use,
        metric=entry.metric,
        setting_a=a,
        setting_b=b,
        winner=winner,
        word=word,
        ratio=math.exp(sign * mean),
        ratio_low=math.exp(min(sign * low, sign * high)),
        ratio_high=math.exp(max(sign * low, sign * high)),
        q_value=None if row is None or math.isnan(row.q) else row.q,
        repetitions=rounds,
        repetitions_more=_more(row, rounds, limit, entry.conditions.noise_log) if word == "undecided" else None,
        rule_version=RULE_VERSION,
        reason=_reason(entry, a, b, row, rounds, word, limit),
        p_value=None if row is None or not row.tested.decides else row.tested.p,
    )
    if winner in starved:
        return _open(found, f"{winner} gets so little done that its latency is no reference", ())
    return _without_unsteady(entry, found)


def _word(row: ComparedPair | None, limit: float, noise: float) -> Word:
    if row is None or not row.tested.decides:
        return "undecided"
    ahead = row.tested.ahead
    if abs(ahead.mean) + row.half < limit:
        return "small" if row.is_shown else "tie"
    return "clear" if row.is_shown and abs(ahead.mean) >= noise else "undecided"


def _seen(entry: UseFigure, a: str, b: str, row: ComparedPair | None) -> tuple[int, float]:
    """(rounds with both, how much better b is); NaN without any."""
    if row is not None:
        return row.tested.ahead.rounds, row.tested.ahead.mean
    of_a, of_b = together(entry.figures.rounds(a), entry.figures.rounds(b))
    if not of_a:
        return 0, math.nan
    sign = 1.0 if entry.more_is_better else -1.0
    return len(of_a), sign * (whole_of(entry.figures, b, of_b) - whole_of(entry.figures, a, of_a))


def _interval(row: ComparedPair | None, mean: float) -> tuple[float, float]:
    """Of the log ratio; NaN where nothing is known of the noise."""
    if row is None:
        return math.nan, math.nan
    return mean - row.half_shown, mean + row.half_shown


def _more(row: ComparedPair | None, rounds: int, limit: float, noise: float) -> int:
    """Repetitions that would probably decide, if the estimate and its variance are right."""
    if row is None or not row.tested.decides:
        return max(ROUNDS_MIN - rounds, 1)
    effect, sd = abs(row.tested.ahead.mean), row.tested.sd
    power = float(special.ndtri(POWER_TARGET))
    # The table multiplies each p by what q / p says now: with more repetitions the same number of rivals remains.
    burden = max(row.q / row.tested.p, 1.0) if row.tested.p > 0 else 1.0
    needed = math.inf
    if effect > max(noise, 0.0):
        to_show = ((-float(special.ndtri(row.level / burden / 2)) + power) * sd / effect) ** 2
        needed = max(to_show, (power * sd / (effect - noise)) ** 2)
    if effect < limit:
        to_equal = ((-float(special.ndtri(row.alone)) + power) * sd / (limit - effect)) ** 2
        needed = min(needed, to_equal)
    if not math.isfinite(needed):
        return REPETITIONS_MORE_MAX
    # With few degrees of freedom the normal quantile flatters: one repetition more for each four needed below thirty.
    needed *= 1.25 if needed < 30 else 1.0
    return min(max(math.ceil(needed) - rounds, 1), REPETITIONS_MORE_MAX)


def _reason(entry: UseFigure, a: str, b: str, row: ComparedPair | None, rounds: int, word: Word, limit: float) -> str:
    """One sentence without a period: why this word and not another."""
    lost = entry.conditions.unusable.get(a, 0) + entry.conditions.unusable.get(b, 0)
    without = f"; {lost} values without a logarithm (zero, negative or not a number) left out" if lost else ""
    percent = f"±{math.expm1(limit) * 100:.2g} %"
    if row is None or not row.tested.decides:
        return f"{rounds} repetitions with both settings; deciding needs at least {ROUNDS_MIN}{without}"
    if entry.conditions.exact and rounds < ROUNDS_MIN:
        apart = "beyond" if word == "clear" else "within"
        return f"simulated without chance: the numbers differ {apart} {percent}, which needs no statistics{without}"
    shown = f"difference shown (q {row.q:.2g})"
    if word == "clear":
        return f"{shown}, and not shown to lie within {percent}{without}"
    if word == "small":
        return f"{shown}, and shown to lie within {percent}{without}"
    if word == "tie":
        return f"equality shown: the difference lies within {percent}{without}"
    if row.is_shown:
        return f"difference shown, but below twice the A/A noise ({math.expm1(entry.conditions.noise_log) * 100:.2g} %){without}"
    return f"neither a difference (q {row.q:.2g}) nor equality within {percent} shown{without}"


def _without_unsteady(entry: UseFigure, found: Verdict) -> Verdict:
    """A setting that was not steady neither wins nor ties; it may lose."""
    reasons = {
        name: entry.conditions.unsteady[name]
        for name in (found.setting_a, found.setting_b)
        if name in entry.conditions.unsteady
    }
    loses = found.winner is not None and found.winner not in reasons
    if not reasons or loses or found.word == "undecided":
        return found
    text = ", ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return _open(found, f"never wins, because not steady ({text})", tuple(reasons))


def _open(found: Verdict, reason: str, unsteady: tuple[str, ...]) -> Verdict:
    return replace(found, winner=None, word="undecided", repetitions_more=1, reason=reason, unsteady=unsteady)
