"""The answer in words, made from verdicts alone: headline, purposes and rows. Every output shows what is made here.

Only what was measured is named, with the values of both sides: of the setting in force and of the one that is held against it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seekwise.judge.decision import choose as rule
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.verdicts import Judged
from seekwise.report.metric_words import (
    FACTOR_FROM,
    both_texts,
    factor_text,
    pair_text,
    percent,
    subject,
    times_text,
    within,
)
from seekwise.workload.study.uses import LIMITS, Purpose

PURPOSES: dict[Purpose, str] = {"responsive": "responsive while busy", "throughput": "most work done"}


@dataclass(frozen=True)
class Question:
    """What an answer is made from."""

    judged: tuple[Judged, ...]
    choice: Choice | None
    """What is asked for: everything, or the uses that were named."""
    in_force: str
    by_purpose: Mapping[Purpose, Choice] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    """Groups of uses that were named and measured."""
    what: str = "scheduler"
    """What one candidate is called."""
    is_set: bool = True
    """Whether `in_force` is set on this machine; else it is what a study compares with."""

    @property
    def now(self) -> str:
        """Heading of what the others are held against."""
        return f"{self.in_force} (now)" if self.is_set else self.in_force

    @property
    def deciding(self) -> list[Judged]:
        """Figures that may decide; those that are limits only forbid."""
        return rule.deciding(self.judged)

    @property
    def setting(self) -> str:
        """Label of the chosen setting, or of the one in force where nothing could be chosen."""
        return self.choice.setting if self.choice is not None else self.in_force

    @property
    def is_open(self) -> bool:
        """Nothing was proved either way."""
        return self.choice is None or self.choice.basis == "inconclusive"

    @property
    def other_purposes(self) -> dict[Purpose, Choice]:
        """Purposes that want another setting than the answer's, or for which the answer's is shown to cost something."""
        return {name: each for name, each in self.by_purpose.items() if self._differs(name, each)}

    def _differs(self, name: Purpose, choice: Choice) -> bool:
        if choice.setting == self.setting:
            return False
        mine = [each for each in self.deciding if each.purpose == name]
        return choice.changes or any(rule.is_worse(each, self.setting, self.in_force) for each in mine)


@dataclass(frozen=True)
class UseRow:
    """One figure of one use: the setting in force and the one that is held against it."""

    use: str
    subject: str
    now: str
    other: str
    """Name of the other setting."""
    other_value: str
    words: str
    judged: Judged


def headline(asked: Question) -> str:
    """The answer in at most four sentences: what to set or keep, what that changes in values, and its price."""
    choice = asked.choice
    if choice is None:
        return "Inconclusive: too little was measured to compare anything."
    if not asked.deciding:
        return f"These are limits of the device and its schedulers, shown apart from any recommendation. Keep {asked.in_force}."
    where = f" for {' and '.join(asked.asked)}" if asked.asked else ""
    if choice.changes:
        said = f"Set {choice.setting}{where}: {_exchange(asked, choice.setting)}."
    elif choice.basis == "safe":
        said = _nothing_to_gain(asked, where)
    elif choice.basis == "inconclusive":
        said = _inconclusive(asked)
    else:
        said = f"Keep {choice.setting}{where}"
        said += f": {_kept(asked)}." if not asked.other_purposes else "."
    purposes = _purposes(asked)
    return f"{said} {purposes}" if purposes else said


def _purposes(asked: Question) -> str:
    """`Responsive while busy: bfq, time per start 2.9 → 2.3 s; its price: …. Most work done: mq-deadline.`"""
    if not asked.other_purposes:
        return ""
    said = []
    for name, each in asked.by_purpose.items():
        text = f"{PURPOSES[name].capitalize()}: {each.setting}"
        if each.setting != asked.setting and each.changes:
            text += f" ({_exchange(asked, each.setting, name)})"
        said.append(f"{text}.")
    return " ".join(said)


def _exchange(asked: Question, setting: str, purpose: Purpose | None = None) -> str:
    """What a setting gains most over the one in force, and what it loses most, in values."""
    mine = [each for each in asked.deciding if purpose in (None, each.purpose)]
    gain = _most_ahead(mine, setting, asked.in_force)
    loss = _most_ahead(asked.judged, asked.in_force, setting)
    gained = f"{_values(gain, asked.in_force, setting)} in {gain.use}" if gain is not None else "better on average"
    if loss is None:
        return f"{gained}, and nothing is shown to get worse"
    return f"{gained}; its price: {_values(loss, asked.in_force, setting)} in {loss.use}"


def _values(judged: Judged, before: str, after: str) -> str:
    mine, its = judged.of(before), judged.of(after)
    pair = pair_text(mine.value if mine else None, its.value if its else None, judged.unit)
    return f"{subject(judged)} {pair}"


def _most_ahead(judged: Sequence[Judged], setting: str, other: str) -> Judged | None:
    """Where `setting` is shown to be ahead of `other` by most."""
    shown = [each for each in judged if rule.is_better(each, setting, other)]
    return max(shown, key=lambda each: rule.capped(each.ahead[setting, other].mean), default=None)


def _nothing_to_gain(asked: Question, where: str) -> str:
    highs = [s.high for each in asked.deciding if (s := each.of(asked.setting)) is not None and s.high is not None]
    most = max(highs, default=0.0)
    said = (
        f"Nothing to gain{where}: no {asked.what} is more than {percent(max(most, 0.001))} better than "
        f"{asked.setting} at anything measured."
    )
    if not any(each.disagrees for each in asked.deciding):
        return said.replace(f" than {asked.setting}", "") + f" Keep {asked.setting}."
    return f"{said} Keep {asked.setting}."


def _inconclusive(asked: Question) -> str:
    said = f"Inconclusive: no {asked.what} proved better or worse in this time."
    known = _bounds(asked)
    if not known:
        return said
    unknown = [each for high, each in known if high is None]
    if unknown:
        where = f"{subject(unknown[0])} in {unknown[0].use}"
        return f"{said} {asked.setting} is in force; too little got done to say how much better another could be ({where})."
    return f"{said} {asked.setting} is in force; {at_most(asked)}."


def at_most(asked: Question) -> str:
    """`another could be at most 31 % better (p99 latency in queries)`; empty where no figure has a bound, or one has none."""
    known = _bounds(asked)
    if not known or any(high is None for high, _ in known):
        return ""
    high, most = max(known, key=lambda pair: log_loss(*pair))
    factor = math.exp(log_loss(high, most))
    words = percent(factor - 1) if factor < FACTOR_FROM else times_text(factor)
    return f"another could be at most {words} better ({subject(most)} in {most.use})"


def _bounds(asked: Question) -> list[tuple[float | None, Judged]]:
    """How much the answer's setting loses at most in each figure that decides; none where nothing is known of any."""
    found = [(standing.high, each) for each in asked.deciding if (standing := each.of(asked.setting)) is not None]
    return found if any(high is not None for high, _ in found) else []


