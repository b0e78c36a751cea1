"""What is measured next, and when everything is decided.

First every use gets a stretch of its own; then time goes to the use in which it decides most. Candidates that are shown to be far
behind in everything that a use judges run there no more. A candidate's periods are as long as its carry-over and enough
operations need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from seekwise.analysis.decision.verdicts import Judged, log_of_share
from seekwise.run.live import carry
from seekwise.run.live.candidates import Candidate
from seekwise.study.uses import Use

PERIOD_FIRST_S = 0.75
COUNTED_S = 0.35
"""What is left of a period after its cut, where the operations are many. Seen here: rates of half-second periods scatter twice as
much as their tenths would tell, so what disturbs lasts about as long as a period, and more and shorter ones tell more."""
PERIOD_MOST_S = 6.0
OPERATIONS_MIN = 40
"""In the counted part of a period, of every job that is judged."""
ROUNDS_FIRST = 4
ROUNDS_MORE = 8
STRETCH_OVERHEAD_S = 1.6
"""Starting fio, its first I/O, ending it and reading its logs: measured 1.2 to 1.7 s on two cores."""
FIRST_PASS_SHARE = 0.8
FIT_SHARE = 0.62
"""Uses are chosen so that their first stretches fit into this share: what is left decides. Few uses answered beat many left open."""
HOPELESS_THRESHOLDS = 3.0


@dataclass
class UseState:
    """What is known about measuring one use."""

    use: Use
    candidates: tuple[str, ...]
    """Those that still run here."""
    lengths: dict[str, float] = field(default_factory=dict)
    cuts: dict[str, float] = field(default_factory=dict)
    rounds: int = 0
    stretches: int = 0
    failed: str | None = None
    decided: bool = False

    def length_s(self, candidate: str) -> float:
        return self.lengths.get(candidate, PERIOD_FIRST_S)

    def cut_s(self, candidate: Candidate) -> float:
        """Seconds at the start of its periods that do not count; one that has not run alone has its scheduler's."""
        kin = str(candidate.values.get("scheduler", ""))
        return self.cuts.get(candidate.label, self.cuts.get(kin, carry.CUT_LEAST_S))

    def round_s(self) -> float:
        return sum(self.length_s(name) for name in self.candidates)


def uses_that_fit(uses: Sequence[Use], candidates: int, seconds: float) -> tuple[list[Use], list[Use]]:
    """(uses measured, uses left out) in their order: each needs a stretch of a few rounds."""
    each_s = first_stretch_s(candidates)
    count = max(1, min(len(uses), int(FIT_SHARE * seconds / each_s)))
    if count == len(uses) - 1 and seconds / each_s >= len(uses):
        count = len(uses)
    return list(uses[:count]), list(uses[count:])


def first_stretch_s(candidates: int) -> float:
    return STRETCH_OVERHEAD_S + ROUNDS_FIRST * candidates * PERIOD_FIRST_S


def least_s(candidates: int) -> float:
    """The least measuring time that can decide anything."""
    return STRETCH_OVERHEAD_S + 3 * candidates * PERIOD_FIRST_S


def learn(state: UseState, profiles: dict[str, list[list[float]]], operations_per_s: dict[str, float]) -> None:
    """Cuts and lengths of periods from what a stretch showed.

    `profiles`: {candidate: values per bin of each of its periods}. `operations_per_s`: of the slowest judged job, by candidate.
    """
    for name, found in profiles.items():
        cut = carry.cut_s(found)
        longest = max((len(each) for each in found), default=0) * carry.BIN_S
        counted = COUNTED_S
        rate = operations_per_s.get(name, 0.0)
        if rate > 0:
            counted = max(counted, OPERATIONS_MIN / rate)
        length = cut + counted
        if carry.too_short(cut, longest):
            length = max(length, 2 * longest)
        state.cuts[name] = cut
        state.lengths[name] = min(PERIOD_MOST_S, max(length, carry.CUT_LEAST_S + COUNTED_S))


def drop_hopeless(state: UseState, judged: Sequence[Judged]) -> list[str]:
    """Candidates that are far behind by every judged metric of the use; at least two stay."""
    mine = [each for each in judged if each.use == state.use.name]
    gone = []
    for name in state.candidates:
        standings = [each.of(name) for each in mine]
        if mine and all(
            s is not None and s.verdict == "worse" and s.low > HOPELESS_THRESHOLDS * j.threshold
            for s, j in zip(standings, mine, strict=True)
        ):
            gone.append(name)
    gone = gone[: max(0, len(state.candidates) - 2)]
    state.candidates = tuple(name for name in state.candidates if name not in gone)
    return gone


def rounds_to_decide(each: Judged) -> int | None:
    """Further rounds that would decide the easiest open candidate, if its estimate is right; None when nothing is open."""
    limit = log_of_share(each.threshold, each.more_is_better)
    needs = []
    for standing in each.open:
        if standing.loss is None or standing.high is None or standing.rounds == 0:
            needs.append(3)
            continue
        loss = log_of_share(min(standing.loss, 0.999), each.more_is_better)
        high = log_of_share(min(standing.high, 0.999) if each.more_is_better else standing.high, each.more_is_better)
        half = max(high - loss, 1e-6)
        # Nearer than a third of the threshold to the border no time decides.
        gap = max(abs(limit - loss), limit / 3)
        needs.append(max(1, math.ceil(standing.rounds * ((half / gap) ** 2 - 1))))
    return min(needs) if needs else None


def seconds_to_decide(each: Judged, round_s: float) -> float | None:
    more = rounds_to_decide(each)
    return None if more is None else more * round_s


def next_use(states: Sequence[UseState], judged: Sequence[Judged], left_s: float) -> tuple[UseState, int] | None:
    """(use, rounds) for the next stretch; None when nothing is open or no time is left."""
    best: tuple[float, UseState, int] | None = None
    for state in states:
        if state.failed or state.decided:
            continue
        affordable = int((left_s - STRETCH_OVERHEAD_S) / state.round_s()) if state.candidates else 0
        if affordable < 1:
            continue
        mine = [each for each in judged if each.use == state.use.name and each.open]
        needs = [need for each in mine if (need := rounds_to_decide(each)) is not None]
        if not needs:
            continue
        rounds = min(affordable, max(2, min(ROUNDS_MORE, min(needs))))
        cost = STRETCH_OVERHEAD_S + rounds * state.round_s()
        # What is likely to be decided, for the time it takes; what needs far more than is left comes last.
        gain = sum(min(1.0, rounds / need) * len(each.open) for each, need in zip(mine, needs, strict=True))
        score = gain / cost
        if best is None or score > best[0]:
            best = (score, state, rounds)
    return None if best is None else best[1:]
