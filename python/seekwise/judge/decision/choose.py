"""What to set: the setting from which most is to be expected, and what one loses by it or by staying, for each purpose.

The *utility* of a setting is the mean of its ln gain over the setting in force, over the parts of a purpose, each as much as it counts (`--for desktop=3`).
A part is a use and a purpose, its figures averaged; no figure weighs more than a factor of ten. What the other purpose, or the background of a use that was
asked for, loses by it is its price: it is said beside the gain, and forbids what would halve something. All of it is computed draw by draw (`posterior.py`), so
sums know how sure they are.

    regret    of a setting: how much more the best one would bring, expected, and its 95 % bound
    harm      it brings less than nothing, or loses more in one use of the purpose than it gains in any, or more than that in most uses of all, or more than
              half of something of another purpose and more than it gains

A setting is advised where it is expected to bring 5 % (a change is trouble), brings anything with 80 % probability, and harms with at most 20 %: on
machines with known truth that loses 1 % on average and advises nothing that harms (`verify judgement`). Of several the one that
brings most. Never one that measured worse, whatever is expected of it (`seen_gain`). Otherwise what is in force stays, and what staying may cost is said.

Uses of the group `limits` decide nothing.
"""

from __future__ import annotations

import math
import statistics
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision.next_program import LOSES_LOG, NINE_OF_TEN, spread_log
from seekwise.judge.decision.posterior import SEED
from seekwise.judge.decision.priors import programs_on
from seekwise.judge.decision.verdicts import Judged
from seekwise.workload.purpose import PURPOSES, Purpose
from seekwise.workload.study.uses import LIMITS

Array = NDArray[np.float64]

STARVED_FACTOR = 10.0
"""Beyond it a ratio has neither more digits nor more weight."""
CAP_LOG = math.log(STARVED_FACTOR)
WORTH_LOG = math.log1p(0.05)
"""The least expected gain that is worth a change."""
P_GAIN = 0.80
CHANCE_MOST = 0.05
"""How often a change is advised where no setting differs from another, over all settings together."""
DEALS = 2000
P_HARM_MOST = 0.20
P_LOSS_MOST = 0.30
"""Of the next program that it loses a tenth, over the kinds."""
P_LOSS_SAID = 0.25
"""A kind that loses a tenth with this probability is named with the advice."""
LOSS_SAID = 1.2
"""And if one of ten programs may take so many times as long."""
KINDRED_LEAST = 2
"""Programs of a kind next to a background that say what the next one does."""
P_PROBABLE = 0.70
"""A setting that is not advised is named where it is probably better."""
HARM_LOG = math.log1p(0.10)
"""A loss below this is no harm."""
HALVED_LOG = math.log(2)
LOST_LOG = math.log1p(0.05)
"""Losses below this are none where they are counted over uses."""
REGRET_TAIL = 0.05
REGRET_ENOUGH_LOG = 0.01
"""Measuring ends where no more than this is expected to be lost by the answer."""


@dataclass(frozen=True)
class Change:
    """What a setting changes in one figure of one use, against what is in force."""

    use: str
    title: str
    metric: str
    purpose: Purpose
    ratio: float
    """Of the values: 0.74 is a time 26 % shorter."""
    low: float
    high: float
    p_better: float


@dataclass(frozen=True)
class Alternative:
    """A setting that is not advised and is probably better: its expected gain as a share, and how probable any gain is."""

    setting: str
    expected_gain: float
    p_better: float


@dataclass(frozen=True)
class Loser:
    """A kind of programs beside a background that may lose a tenth and more."""

    kind: str
    background: str
    p_loss: float
    factor: float
    """Nine of ten programs take no more than so many times as long, or get no less than one of so many."""
    is_elsewhere: bool = False
    """Programs of the kind were measured elsewhere alone."""