def _kept(asked: Question) -> str:
    """Why nothing changes although something differs: both sides of the setting that gains most."""
    rival = _rival(asked, asked.deciding)
    gain = _most_ahead(asked.deciding, rival, asked.in_force) if rival else None
    if gain is None or rival is None:
        return f"no {asked.what} is shown to be better"
    loss = _most_ahead(asked.judged, asked.in_force, rival)
    text = f"with {rival} {_values(gain, asked.in_force, rival)} in {gain.use}"
    if loss is not None:
        return f"{text}, but {_values(loss, asked.in_force, rival)} in {loss.use}"
    return f"{text}; on average over all rows it is not shown to be {percent(math.expm1(rule.WORTH_LOG))} better"


def _rival(asked: Question, judged: Sequence[Judged]) -> str | None:
    """The setting that is shown to gain most over the one in force in one of these figures."""
    best: tuple[float, str] | None = None
    for each in judged:
        for standing in each.standings:
            if rule.is_better(each, standing.setting, asked.in_force):
                size = rule.capped(each.ahead[standing.setting, asked.in_force].mean)
                if best is None or size > best[0]:
                    best = (size, standing.setting)
    return best[1] if best else None


def opponent(asked: Question) -> str | None:
    """The one setting that all rows hold against the one in force; None: the rival of each use."""
    if asked.setting != asked.in_force:
        return asked.setting
    return next((each.setting for each in asked.other_purposes.values()), None) or _rival(
        asked, asked.deciding or asked.judged
    )


def rows(asked: Question) -> list[UseRow]:
    """One row per use, and one more where the other side of the exchange lies in the same use; the largest differences first.

    Only uses that were measured have rows.
    """
    against = opponent(asked)
    made: list[tuple[float, list[UseRow]]] = []
    for use in dict.fromkeys(each.use for each in asked.judged):
        mine = [each for each in asked.judged if each.use == use and _is_measured(each, asked.in_force)]
        other = against or (_nearest(asked, mine) if mine else None)
        mine = [each for each in mine if other is not None and _is_measured(each, other)]
        if other is None or not mine:
            continue
        shown = _weighed(mine, other, asked.in_force)
        if against is None and asked.is_open:
            # The headline says what is open: the row shows that, not a figure that happens to be alike.
            shown = [max(mine, key=lambda each: _reach(each, asked.setting))]
            other = _least_known(asked, shown[0]) or other
        size = max(abs(_ahead_log(each, other, asked.in_force)) if _is_shown(each, other, asked.in_force) else 0.0 for each in shown)  # fmt: skip
        made.append((size, [_row(each, other, asked.in_force) for each in shown]))
    made.sort(key=lambda pair: -pair[0])
    return [row for _, group in made for row in group]


