"""Racing: which setting is best, with a third of the trials that trying everything would take.

When only the best is asked for, it is wasteful to learn exactly how bad the bad ones are. After every repetition the candidates
are ranked by their mean so far and the worst are left out; the freed trials go to those that are close to each other.

        trials per repetition:   k   0.63 k   0.40 k   0.25 k   …        in all: at most a third of k × repetitions_max

What this costs is bounded by what it confuses: a good candidate falls out early only if others were about as good within the
noise. (Sequential halving: Karnin, Koren & Somekh 2013, "Almost optimal exploration in multi-armed bandits".)

Being left out is no verdict: a dropped candidate is not shown to be worse. Verdicts come from `decision`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seekwise.judge.grid import fit, grids
from seekwise.judge.observation import Observation
from seekwise.judge.rule import more_is_better

Array = NDArray[np.float64]

NOISE_FLOOR_LOG = 1e-4
TRIALS_SHARE_MAX = 1 / 3
REGRET_SHARE = 0.02
"""Candidates within 2 % of each other need no further race."""


@lru_cache(maxsize=256)
def schedule(candidates: int, repetitions_max: int, share_max: float = TRIALS_SHARE_MAX) -> tuple[int, ...]:
    """How many candidates run in each repetition: falling geometrically, in all at most `share_max` of the full factorial."""
    budget = math.floor(candidates * repetitions_max * share_max + 1e-9)
    best: tuple[int, ...] = (candidates,)
    for ratio in np.arange(0.30, 1.0, 0.005):
        plan: list[int] = []
        for repetition in range(repetitions_max):
            running = max(1, round(candidates * ratio**repetition))
            if running == 1 and repetition:
                break
            plan.append(running)
        if sum(plan) <= budget and sum(plan) >= sum(best):
            best = tuple(plan)
    return best


@dataclass(frozen=True)
class Race:
    """State of a race over one group of combinations by one metric."""

    order: tuple[str, ...]
    """Best mean first; those still running before those left out."""
    running: tuple[str, ...]
    """Who takes part in the next repetition; empty when the race is over."""
    dropped: tuple[str, ...]
    leader: str
    trials: int
    """Repetitions run so far, summed over candidates (each repetition of a candidate is one trial per combination)."""
    over: bool
    why: str


def race(
    observations: Sequence[Observation],
    *,
    repetitions_max: int = 8,
    share_max: float = TRIALS_SHARE_MAX,
    regret: float = REGRET_SHARE,
) -> Race:
    """Where a race stands. `observations`: one metric; several combinations count as one, by their geometric mean."""
    (grid,) = grids(observations)
    sign = 1.0 if more_is_better(grid.metric) else -1.0
    # A candidate's repetition counts when all combinations have it: mean over combinations. NaN otherwise.
    scores = sign * grid.log_values.mean(axis=0)
    return race_scores(scores, grid.settings, repetitions_max, share_max, regret)


def race_scores(
    scores: Array,
    names: Sequence[str],
    repetitions_max: int = 8,
    share_max: float = TRIALS_SHARE_MAX,
    regret: float = REGRET_SHARE,
) -> Race:
    """`scores[repetition, candidate]`, higher is better; NaN where a candidate did not run."""
    ran = ~np.isnan(scores)
    repetitions_of = ran.sum(axis=0)
    done = int(repetitions_of.max(initial=0))
    if done == 0:
        return Race(tuple(names), tuple(names), (), names[0], 0, False, "nothing has run")
    plan = schedule(len(names), repetitions_max, share_max)
    running = [i for i in range(len(names)) if repetitions_of[i] == done]
    # Means over the repetitions in which all that still run took part: common luck of a repetition cancels.
    mean = {i: float(np.mean(scores[ran[:, i], i])) for i in running}
    ranked = sorted(running, key=lambda i: -mean[i])
    gone = sorted(
        (i for i in range(len(names)) if i not in mean),
        key=lambda i: (-repetitions_of[i], -np.nanmean(scores[:, i])) if repetitions_of[i] else (0, 0.0),
    )
    keep_count = plan[done] if done < len(plan) else 1
    keep = ranked[:keep_count]
    over, why = keep_count <= 1 or len(keep) <= 1, "one candidate is left, or the trials are used up"
    if not over and _is_close(scores, keep, regret):
        over, why = True, f"all that still run are shown to be within {100 * regret:g} % of the leader"
    order = tuple(names[i] for i in ranked + gone)
    return Race(
        order=order,
        running=() if over else tuple(names[i] for i in keep),
        dropped=tuple(names[i] for i in ranked[len(keep) :] + gone),
        leader=names[ranked[0]],
        trials=int(ran.sum()),
        over=over,
        why=why if over else "",
    )


def _is_close(scores: Array, keep: Sequence[int], regret: float) -> bool:
    """Whether every one of these is shown to be at most `regret` from the leader, in either direction."""
    rows = scores[~np.isnan(scores[:, list(keep)]).any(axis=1)][:, list(keep)]
    errors, df = fit(rows)
    if df < 1 or len(rows) < 3:
        return False
    sd = math.sqrt(max(2 * float((errors**2).sum()) / df, NOISE_FLOOR_LOG**2))
    half = float(special.stdtrit(df, 0.975)) * sd / math.sqrt(len(rows))
    spread = float(rows.mean(axis=0).max() - rows.mean(axis=0).min())
    return spread + half < math.log1p(regret)