@dataclass(frozen=True)
class Choice:
    """What to set for one purpose, or for everything."""

    setting: str
    changes: bool
    """Whether it differs from what is in force."""
    expected_gain: float
    """Over what is in force, as a share; 0 where nothing changes."""
    p_gain: float
    """Probability that it brings anything."""
    expected_regret: float
    """What the answer is expected to lose against the best setting, as a share."""
    regret_high: float
    """95 % bound of it."""
    p_harm: float
    """Probability that the next program, of any kind measured for the purpose, loses a tenth by the answer; of figures of
    no kind, that it harms; 0 where nothing changes."""
    stake: float = 0.0
    """What the answer is expected to lose beyond what a change must bring at least: what more measuring could still win."""
    gains: tuple[Change, ...] = ()
    """What the setting named (or, where nothing changes, the probable alternative) makes better, the largest first."""
    costs: tuple[Change, ...] = ()
    """What it makes worse, in whatever was measured."""
    losers: tuple[Loser, ...] = ()
    """Kinds of programs that may lose by the setting named, the most probable first."""
    alternative: Alternative | None = None
    is_vetoed: bool = False
    """The A/A check shows that this storage is not steady enough to advise anything."""


def capped(log_ratio: float) -> float:
    """A log ratio of which neither side weighs more than starvation."""
    return max(-CAP_LOG, min(CAP_LOG, log_ratio))


def deciding(judged: Sequence[Judged]) -> list[Judged]:
    """Those that may decide: no limits."""
    return [entry for entry in judged if entry.group != LIMITS]


def parts_of(judged: Sequence[Judged], setting: str, in_force: str) -> dict[tuple[str, str], Array]:
    """{(kind of programs beside a background, else the use; purpose): draws of the setting's ln gain, its figures averaged}."""
    parts: dict[tuple[str, str], list[Array]] = {}
    for entry in judged:
        gain = entry.gain(setting, in_force)
        if gain is not None:
            parts.setdefault((entry.part, entry.purpose), []).append(np.clip(gain, -CAP_LOG, CAP_LOG))
    return {part: np.mean(draws, axis=0) for part, draws in parts.items()}


def average(parts: Mapping[tuple[str, str], Array | float], judged: Sequence[Judged]) -> Array:
    """Over the parts, each as much as it counts: `--for desktop=3`."""
    counts: dict[tuple[str, str], float] = {(each.part, each.purpose): each.conditions.weight for each in judged}
    weights = [counts[part] for part in parts]
    mean: Array = np.average(list(parts.values()), axis=0, weights=weights if len({*weights}) > 1 else None)
    return mean


def seen_gain(judged: Sequence[Judged], setting: str, in_force: str) -> float:
    """The setting's ln gain by the values alone, without what was expected before: parts weigh as in `parts_of`. 0 where there are none."""
    parts: dict[tuple[str, str], list[float]] = {}
    for entry in judged:
        own, base = (entry.standing(name) for name in (setting, in_force))
        if own is not None and base is not None and own.value and base.value:
            gain = entry.sign * math.log(own.value / base.value)
            parts.setdefault((entry.part, entry.purpose), []).append(capped(gain))
    return float(average({part: float(np.mean(gains)) for part, gains in parts.items()}, judged)) if parts else 0.0


@dataclass(frozen=True)
class Utility:
    """Draws of what a setting brings for a purpose, and of whether it harms."""

    gain: Array
    harms: NDArray[np.bool_]
    p_loss: float
    """That the next program loses a tenth, each kind beside each background alike."""


def utility(own: Sequence[Judged], setting: str, in_force: str, others: Sequence[Judged] = ()) -> Utility | None:
    """Over the figures that were asked for. None where nothing tells of the two. `others`: what else was measured, which is the price."""
    parts = parts_of(own, setting, in_force)
    prices = list(parts_of(others, setting, in_force).values())
    if not parts:
        return None
    losing = [
        ((told < -LOSES_LOG).mean(), entry.conditions.weight)
        for entry in own
        if (told := entry.next_gain(setting)) is not None
    ]
    p_loss = float(np.average([p for p, _ in losing], weights=[weight for _, weight in losing])) if losing else 0.0
    gain = average(parts, own)
    return Utility(gain, harms(gain, list(parts.values()), prices), p_loss)


def harms(gain: Array, gains: Sequence[Array], prices: Sequence[Array]) -> NDArray[np.bool_]:
    """[draw] whether a setting harms, by its ln gain, and by those in the parts of a purpose and in all others."""
    most = np.max(gains, axis=0)
    harmful: NDArray[np.bool_] = (gain < -0.01) | (-np.min(gains, axis=0) > np.maximum(most, HARM_LOG))
    if prices:
        harmful |= -np.min(prices, axis=0) > np.maximum(most, HALVED_LOG)
        lost = np.mean([-gain > np.maximum(most, LOST_LOG) for gain in [*gains, *prices]], axis=0)
        harmful |= lost > 0.5
    return harmful


