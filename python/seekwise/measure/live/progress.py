"""What is measured next, and when everything is decided.

First every use gets a stretch of its own; then time goes to the use in which a second lowers the expected loss of its
comparisons most. A candidate's periods are as long as its carry-over and enough
operations need.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from seekwise import special
from seekwise.judge.decision import choose
from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.rule import P_BETTER, P_SAME, SAME_BOUNDS
from seekwise.measure.live import carry
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.uses import Use

PERIOD_FIRST_S = 0.75
COUNTED_S = 0.35
"""What is left of a period after its cut where a job writes through the page cache: writers pause for up to 200 ms
(Linux v6.12 mm/page-writeback.c, MAX_PAUSE)."""
QUICK_COUNTED_S = 0.045
"""The same where every request reaches the device at once. Seen on a virtio disk: rates of neighbouring periods differ
by 5 to 7 % whether they last 25 or 400 ms (the Allan deviation is level from 25 to 800 ms), so that ten short periods
tell as much as ten long ones."""
QUICK_CUT_S = 0.02
"""Least cut there. Seen on the same disk: none, mq-deadline and kyber are at their level within 20 ms of the switch."""
TAIL_FACTOR = 10.0
"""A period counts for so many of its slow (99 %) requests at least."""
PERIOD_MOST_S = 6.0
OPERATIONS_MIN = 40
"""In the counted part of a period, of every job that is judged."""
UNITS_MIN = 10
"""The same of units of programs."""
LONG_COUNTED_S = 0.5
"""A period holds as many long units as take this time on average over the candidates, the same number for all."""
SEVERAL_COUNTED_S = 0.8
"""The same of units of several jobs, one after the other."""
UNITS_MOST = 9
ROUNDS_FIRST = 4
"""Long enough to see how long the effect of a switch lasts."""
ROUNDS_FIRST_FEW = 3
"""The same where shorter ones follow in the same stretch, or a period is as long as its units. Seen: four rounds of
starts that took 6 s each, instead of the 1.5 s that are expected, were a third of eight minutes."""
PERIOD_LOOK_S = 0.3
"""First periods there of a candidate that is expected to settle at once: long enough to see when it does not."""
ROUNDS_QUICK = 33
SHORT_S = 0.2
LONG_EVERY = 10
SWITCH_S = 0.03
"""Of one switch: measured 24 to 32 ms."""
STRETCH_MOST_S = 12.0
"""Then it is asked again what time decides most."""
STRETCH_OVERHEAD_S = 1.6
"""Starting fio, its first I/O, ending it and reading its logs: measured 1.2 to 1.7 s on two cores."""
FIRST_PASS_SHARE = 0.8
SHARE_MOST = 0.25
"""Of the time, for one use of many."""
SHARES_MOST = 1.5
"""Equal shares that one of few may take. Seen: of three uses in two minutes the start while files are copied had a
third of the time after its first three rounds, and would have had no further one."""
P_WINS_LEAST = 0.1
"""A setting that is less likely than this to gain what is worth a change, in every figure of a use, is measured there no
more once it is known how it stands."""
AGED_COUNTED_S = 2.0
"""Of a period in which processes that have worked for seconds compete with others."""
AGED_PERIOD_S = 3.4
"""Expected length of such a period, on average over what settles at once and what does not."""
PRICED = 3
"""Entries of a round of the one setting whose price is measured: twice what is in force, and it."""
FALL_ENOUGH = 0.005
"""Once the answer is good enough: a stretch that lowers the expected loss of its use by less is not worth its time."""
ROW_WORTH = 0.01
"""A row that gets an answer is worth as much as a hundredth of loss."""
PLACES = (np.arange(20) + 0.5) / 20
ROUNDS_ENOUGH = 6
"""Of a use with a background, and of every use beyond the most telling ones. Seen on a virtio disk: a start while files
are copied scatters by 20 % from round to round, alone by 5 %; of nine uses in eight minutes, with four rounds of most,
four rows of ten stayed without an answer."""
ALONE_SHARE = 0.5
"""Of the expected time of a long unit where nothing else runs."""
FIT_SHARE = 1.0
"""The most telling uses are chosen so that enough rounds of them fit into this share of two minutes. Few uses answered
beat many left open."""
FIT_SHARE_MORE = 0.5
"""Of a longer time; of uses that were named the first stretches have to fit into it. What is left decides."""
FIT_FIRST_S = 112.0
"""Measuring time of the most telling uses: what two minutes leave."""


@dataclass
class UseState:
    """What is known about measuring one use."""

    use: Use
    candidates: tuple[Candidate, ...]
    """Those that still run here."""
    lengths: dict[str, float] = field(default_factory=dict)
    cuts: dict[str, float] = field(default_factory=dict)
    rounds: int = 0
    stretches: int = 0
    failed: str | None = None
    """Why it is measured no more."""
    is_idle: bool = False
    """What is in force waits for nothing there: no scheduler can give anything."""
    ended_early: bool = False
    """Its load ended once before the schedule did."""
    spent_s: float = 0.0
    """Measuring time that it has taken."""
    units: int = 0
    """Of long ones, per period and worker."""

    def __post_init__(self) -> None:
        if not self.units:
            self.units = _units_in_a_period(self, self.long_unit_s or LONG_COUNTED_S)

    @property
    def long_unit_s(self) -> float | None:
        """Seconds that a unit of the foreground is expected to take where it is as long as a period; None elsewhere."""
        programs = [job.runs for job in self.use.foreground]
        long = [program.expected_s for program in programs if program is not None and program.long_units]
        if not long or len(long) < len(programs):
            return None
        unit_s = sum(long) if self.use.in_turn else max(long)
        return unit_s * (ALONE_SHARE if _is_alone(self.use) else self.use.processes_beside)

    @property
    def is_aged(self) -> bool:
        """Whether processes that have worked for seconds compete with others."""
        programs = [job.runs for job in self.use.foreground]
        return bool(self.use.background) and any(one is not None and one.age == "old" for one in programs)

    @property
    def is_quick(self) -> bool:
        """Whether every request reaches the device at once: nothing that lies in memory outlasts a switch."""
        return all(
            job.pattern is not None and (job.direct or not job.writes or job.sync_every == 1) for job in self.use.job
        ) and not any(job.uses_read_ahead for job in self.use.job)

    def is_short(self, candidate: Candidate) -> bool:
        """Whether its shortest periods tell of it."""
        return self.is_quick and carry.settles_at_once(candidate)

    def can_be_quick(self, operations_per_s: float) -> bool:
        """Whether the shortest periods hold enough operations of every job at this rate of all together."""
        jobs = sum(job.jobs for job in self.use.job)
        return self.is_quick and operations_per_s * QUICK_COUNTED_S >= jobs * OPERATIONS_MIN

    def quick_length_s(self, candidate: Candidate) -> float:
        """Of a period in a stretch whose longer periods were fast."""
        return QUICK_CUT_S + QUICK_COUNTED_S if self.is_short(candidate) else PERIOD_FIRST_S

    def length_s(self, candidate: Candidate) -> float:
        """Length of its next period in seconds; until something is learned, by the kind of load, or by units per period
        where they are long."""
        first = PERIOD_LOOK_S if self.is_short(candidate) else PERIOD_FIRST_S
        unit_s = self.long_unit_s
        if unit_s is not None:
            first = carry.LEARNING_CUT_S + unit_s * self.units
        elif self.is_aged:
            first = _aged_length_s(self.cut_s(candidate))
        return self.lengths.get(candidate.label, first)

    def cut_least_s(self, candidate: Candidate) -> float:
        """Seconds after a switch that never count: 0.02 to 0.35, by what lies in memory and whether the scheduler
        learns."""
        if self.is_aged and not carry.settles_at_once(candidate):
            return carry.RAISED_S
        if not self.is_quick:
            return carry.CUT_LEAST_S
        return QUICK_CUT_S if carry.settles_at_once(candidate) else carry.LEARNING_CUT_S

    def cut_s(self, candidate: Candidate) -> float:
        """Seconds at the start of its periods that do not count; one that has not run alone has its scheduler's."""
        kin = str(candidate.values.get("scheduler", ""))
        return self.cuts.get(candidate.label, self.cuts.get(kin, self.cut_least_s(candidate)))

    def counted_s(self, candidate: Candidate, length_s: float, cut_s: float) -> float:
        """Seconds of a period that count. Where periods became short, the long first ones weigh no more than they."""
        rest = length_s - cut_s
        if not self.is_quick or candidate.label not in self.lengths:
            return rest
        return min(rest, self.lengths[candidate.label] - self.cuts[candidate.label])

    def in_round(self, number: int) -> tuple[Candidate, ...]:
        """Who runs in a round: where most have short periods, those with long ones only in every few."""
        short = [candidate for candidate in self.candidates if self.length_s(candidate) < SHORT_S]
        if len(short) < 2 or number % LONG_EVERY == 0:
            return self.candidates
        return tuple(short)

    def round_s(self) -> float:
        """On average, with the switches."""
        rounds = [self.in_round(number) for number in range(LONG_EVERY)]
        return sum(self.length_s(candidate) + SWITCH_S for who in rounds for candidate in who) / LONG_EVERY


