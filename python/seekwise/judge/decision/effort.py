"""How much more measuring an open verdict needs: rounds until it is decided, or bounded well."""

from __future__ import annotations

import math

from seekwise.judge.decision.verdicts import BOUND_FACTOR, Judged, log_of_share

WORSE_EFFORT = 0.7
"""A loss is shown against nothing at a stricter level than a tie within the threshold."""


def rounds_to_decide(each: Judged) -> int | None:
    """Further rounds that would decide the easiest open candidate, if its estimate is right; None when nothing is open."""
    return min((to_decide for to_decide, _ in needs(each)), default=None)


def needs(each: Judged) -> list[tuple[int, int]]:
    """Further rounds that would (decide, bound) each open candidate, if its estimate is right; 0 where it is bounded well."""
    limit = log_of_share(each.threshold, each.more_is_better)
    found = []
    for standing in each.open:
        if standing.loss is None or standing.high is None or standing.rounds == 0:
            found.append((3, 3))
            continue
        loss = log_of_share(min(standing.loss, 0.999), each.more_is_better)
        high = log_of_share(min(standing.high, 0.999) if each.more_is_better else standing.high, each.more_is_better)
        half = max(high - loss, 1e-6)
        # Shown to be within the threshold, or shown to be behind; halfway between the two no time decides.
        gap = max(limit - loss, WORSE_EFFORT * loss, limit / 3)
        room = max(BOUND_FACTOR * limit - loss, gap)
        # In rounds of the use: one with long periods runs in every tenth of them.
        found.append((max(1, further(each.rounds, half / gap)), further(each.rounds, half / room)))
    return found


def further(rounds: int, shrink: float) -> int:
    """Rounds beyond these until the interval is `shrink` times narrower."""
    return max(0, math.ceil(rounds * (shrink**2 - 1)))


def seconds_to_decide(each: Judged, round_s: float) -> float | None:
    """Measuring time until a use is decided, at `round_s` seconds a round; None where no time would do."""
    more = rounds_to_decide(each)
    return None if more is None else more * round_s