def choose(
    judged: Sequence[Judged],
    in_force: str,
    candidates: Sequence[str],
    *,
    others: Sequence[Judged] = (),
    is_vetoed: bool = False,
) -> Choice | None:
    """The choice over these figures; None when nothing was judged, or nothing is known of what is in force, or of anything else.

    `others`: what else was judged, of another purpose or in the background: what it loses is the price.
    """
    mine, price = deciding(judged), deciding(others)
    if not mine:
        return Choice(in_force, False, 0.0, 0.0, 0.0, 0.0, 0.0) if judged else None
    known = {name: gains for name in candidates if (gains := utility(mine, name, in_force, price)) is not None}
    if in_force not in known or len(known) < 2 <= len(candidates):
        return None
    best = np.max([weighed.gain for weighed in known.values()], axis=0)
    passing = {
        name: float(weighed.gain.mean())
        for name, weighed in known.items()
        if name != in_force
        and seen_gain(mine, name, in_force) > 0
        and weighed.gain.mean() > WORTH_LOG
        and (weighed.gain > 0).mean() >= P_GAIN
        and weighed.harms.mean() <= P_HARM_MOST
        and weighed.p_loss <= P_LOSS_MOST
    }
    # What labels that mean nothing bring as often is no reason to change anything.
    most = CHANCE_MOST / max(1, len(known) - 1)
    passing = {name: gain for name, gain in passing.items() if p_by_chance(mine, name, in_force) <= most}
    pick = max(passing, key=lambda name: passing[name]) if passing and not is_vetoed else in_force
    regret = np.maximum(best - known[pick].gain, 0.0)
    stake = float(np.maximum(regret - (WORTH_LOG if pick == in_force else 0.0), 0.0).mean())
    seen = {name: weighed for name, weighed in known.items() if seen_gain(mine, name, in_force) > 0}
    alternative = None if pick != in_force or is_vetoed else _alternative(seen, in_force)
    shown = pick if pick != in_force else alternative.setting if alternative else None
    return Choice(
        pick,
        pick != in_force,
        math.expm1(float(known[pick].gain.mean())),
        float((known[pick].gain > 0).mean()),
        math.expm1(float(regret.mean())),
        math.expm1(float(np.quantile(regret, 1 - REGRET_TAIL))),
        0.0 if pick == in_force else known[pick].p_loss or float(known[pick].harms.mean()),
        stake,
        changes_of(mine, shown, in_force, better=True),
        changes_of([*judged, *others], shown, in_force, better=False),
        losers([*judged, *others], shown),
        alternative,
        is_vetoed,
    )


def p_by_chance(judged: Sequence[Judged], setting: str, in_force: str) -> float:
    """How often a setting gains as much, in what it gains anything, where labels are dealt anew within each round, as the
    order in which settings ran was: exact whatever the noise is. 0 where values have no rounds."""
    random = np.random.default_rng([SEED, zlib.crc32(setting.encode())])
    dealt: dict[tuple[str, int, int], NDArray[np.intp]] = {}
    parts: dict[tuple[str, str], list[Array]] = {}
    for entry in judged:
        if entry.conditions.exact:
            continue
        data = entry.figures.observed(entry.sign)
        mine, base = (data.settings.index(name) if name in data.settings else -1 for name in (setting, in_force))
        gains = []
        for number in np.unique(data.round):
            at = np.flatnonzero(data.round == number)
            at = at[np.argsort(data.setting[at], kind="stable")]
            is_mine, is_base = data.setting[at] == mine, data.setting[at] == base
            if is_mine.any() and is_base.any():
                key = (entry.use, int(number), len(at))
                if key not in dealt:
                    dealt[key] = random.permuted(np.tile(np.arange(len(at)), (DEALS, 1)), axis=1)
                    dealt[key][0] = np.arange(len(at))
                values = data.y[at][dealt[key]]
                gain = values[:, is_mine].mean(axis=1) - values[:, is_base].mean(axis=1)
                gains.append(gain.clip(-CAP_LOG, CAP_LOG))
        if gains:
            parts.setdefault((entry.part, entry.purpose), []).append(np.mean(gains, axis=0))
    # What it gains where it gains: a loss elsewhere is weighed by what harms, and hides no gain here.
    each = {part: np.maximum(np.mean(gains, axis=0), 0.0) for part, gains in parts.items()}
    total = average(each, judged) if each else np.array([1.0, 0.0])
    return float((total[1:] >= total[0] - 1e-9).mean())