def _reach(judged: Judged, setting: str) -> float:
    """How much this setting may lose here at most, on the log scale."""
    standing = judged.of(setting)
    return log_loss(standing.high if standing is not None else None, judged)


def _least_known(asked: Question, judged: Judged) -> str | None:
    """The setting that may still be ahead of the one in force by most."""
    known = {
        standing.setting: ahead.high(rule.ALPHA)
        for standing in judged.standings
        if standing.value is not None and (ahead := judged.ahead.get((standing.setting, asked.in_force))) is not None
    }
    return max(known, key=lambda name: known[name], default=None)


def _is_measured(judged: Judged, setting: str) -> bool:
    standing = judged.of(setting)
    return standing is not None and standing.value is not None


def _nearest(asked: Question, judged: Sequence[Judged]) -> str | None:
    """The setting that does best here beside the one in force, by its estimate."""
    others = [s for s in judged[0].standings if s.setting != asked.in_force and s.loss is not None]
    return min(others, key=lambda s: s.loss or 0.0).setting if others else None


def _weighed(judged: Sequence[Judged], other: str, in_force: str) -> list[Judged]:
    """Of one use: the largest gain and the largest loss of the other setting that are shown; where none is, the first figure."""
    shown = [each for each in judged if _is_shown(each, other, in_force)]
    if not shown:
        return [judged[0]]
    return [
        max(side, key=lambda each: abs(_ahead_log(each, other, in_force)))
        for side in (
            [each for each in shown if _ahead_log(each, other, in_force) > 0],
            [each for each in shown if _ahead_log(each, other, in_force) < 0],
        )
        if side
    ]


def _ahead_log(judged: Judged, other: str, in_force: str) -> float:
    ahead = judged.ahead.get((other, in_force))
    return rule.capped(ahead.mean) if ahead is not None else 0.0


def _is_shown(judged: Judged, other: str, in_force: str) -> bool:
    return rule.is_better(judged, other, in_force) or rule.is_worse(judged, other, in_force)


def _row(judged: Judged, other: str, in_force: str) -> UseRow:
    mine, its = judged.of(in_force), judged.of(other)
    now, against = both_texts(mine.value if mine else None, its.value if its else None, judged.unit)
    return UseRow(judged.use, subject(judged), now, other, against, difference(judged, other, in_force), judged)


def difference(judged: Judged, setting: str, base: str) -> str:
    """What `setting` is against `base`: `21 % shorter`, `starved`, `within 10 %`, `open`."""
    ahead = judged.ahead.get((setting, base))
    if ahead is None:
        return "open"
    if _is_shown(judged, setting, base):
        if -ahead.mean > rule.CAP_LOG and judged.more_is_better:
            return "starved"
        factor = math.exp(ahead.mean if judged.more_is_better else -ahead.mean)
        return change_text(factor, judged)
    least, most = ahead.low(rule.ALPHA), ahead.high(rule.ALPHA)
    if -judged.limit_log <= least and most <= judged.limit_log:
        return within(judged.threshold)
    if max(abs(least), abs(most)) >= math.log(FACTOR_FROM):
        return "open"
    ends = (least, most) if judged.more_is_better else (-most, -least)
    low, high = (round(100 * math.expm1(each)) for each in ends)
    return f"open, {low:+d} to {high:+d} %".replace("-", "\N{MINUS SIGN}")


def change_text(factor: float, judged: Judged) -> str:
    """`21 % shorter`, `3.1× longer`, `>10× shorter`."""
    up, down = ("more", "less") if judged.more_is_better or judged.unit != "ms" else ("longer", "shorter")
    word, size = (up, factor) if factor >= 1 else (down, 1 / factor)
    if size > rule.STARVED_FACTOR:
        return f">{rule.STARVED_FACTOR:.0f}× {word}"
    if size >= FACTOR_FROM:
        return f"{factor_text(size)}× {word}"
    return f"{percent(abs(factor - 1))} {word}"


def log_loss(loss: float | None, judged: Judged) -> float:
    """A loss as a share on the log scale."""
    if loss is None:
        return math.inf
    return -math.log1p(-min(loss, 1 - 1e-12)) if judged.more_is_better else math.log1p(loss)


def groups_measured(asked: str | None, judged: Sequence[Judged]) -> tuple[str, ...]:
    """Of what `--for` named, what has figures: a name of a use or of a group; uses of own files by their names."""
    if asked is None:
        return ()
    words = [word.strip().rpartition("/")[2].removesuffix(".toml") for word in asked.split(",")]
    have = {each.use for each in judged} | {each.group for each in judged if each.group != LIMITS}
    return tuple(word for word in words if word in have)
