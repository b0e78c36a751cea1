"""One setting from many judged uses.

Aim: a setting within the threshold of the best everywhere. Where uses disagree there is none, and the trade-off is the answer:
least worst loss for "anything may come", and for each group of uses the setting that serves its foreground best.

The setting in force stays unless another one is shown to lose less where the one in force loses most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.analysis.decision.verdicts import Judged, Standing, log_of_share


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
    """What to set. `basis`: safe (within the threshold everywhere), least-loss (uses disagree), kept (nothing better shown)."""

    setting: str
    changes: bool
    basis: str
    worst: Loss | None
    """Where the chosen setting loses most."""
    in_force_worst: Loss | None
    """Where the setting in force loses most."""
    gains: tuple[Loss, ...] = ()
    """Where the setting in force is shown to be worse than the chosen one, and by how much."""
    costs: tuple[Loss, ...] = ()
    """Where the chosen setting is shown to be worse than the one in force, and by how much."""


def _score(standing: Standing | None, judged: Judged, *, pessimistic: bool) -> float:
    """Loss in thresholds, on the log scale; infinite where nothing is known."""
    if standing is None or standing.loss is None:
        return math.inf
    loss = standing.loss
    if pessimistic:
        loss = standing.high if standing.high is not None else math.inf
    if not math.isfinite(loss):
        return math.inf
    loss = min(loss, 1 - 1e-12) if judged.more_is_better else loss
    return log_of_share(loss, judged.more_is_better) / log_of_share(judged.threshold, judged.more_is_better)


def worst_of(setting: str, judged: Sequence[Judged], *, pessimistic: bool = False) -> tuple[float, Loss | None]:
    """(score, loss) where this setting loses most."""
    best: tuple[float, Loss | None] = (-1.0, None)
    for each in judged:
        standing = each.of(setting)
        if standing is None or standing.loss is None:
            continue
        score = _score(standing, each, pessimistic=pessimistic)
        if score > best[0]:
            best = (score, Loss(each.use, each.title, each.metric, standing.loss, standing.high))
    return best


def choose(judged: Sequence[Judged], in_force: str, candidates: Sequence[str]) -> Choice | None:
    """The choice over these judged metrics; None when nothing was judged."""
    known = [name for name in candidates if any((s := each.of(name)) and s.loss is not None for each in judged)]
    if not judged or not known:
        return None
    safe = [name for name in known if all(_is_within(each.of(name)) for each in judged)]
    if in_force in safe:
        return _made(in_force, in_force, judged, "safe")
    by_bound = {name: worst_of(name, judged, pessimistic=True)[0] for name in known}
    by_estimate = {name: worst_of(name, judged)[0] for name in known}
    # Among equals the one whose other losses are smaller: the sum over all metrics tells.
    total = {name: sum(min(_score(each.of(name), each, pessimistic=False), 1e3) for each in judged) for name in known}
    if safe:
        pick = min(safe, key=lambda name: (by_bound[name], total[name], name))
        if in_force in known and not _shown_worse(in_force, pick, judged):
            return _made(in_force, in_force, judged, "kept")
        return _made(pick, in_force, judged, "safe")
    pick = min(known, key=lambda name: (by_estimate[name], total[name], name))
    if in_force in known and pick != in_force:
        shown = _shown_worse(in_force, pick, judged) and _least_worst_shown(pick, in_force, judged)
        if not shown:
            return _made(in_force, in_force, judged, "kept")
    return _made(pick, in_force, judged, "least-loss")


def _is_within(standing: Standing | None) -> bool:
    return standing is not None and standing.verdict in ("best", "within")


def _shown_worse(setting: str, other: str, judged: Sequence[Judged]) -> bool:
    """Whether `setting` is shown to be behind somewhere where `other` is not."""
    return any(
        (mine := each.of(setting)) is not None
        and mine.verdict == "worse"
        and (its := each.of(other)) is not None
        and its.loss is not None
        and mine.loss is not None
        and its.loss < mine.loss
        for each in judged
    )


def _least_worst_shown(pick: str, in_force: str, judged: Sequence[Judged]) -> bool:
    """Whether the greatest loss of the pick stays below what the setting in force is shown to lose at least."""
    pick_score, _ = worst_of(pick, judged, pessimistic=True)
    least = 0.0
    for each in judged:
        standing = each.of(in_force)
        if standing is not None and standing.verdict == "worse":
            low = min(standing.low, 1 - 1e-12) if each.more_is_better else standing.low
            least = max(
                least,
                log_of_share(low, each.more_is_better) / log_of_share(each.threshold, each.more_is_better),
            )
    # By less than a threshold nobody changes a machine.
    return pick_score < least - 1.0


def _made(setting: str, in_force: str, judged: Sequence[Judged], basis: str) -> Choice:
    gains, costs = [], []
    for each in judged:
        mine, other = each.of(setting), each.of(in_force)
        if mine is None or other is None or mine.loss is None or other.loss is None or setting == in_force:
            continue
        loss = Loss(each.use, each.title, each.metric, other.loss, other.high)
        if other.verdict == "worse" and other.loss > mine.loss:
            gains.append(loss)
        if mine.verdict == "worse" and mine.loss > other.loss:
            costs.append(Loss(each.use, each.title, each.metric, mine.loss, mine.high))
    return Choice(
        setting,
        setting != in_force,
        basis,
        worst_of(setting, judged)[1],
        worst_of(in_force, judged)[1],
        tuple(gains),
        tuple(costs),
    )