def by_purpose(
    judged: Sequence[Judged], in_force: str, candidates: Sequence[str], *, is_vetoed: bool = False
) -> dict[Purpose, Choice]:
    """The choice for each purpose that something was judged for."""
    choices: dict[Purpose, Choice] = {}
    for purpose in PURPOSES:
        own = [entry for entry in judged if entry.purpose == purpose]
        if deciding(own):
            others = [entry for entry in judged if entry.purpose != purpose]
            choice = choose(own, in_force, candidates, others=others, is_vetoed=is_vetoed)
            if choice is not None:
                choices[purpose] = choice
    return choices


def _alternative(known: Mapping[str, Utility], in_force: str) -> Alternative | None:
    others = {name: weighed for name, weighed in known.items() if name != in_force}
    if not others:
        return None
    name = max(others, key=lambda name: float(others[name].gain.mean()))
    gain = others[name].gain
    probable = gain.mean() > WORTH_LOG / 2 and (gain > 0).mean() >= P_PROBABLE
    return Alternative(name, math.expm1(float(gain.mean())), float((gain > 0).mean())) if probable else None


def changes_of(judged: Sequence[Judged], setting: str | None, in_force: str, *, better: bool) -> tuple[Change, ...]:
    """Figures that a setting makes better (or worse), the largest first."""
    known = [
        (entry, standing)
        for entry in judged
        if setting is not None and (standing := entry.standing(setting)) is not None
    ]
    changes = [
        Change(
            entry.use,
            entry.title,
            entry.metric,
            entry.purpose,
            one.ratio,
            one.low or 0.0,
            one.high or math.inf,
            one.p_better or 0.0,
        )
        for entry, one in known
        if one.ratio is not None and one.verdict == ("better" if better else "worse")
    ]
    return tuple(sorted(changes, key=lambda change: -abs(capped(math.log(change.ratio)))))


def losers(judged: Sequence[Judged], setting: str | None) -> tuple[Loser, ...]:
    """Kinds of programs that may lose by a setting."""
    found: dict[str, Loser] = {}
    for entry in judged:
        standing = entry.standing(setting) if setting is not None else None
        told = standing.next if standing is not None else None
        if told is None or told.p_loss < P_LOSS_SAID or entry.group == LIMITS:
            continue
        factor = 1 / told.low if entry.more_is_better else told.high
        if factor < LOSS_SAID:
            continue
        one = Loser(entry.conditions.program, entry.conditions.background, told.p_loss, factor)
        found[entry.part] = max(found.get(entry.part, one), one, key=lambda loser: loser.p_loss)
    return tuple(sorted(found.values(), key=lambda loser: -loser.p_loss))


def losers_elsewhere(setting: str, base: str, drive: str | None, measured: Collection[tuple[str, str]]) -> list[Loser]:
    """Kinds of programs next to a background of which nothing was `measured` here, and of which the next one may lose by a
    setting as several did elsewhere; the largest loss first."""
    found = []
    rows = [row for row in programs_on(drive) if "of" in row and {setting, base} <= row["values"].keys()]
    for kind, background in dict.fromkeys((row["of"], row["background"]) for row in rows):
        mine = [row for row in rows if (row["of"], row["background"]) == (kind, background)]
        if len(mine) < KINDRED_LEAST or (kind, background) in measured:
            continue
        ratios = [math.log(row["values"][setting] / row["values"][base]) for row in mine]
        gains = [ratio if row["more"] else -ratio for ratio, row in zip(ratios, mine, strict=True)]
        sure = max(0.0, *(abs(gain) - row["known_to"] for gain, row in zip(gains, mine, strict=True)))
        spread = spread_log(kind, background, sure) * math.sqrt(1 + 1 / len(gains))
        foretold = statistics.NormalDist(np.average(gains, weights=[row["known_to"] ** -2 for row in mine]), spread)
        p_loss, factor = foretold.cdf(-LOSES_LOG), math.exp(-foretold.inv_cdf((1 - NINE_OF_TEN) / 2))
        if p_loss >= P_LOSS_SAID and factor >= LOSS_SAID:
            found.append(Loser(kind, background, p_loss, factor, is_elsewhere=True))
    return sorted(found, key=lambda loser: -loser.factor)