def is_idle(states: Sequence[UseState]) -> bool:
    """Whether new processes were measured beside other work and waited for nothing."""
    young = [state for state in states if state.use.in_turn and state.use.background and state.rounds]
    return bool(young) and all(state.is_idle for state in young)


def uses_that_fit(
    uses: Sequence[Use], candidates: int, seconds: float, *, named: bool = False
) -> tuple[list[Use], list[Use]]:
    """(uses measured, uses left out) in their order: enough rounds of those measured fit, of `named` ones the first
    stretches at least."""
    count, spent_s, first_s = 0, 0.0, 0.0
    for use in uses:
        first_s += first_stretch_s(use, candidates)
        is_first = _is_alone(use) and spent_s < FIT_FIRST_S
        few = ROUNDS_FIRST_FEW if use.in_turn or use.price else ROUNDS_FIRST
        spent_s += first_stretch_s(use, candidates, few if named or is_first or few < ROUNDS_FIRST else ROUNDS_ENOUGH)
        share = FIT_SHARE_MORE if named or spent_s > FIT_FIRST_S else FIT_SHARE
        if count and spent_s > share * seconds:
            break
        count += 1
    if count == len(uses) - 1 and first_s <= seconds:
        count = len(uses)
    return list(uses[:count]), list(uses[count:])


