"""One setting from many judged uses, and one for each purpose.

What is in force stays unless another setting takes its place by this rule. Every comparison is with the setting in force, from rounds
that both ran in; beyond ten times a use is starved, and a greater ratio weighs no more.

    either  1. over all uses it is better on average (geometric mean, each use once for each purpose that it serves), by 10 % at least,
               shown at 99.7 %; and
            2. it is shown to be worse in no more uses than it is shown to be better in; and
            3. its largest gain, at its lower bound, is greater than its largest loss, at its upper bound;
    or      4. it is nowhere worse by more than the threshold, which is shown, and in some use shown to be better by 20 %.

For a purpose that several uses serve, a setting takes the place only if it is shown to be better in two of them: one use is a
program, not a purpose. Who asks for that use by name gets its answer, and what takes the place for everything does so for a purpose.

A mean over uses scatters less from run to run than the most striking of many figures. Of several settings that pass, the first in the
order of comparison is taken unless a later one is clearly better on average, so that equal settings do not alternate from run to run.

Uses of the group `limits` decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from scipy import special

from seekwise.judge.decision.statistics import NOISE_FLOOR_LOG, Ahead
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged, log_of_share, share
from seekwise.judge.rule import ALPHA
from seekwise.workload.study.uses import LIMITS, Purpose

STARVED_FACTOR = 10.0
"""Beyond it a ratio has neither more digits nor more weight."""
CAP_LOG = math.log(STARVED_FACTOR)
GAIN_ALPHA = 0.003
"""Error rate of "is better" where it asks for a change, over all other settings together."""
WORTH_LOG = math.log1p(0.10)
"""The least mean gain that is worth a change."""
WORTH_ALONE_LOG = math.log1p(0.20)
"""The least gain in one use alone that is worth a change, where nothing is lost elsewhere."""
CLOSE_LOG = math.log1p(0.05)
"""Of several settings that take the place of the one in force, a later one is named only where its mean is better by 5 %."""
USES_OF_A_PURPOSE = 2

Basis = Literal["safe", "least-loss", "kept", "inconclusive"]


@dataclass(frozen=True)
class Loss:
    """Loss against the best setting of a use: 0.35 is a rate 35 % lower, or a latency 35 % longer."""

    HIDDEN: ClassVar = ("title",)

    use: str
    title: str
    metric: str
    share: float
    """Estimate."""
    high: float | None
    """Upper end of the 95 % interval."""


@dataclass(frozen=True)
class Choice:
    """What to set."""

    setting: str
    changes: bool
    """Whether it differs from what is in force."""
    basis: Basis
    """safe: within the threshold of the best everywhere; least-loss: gains more than it loses; kept: no other gains more than it loses;
    inconclusive: no difference is shown."""
    worst_loss: Loss | None
    """Where the chosen setting loses most against the best."""
    in_force_worst_loss: Loss | None
    """Where the setting in force loses most against the best."""
    gains: tuple[Loss, ...] = ()
    """Where the setting in force is shown to be worse than the chosen one, and by how much; the largest first."""
    costs: tuple[Loss, ...] = ()
    """Where the chosen setting is shown to be worse than the one in force, and by how much; the largest first."""


def capped(log_ratio: float) -> float:
    """A log ratio of which neither side weighs more than starvation."""
    return max(-CAP_LOG, min(CAP_LOG, log_ratio))


def is_better(judged: Judged, setting: str, other: str) -> bool:
    """Whether `setting` is shown to be better than `other`, by more than the threshold."""
    return is_worse(judged, other, setting)


def is_worse(judged: Judged, setting: str, other: str) -> bool:
    """Whether `setting` is shown to be worse than `other`, by more than the threshold.

    Its verdict has to say so too, as that is corrected for the number of statements.
    """
    standing, ahead = judged.of(setting), judged.ahead.get((setting, other))
    if standing is None or ahead is None or standing.verdict != "worse":
        return False
    return ahead.mean < -judged.limit_log and ahead.high(ALPHA) < 0


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
    """The largest loss, at its upper bound; 0 where every figure is shown to be within the threshold."""
    mean_log: float
    """Mean gain over the uses."""
    mean_low_log: float
    """Its lower bound at the error rate of a change."""
    alone_log: float
    """The largest gain in one figure that is shown at the error rate of a change."""

    @property
    def passes(self) -> bool:
        """At least 10 % on average, more gained than lost; or 20 % in one figure where nothing is lost."""
        worth = self.mean_log >= WORTH_LOG and self.mean_low_log > 0
        if worth and self.lost <= self.gained and self.gain_log > self.loss_log:
            return True
        return self.loss_log == 0 and self.alone_log >= WORTH_ALONE_LOG


def tally(judged: Sequence[Judged], setting: str, other: str) -> Tally:
    """Counts a use once for each purpose that it serves: lost where any of its figures is worse, gained where one is better."""
    gained = lost = 0
    gain_log = loss_log = alone_log = 0.0
    means: list[Ahead] = []
    level = GAIN_ALPHA / max(1, max((len(each.standings) for each in judged), default=2) - 1)
    parts = list(dict.fromkeys((each.use, each.purpose) for each in judged))
    for part in parts:
        mine = [each for each in judged if (each.use, each.purpose) == part]
        known = [(each, each.ahead[setting, other]) for each in mine if (setting, other) in each.ahead]
        worse = any(is_worse(each, setting, other) for each in mine)
        better = [ahead for each, ahead in known if is_better(each, setting, other) and not worse]
        lost += worse
        gained += bool(better)
        gain_log = max([gain_log, *(capped(ahead.low(ALPHA)) for ahead in better)])
        loss_log = max([loss_log, *(most_behind(each, setting, other) for each in mine)])
        alone_log = max([alone_log, *(a.mean for a in better if a.low_alone(level / len(judged)) > 0)])
        if known:
            means.append(_joined([ahead for _, ahead in known]))
    # A use in which the two cannot be compared adds no gain.
    mean_log = sum(each.mean for each in means) / max(1, len(parts))
    low = mean_log - _error_of_sum(means, level) / max(1, len(parts)) if means else 0.0
    return Tally(gained, lost, gain_log, loss_log, mean_log, low, alone_log)


def _joined(known: Sequence[Ahead]) -> Ahead:
    """One figure of a use from several that rise and fall together, the surer ones weighing more."""
    weights = [1 / max(each.se, NOISE_FLOOR_LOG) ** 2 for each in known]
    total = sum(weights)
    return Ahead(
        sum(w * capped(each.mean) for w, each in zip(weights, known, strict=True)) / total,
        sum(w * each.se for w, each in zip(weights, known, strict=True)) / total,
        min(each.df for each in known),
        min(each.rounds for each in known),
    )


def _error_of_sum(means: Sequence[Ahead], level: float) -> float:
    """t times the standard error of a sum of independent figures (Welch and Satterthwaite), nothing borrowed from other pairs."""
    variance = sum(each.se**2 for each in means)
    if variance <= 0:
        return 0.0
    df = variance**2 / sum(each.se**4 / max(1, each.rounds - 1) for each in means)
    return float(special.stdtrit(df, 1 - level)) * math.sqrt(variance)


def deciding(judged: Sequence[Judged]) -> list[Judged]:
    """Those that may decide: no limits."""
    return [each for each in judged if each.group != LIMITS]


def choose(
    judged: Sequence[Judged],
    in_force: str,
    candidates: Sequence[str],
    everything: Sequence[Judged] | None = None,
    *,
    taken: str | None = None,
) -> Choice | None:
    """The choice over these judged metrics; None when nothing was judged.

    `everything`: all that was judged. A change that loses more in most of it than it gains where it was asked for is not made.
    `taken`: for one of several purposes, what was chosen for everything.
    """
    limits, judged = judged, deciding(judged)
    if limits and not judged:
        return _made(in_force, in_force, limits, "kept")
    known = [name for name in candidates if any((s := each.of(name)) and s.loss is not None for each in judged)]
    if not judged or not known:
        return None
    others = [name for name in known if name != in_force]
    if in_force not in known:
        # Nothing is known of it, so nothing is weighed against it.
        return _made(in_force, in_force, judged, "inconclusive")
    uses_least = 1 if taken is None else min(USES_OF_A_PURPOSE, len({each.use for each in judged}))
    passing = [
        name for name in others
        if (found := tally(judged, name, in_force)).passes and (found.gained >= uses_least or name == taken) and not _is_dear(name, in_force, judged, deciding(everything or judged))
    ]  # fmt: skip
    if not passing:
        return _made(in_force, in_force, judged, _basis_of_keeping(in_force, judged))
    pick = passing[0]
    for name in passing[1:]:
        if tally(judged, name, pick).mean_log > CLOSE_LOG:
            pick = name
    safe = all(_is_within(each.of(pick)) for each in judged)
    return _made(pick, in_force, judged, "safe" if safe else "least-loss")


def by_purpose(judged: Sequence[Judged], in_force: str, candidates: Sequence[str]) -> dict[Purpose, Choice]:
    """The choice for each purpose that something was judged for."""
    found: dict[Purpose, Choice] = {}
    purposes: tuple[Purpose, ...] = ("responsive", "throughput")
    overall = choose(judged, in_force, candidates)
    taken = overall.setting if overall is not None else in_force
    for purpose in purposes:
        mine = [each for each in judged if each.purpose == purpose]
        choice = choose(mine, in_force, candidates, judged, taken=taken)
        if choice is not None:
            found[purpose] = choice
    return found


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


def _is_within(standing: CandidateVerdict | None) -> bool:
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
