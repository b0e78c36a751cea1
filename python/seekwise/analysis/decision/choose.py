"""One setting from many judged uses, and one for each purpose.

What is in force stays unless another setting takes its place by this rule:

    1. it is shown to be better in some use, by an amount that is worth a change (`worth_log`);
    2. it is shown to be worse in no more uses than it is shown to be better in;
    3. its largest gain, at its lower bound, outweighs its largest loss, at its upper bound, three times on the log scale (a factor of
       two outweighs a loss of a quarter, 1.26 times).

Beyond ten times a use is starved, and a greater ratio weighs no more. Every comparison is with the setting in force, from rounds that
both ran in. Of several settings that pass, the first in the order of comparison is taken unless a later one gains clearly more, so that
equal settings do not alternate from run to run.

Uses of the group `limits` decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from seekwise.analysis.decision.bounds import ALPHA
from seekwise.analysis.decision.verdicts import Judged, Standing, log_of_share, share
from seekwise.study.uses import LIMITS, Purpose

STARVED_FACTOR = 10.0
"""Beyond it a ratio has neither more digits nor more weight."""
CAP_LOG = math.log(STARVED_FACTOR)
GAIN_ALPHA = 0.01
"""Error rate of "is better" where it asks for a change, over all other settings together."""
WORTH_THRESHOLDS = 1.5
WORTH_LEAST = 0.10
"""A gain is worth a change from 1.5 thresholds on, and from 10 %: by default 10 % of a rate, 15 % of a time."""

OUTWEIGHS = 3.0
"""A change of equal weight would be taken back by the next run."""

CLOSE_LOG = math.log1p(0.05)
"""Of several settings that take the place of the one in force, a later one is named only where its largest gain is greater by 5 %."""

Basis = Literal["safe", "least-loss", "kept", "inconclusive"]


@dataclass(frozen=True)
class Loss:
    """One loss of one setting: where, how much, and at most how much (shares)."""

    use: str
    title: str
    metric: str
    share: float
    high: float | None


@dataclass(frozen=True)
class Choice:
    """What to set.

    `basis`: safe (within the threshold of the best everywhere), least-loss (gains more than it loses), kept (no other setting gains
    more than it loses), inconclusive (no difference is shown).
    """

    setting: str
    changes: bool
    basis: Basis
    worst: Loss | None
    """Where the chosen setting loses most against the best."""
    in_force_worst: Loss | None
    """Where the setting in force loses most against the best."""
    gains: tuple[Loss, ...] = ()
    """Where the setting in force is shown to be worse than the chosen one, and by how much; the largest first."""
    costs: tuple[Loss, ...] = ()
    """Where the chosen setting is shown to be worse than the one in force, and by how much; the largest first."""


def capped(log_ratio: float) -> float:
    """A log ratio of which neither side weighs more than starvation."""
    return max(-CAP_LOG, min(CAP_LOG, log_ratio))


def worth_log(judged: Judged) -> float:
    """The least gain that is worth a change, on the log scale."""
    return max(WORTH_THRESHOLDS * judged.limit_log, math.log1p(WORTH_LEAST))


def is_better(judged: Judged, setting: str, other: str, figures: int = 1) -> bool:
    """Whether `setting` is shown to be better than `other` by what is worth a change; `figures`: how many are asked so."""
    ahead = judged.ahead.get((setting, other))
    if ahead is None or ahead.mean < worth_log(judged):
        return False
    return ahead.low_alone(GAIN_ALPHA / max(1, len(judged.standings) - 1) / figures) > 0


def is_worse(judged: Judged, setting: str, other: str) -> bool:
    """Whether `setting` is shown to be worse than `other`, by more than the threshold."""
    ahead = judged.ahead.get((setting, other))
    return ahead is not None and ahead.mean < -judged.limit_log and ahead.high(ALPHA) < 0


def most_behind(judged: Judged, setting: str, other: str) -> float:
    """How far `setting` can be behind `other` on the log scale, capped; 0 where it is shown to be within the threshold."""
    ahead = judged.ahead.get((setting, other))
    if ahead is None:
        return CAP_LOG
    most = -ahead.low(ALPHA)
    return 0.0 if most <= judged.limit_log else capped(most)


@dataclass(frozen=True)
class Tally:
    """One setting against another over some judged uses."""

    gained: int
    lost: int
    gain_log: float
    """The largest gain, at its lower bound."""
    loss_log: float
    """The largest loss, at its upper bound."""

    @property
    def passes(self) -> bool:
        return self.gained > 0 and self.lost <= self.gained and self.gain_log > OUTWEIGHS * self.loss_log


def tally(judged: Sequence[Judged], setting: str, other: str) -> Tally:
    """Counts a use once for each purpose that it serves: lost where any of its figures is worse, gained where one is better."""
    gained = lost = 0
    gain_log = loss_log = 0.0
    for part in dict.fromkeys((each.use, each.purpose) for each in judged):
        mine = [each for each in judged if (each.use, each.purpose) == part]
        better = [each for each in mine if is_better(each, setting, other, len(judged))]
        worse = any(is_worse(each, setting, other) for each in mine)
        lost += worse
        gained += bool(better) and not worse
        gain_log = max([gain_log, *(capped(each.ahead[setting, other].low(ALPHA)) for each in better if not worse)])
        loss_log = max([loss_log, *(most_behind(each, setting, other) for each in mine)])
    return Tally(gained, lost, gain_log, loss_log)


def deciding(judged: Sequence[Judged]) -> list[Judged]:
    """Those that may decide: no limits."""
    return [each for each in judged if each.group != LIMITS]


def choose(
    judged: Sequence[Judged], in_force: str, candidates: Sequence[str], everything: Sequence[Judged] | None = None
) -> Choice | None:
    """The choice over these judged metrics; None when nothing was judged.

    `everything`: all that was judged. A change that loses more in most of it than it gains where it was asked for is not made.
    """
    judged = deciding(judged)
    known = [name for name in candidates if any((s := each.of(name)) and s.loss is not None for each in judged)]
    if not judged or not known:
        return None
    others = [name for name in known if name != in_force]
    if in_force not in known:
        # Nothing is known of it, so nothing is weighed against it.
        return _made(in_force, in_force, judged, "inconclusive")
    passing = [
        name for name in others
        if tally(judged, name, in_force).passes and not _is_dear(name, in_force, judged, deciding(everything or judged))
    ]  # fmt: skip
    if not passing:
        return _made(in_force, in_force, judged, _basis_of_keeping(in_force, judged))
    pick = passing[0]
    for name in passing[1:]:
        if _net(judged, name, pick) > CLOSE_LOG:
            pick = name
    safe = all(_is_within(each.of(pick)) for each in judged)
    return _made(pick, in_force, judged, "safe" if safe else "least-loss")


def by_purpose(judged: Sequence[Judged], in_force: str, candidates: Sequence[str]) -> dict[Purpose, Choice]:
    """The choice for each purpose that something was judged for."""
    found: dict[Purpose, Choice] = {}
    purposes: tuple[Purpose, ...] = ("responsive", "throughput")
    for purpose in purposes:
        choice = choose([each for each in judged if each.purpose == purpose], in_force, candidates, judged)
        if choice is not None:
            found[purpose] = choice
    return found


def _net(judged: Sequence[Judged], setting: str, other: str) -> float:
    """How much further `setting` is ahead of `other` than behind it, where most, by the estimates."""
    means = [capped(ahead.mean) for each in judged if (ahead := each.ahead.get((setting, other))) is not None]
    return max([0.0, *means]) - max([0.0, *(-mean for mean in means)])


def _is_dear(setting: str, in_force: str, judged: Sequence[Judged], everything: Sequence[Judged]) -> bool:
    """Whether it is shown to lose in most uses, and may lose more there than it surely gains where it gains most."""
    gain_log = tally(judged, setting, in_force).gain_log
    parts = dict.fromkeys((each.use, each.purpose) for each in everything)
    dear = {
        (each.use, each.purpose)
        for each in everything
        if is_worse(each, setting, in_force) and most_behind(each, setting, in_force) >= gain_log
    }
    return 2 * len(dear) > len(parts)


def _basis_of_keeping(in_force: str, judged: Sequence[Judged]) -> Basis:
    if all(_is_within(each.of(in_force)) for each in judged):
        return "safe"
    return "kept" if any(each.disagrees for each in judged) else "inconclusive"


def _is_within(standing: Standing | None) -> bool:
    return standing is not None and standing.verdict in ("best", "within")


def worst_of(setting: str, judged: Sequence[Judged]) -> tuple[float, Loss | None]:
    """(thresholds behind the best, loss) where this setting loses most; beyond starvation no loss is greater than another."""
    best: tuple[float, Loss | None] = (-1.0, None)
    for each in judged:
        standing = each.of(setting)
        if standing is None or standing.loss is None:
            continue
        loss = min(standing.loss, 1 - 1e-12) if each.more_is_better else standing.loss
        score = capped(log_of_share(loss, each.more_is_better)) / each.limit_log
        if score > best[0]:
            best = (score, Loss(each.use, each.title, each.metric, standing.loss, standing.high))
    return best


def behind(judged: Judged, setting: str, other: str) -> Loss | None:
    """By how much `setting` is behind `other`; None where it is not shown to be."""
    ahead = judged.ahead.get((setting, other))
    if ahead is None or not is_worse(judged, setting, other):
        return None
    size, most = share(-ahead.mean, judged.more_is_better), share(-ahead.low(ALPHA), judged.more_is_better)
    return Loss(judged.use, judged.title, judged.metric, size, most if math.isfinite(most) else None)


def _made(setting: str, in_force: str, judged: Sequence[Judged], basis: Basis) -> Choice:
    return Choice(
        setting,
        setting != in_force,
        basis,
        worst_of(setting, judged)[1],
        worst_of(in_force, judged)[1],
        _largest_first(judged, in_force, setting),
        _largest_first(judged, setting, in_force),
    )


def _largest_first(judged: Sequence[Judged], setting: str, other: str) -> tuple[Loss, ...]:
    found = [
        (capped(-each.ahead[setting, other].mean), loss)
        for each in judged
        if (loss := behind(each, setting, other)) is not None
    ]
    return tuple(loss for _, loss in sorted(found, key=lambda pair: -pair[0]))