def _is_alone(use: Use) -> bool:
    return len(use.foreground) == len(use.job)


def first_stretch_s(use: Use, candidates: int, rounds: int = ROUNDS_FIRST) -> float:
    """With short periods where the use allows them for all candidates but one; else of so many rounds."""
    state = UseState(use, ())
    if not state.is_quick:
        period_s = AGED_PERIOD_S if state.is_aged else PERIOD_FIRST_S
        if state.long_unit_s is not None:
            period_s = carry.LEARNING_CUT_S + state.long_unit_s * state.units
        candidates = min(candidates, PRICED) if use.price else candidates
        return STRETCH_OVERHEAD_S + rounds * candidates * (period_s + SWITCH_S)
    short = candidates - 1
    look_s = ROUNDS_FIRST_FEW * (PERIOD_FIRST_S + short * PERIOD_LOOK_S)
    quick_s = ROUNDS_QUICK * (PERIOD_FIRST_S / LONG_EVERY + short * (QUICK_CUT_S + QUICK_COUNTED_S))
    return STRETCH_OVERHEAD_S + look_s + quick_s + (ROUNDS_FIRST_FEW + ROUNDS_QUICK) * candidates * SWITCH_S


def least_s(candidates: int) -> float:
    """The least measuring time that can decide anything."""
    return STRETCH_OVERHEAD_S + 3 * candidates * PERIOD_FIRST_S


@dataclass(frozen=True)
class LongPeriods:
    """What the longer periods of one candidate showed in a stretch."""

    candidate: Candidate
    profiles: tuple[list[float], ...]
    """Values per bin of `carry.BIN_S` of each period."""
    operations_per_s: float
    """Of the slowest judged job."""
    tail_s: float
    """The 99 % latency of the slowest one."""


def learn(state: UseState, seen: Sequence[LongPeriods]) -> None:
    """Cuts and lengths of periods from what a stretch showed."""
    units_min = OPERATIONS_MIN if any(job.program is None for job in state.use.foreground) else UNITS_MIN
    least = {learnt.candidate.label: state.cut_least_s(learnt.candidate) for learnt in seen}
    cuts = carry.cuts_s({learnt.candidate.label: learnt.profiles for learnt in seen}, least)
    for learnt in seen:
        name = learnt.candidate.label
        counted = AGED_COUNTED_S if state.is_aged else COUNTED_S
        if state.is_short(learnt.candidate):
            counted = min(COUNTED_S, max(QUICK_COUNTED_S, TAIL_FACTOR * learnt.tail_s))
        if learnt.operations_per_s > 0:
            counted = max(counted, units_min / learnt.operations_per_s)
        length = _aged_length_s(cuts[name], counted) if state.is_aged else cuts[name] + counted
        longest = max((len(values) for values in learnt.profiles), default=0) * carry.BIN_S
        if carry.too_short(cuts[name], longest):
            length = max(length, 2 * longest)
        state.cuts[name] = cuts[name]
        state.lengths[name] = min(PERIOD_MOST_S, length)


def _aged_length_s(cut_s: float, counted_s: float = AGED_COUNTED_S) -> float:
    return max(cut_s + counted_s, cut_s / carry.CUT_SHARE_MAX)


def _units_in_a_period(state: UseState, unit_s: float) -> int:
    counted_s = SEVERAL_COUNTED_S if state.use.in_turn and state.use.background else LONG_COUNTED_S
    return max(1, min(UNITS_MOST, round(counted_s / unit_s)))


def learn_units(state: UseState, took: Mapping[str, float]) -> None:
    """How many long units a period holds, and how long it then is under each candidate. `took`: what a period took for
    each of its long units."""
    took = {label: unit_s for label, unit_s in took.items() if unit_s > 0}
    if not took:
        return
    state.units = _units_in_a_period(state, statistics.geometric_mean(took.values()))
    for label, unit_s in took.items():
        state.cuts[label] = carry.LEARNING_CUT_S
        state.lengths[label] = carry.LEARNING_CUT_S + unit_s * state.units


def drop_hopeless(state: UseState, judged: Sequence[Judged]) -> None:
    """Candidates that run in this use no more: known not to win anything there, so more rounds change no answer."""
    mine = [entry for entry in judged if entry.use == state.use.name and entry.role == "foreground"]

    def is_hopeless(candidate: Candidate) -> bool:
        known = [(entry.standing(candidate.label), entry.gain(candidate.label)) for entry in mine]
        return bool(known) and all(
            standing is not None
            and standing.verdict in ("worse", "same")
            and gain is not None
            and (gain > choose.WORTH_LOG).mean() < P_WINS_LEAST
            for standing, gain in known
        )

    state.candidates = tuple(kept for kept in state.candidates if kept.in_force or not is_hopeless(kept))


def spread_of_answer(psi_mean_log: float, sd_log: float) -> float:
    """Expected loss by taking the wrong one of two settings whose difference is known to be `psi_mean_log` ± `sd_log`:
    s φ(m/s) − m Φ(−m/s)."""
    if sd_log <= 0:
        return 0.0
    z = abs(psi_mean_log) / sd_log
    return sd_log * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - z * float(special.normal_below(-z)))


def fall(state: UseState, judged: Sequence[Judged], in_force: str, rounds: int) -> float:
    """By how much so many further rounds of a use lower the expected loss of its comparisons with what is in force, in
    ln units; a row of the answer that they are expected to fill counts as `ROW_WORTH`."""
    mine = [entry for entry in choose.deciding(judged) if entry.use == state.use.name]
    if not mine or state.rounds == 0:
        return 0.0
    have = max(max(entry.rounds for entry in mine), 1)
    shrink = math.sqrt(have / (have + rounds))
    total = 0.0
    for label in (candidate.label for candidate in state.candidates if candidate.label != in_force):
        for draws in choose.parts_of(mine, label, in_force).values():
            mean_log, sd_log = float(draws.mean()), float(draws.std())
            total += spread_of_answer(mean_log, sd_log) - spread_of_answer(mean_log, sd_log * shrink)
        for entry in mine:
            standing, gain = entry.standing(label), entry.gain(label, in_force)
            if standing is not None and standing.verdict == "unknown" and gain is not None:
                total += ROW_WORTH * p_answered(float(gain.mean()), float(gain.std()), shrink)
    return total


def p_answered(mean_log: float, sd_log: float, shrink: float) -> float:
    """Probability that a difference known to be `mean_log` ± `sd_log` has a name or a bound once its error is `shrink`
    of that."""
    then_log = sd_log * shrink
    middle = mean_log + math.sqrt(max(0.0, sd_log**2 - then_log**2)) * special.normal_quantile(PLACES)
    is_named = special.normal_below(np.abs(middle) / then_log) >= P_BETTER
    edge = math.log1p(SAME_BOUNDS[-1])
    is_bounded = (
        special.normal_below((edge - middle) / then_log) - special.normal_below((-edge - middle) / then_log) >= P_SAME
    )
    return float(np.mean(is_named | is_bounded))


def next_use(
    states: Sequence[UseState], judged: Sequence[Judged], in_force: str, left_s: float, *, is_enough: bool
) -> tuple[UseState, int] | None:
    """(use, rounds) of the next stretch: where a second lowers the expected loss most; None without time, or when the
    answer is good enough.

    No use takes more than a quarter of the time, or half of it of three, so that one that stays open does not starve all
    others. `is_enough`:
    the answer as a whole is expected to lose next to nothing, so only what still tells much is measured.
    """
    best: tuple[float, UseState, int] | None = None
    quiet = is_idle(states)
    able = [s for s in states if not s.failed and s.candidates and not (quiet and s.use.background)]
    whole_s = left_s + sum(state.spent_s for state in able)
    share_most = max(SHARE_MOST, SHARES_MOST / max(1, len(able)))
    for state in able:
        affordable = int((left_s - STRETCH_OVERHEAD_S) / state.round_s())
        if affordable < 1 or (len(able) > 2 and state.spent_s > share_most * whole_s):
            continue
        rounds = min(affordable, max(2, int(STRETCH_MOST_S / state.round_s())))
        lowered = fall(state, judged, in_force, rounds)
        if lowered <= 0 or (is_enough and lowered < FALL_ENOUGH):
            continue
        score = lowered / (STRETCH_OVERHEAD_S + rounds * state.round_s())
        if best is None or score > best[0]:
            best = (score, state, rounds)
    return None if best is None else best[1:]
