"""The answer in words, made from what is to be expected alone: headline, purposes and rows. Every output shows what is
made here.

Only what was measured is named, with the values of both sides: of the setting in force and of the one that is held
against it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seekwise.judge.decision import choose as rule
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.number_text import percent, span
from seekwise.report import next_programs
from seekwise.report.content import Answer
from seekwise.report.metric_words import both_texts, change_text, effect, subject
from seekwise.workload.purpose import PURPOSES, Purpose
from seekwise.workload.study.uses import LIMITS, weighed

EFFECTS_MOST = 2
"""Gains, and prices, that a sentence names."""
STRIKING_LOG = math.log(1.2)
"""A gain that is named although its setting is not advised; a difference of a setting that no answer names and that has
a row all the same."""
NO_REGRET = 0.0005
"""What rounds to nothing."""
LITTLE_REGRET = 0.10
"""What staying may cost at most where no more is said of it."""
TAILS = ("tail", "p99", "p999")
"""Kinds of figures of the slowest requests or units."""
WITHIN_MODEL = "within what the model can tell"


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
    unsteady: str = ""
    """Where what is in force differs from itself, in words."""
    purpose: Purpose | None = None
    """The purpose that was asked for by name."""

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

    def chosen(self, judged: Judged) -> str | None:
        """What is advised to those whom this figure is about."""
        choice = self.purposes.get(judged.purpose, self.choice)
        return choice.setting if choice is not None else None

    @property
    def purposes(self) -> dict[Purpose, Choice]:
        """Purposes that were measured, where nothing was asked for by name."""
        return {} if self.asked or self.purpose else dict(self.by_purpose)


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
    """The answer: what to set, for whom, what it brings and costs, how sure."""
    return together(answers(asked))


def together(parts: Sequence[Answer]) -> str:
    """Answers as one text."""
    return " ".join(part.text for part in parts)


def answers(asked: Question) -> list[Answer]:
    """One for each purpose that differs; last what else is to be said."""
    choice, keep = asked.choice, f"Keep {asked.in_force}"
    if choice is None:
        return [Answer(f"Not measured long enough to compare anything. {keep}.")]
    if not asked.deciding:
        apart = "These are limits of the device and its schedulers, shown apart from any recommendation"
        return [Answer(f"{apart}. {keep}.")]
    if choice.is_vetoed:
        unsteady = f"This storage is not steady enough to advise anything: {asked.unsteady}"
        return [Answer(f"{unsteady}. {keep}, and measure again when nothing else uses it.")]
    purposes = asked.purposes
    wanted = {purpose.setting for purpose in purposes.values()}
    # A named gain that is not advised is said with its price, whatever it is for.
    is_plain = not choice.changes and _most_striking(asked, None) is None
    open_ones = [name for name, purpose in purposes.items() if is_plain and _is_open(purpose, choice)]
    if len(purposes) > 1 and (len(wanted) > 1 or open_ones):
        # What changes first, then what may.
        ordered = sorted(purposes.items(), key=lambda pair: (not pair[1].changes, pair[0] not in open_ones))
        said = [_for(asked, choice, f"For {PURPOSES[name]}", name) for name, choice in ordered]
    elif asked.purpose is not None:
        said = [_for(asked, choice, f"For {PURPOSES[asked.purpose]}", asked.purpose)]
    else:
        whole = next(iter(purposes.values())) if len(wanted) == 1 and next(iter(wanted)) != asked.in_force else choice
        said = [_for(asked, whole, f"For {' and '.join(asked.asked)}" if asked.asked else "", None)]
    rest = _rest(asked)
    return [*said, Answer(rest)] if rest else said


def may_cost(asked: Question) -> bool:
    """Whether staying may cost what is worth a longer run."""
    choices = [
        choice for choice in (asked.choice, *asked.purposes.values()) if choice is not None and not choice.changes
    ]
    return any(choice.alternative is not None or choice.regret_high >= LITTLE_REGRET for choice in choices)


def _is_open(purpose: Choice, whole: Choice) -> bool:
    """Whether staying may well cost those of one purpose something that the average over all hides."""
    is_hidden = purpose.regret_high >= LITTLE_REGRET > whole.regret_high
    return not purpose.changes and (purpose.alternative is not None or is_hidden)


def _for(asked: Question, choice: Choice, whom: str, purpose: Purpose | None) -> Answer:
    """`For …: set bfq. Starts 1.4 times quicker (very likely 1.2 to 1.6); copy 20 % slower.`"""
    start = f"{whom}: " if whom else ""
    named = " and ".join(asked.asked)
    if choice.changes:
        verb = "set " if start else "Set "
        gains = _gains(asked, choice.setting, purpose)
        gains = gains or _effects(asked, choice.setting, better=True, purpose=purpose, probable=True)
        costs = _costs(asked, choice, choice.setting, probable=True)
        if not gains:
            gains = [f"about {percent(choice.expected_gain)} better on average ({100 * choice.p_gain:.0f} % sure)"]
        stays = next_programs.unchanged(next_programs.cells(asked.judged, [choice.setting]))
        if not costs and not any(
            standing.verdict == "unknown" for one in asked.judged if (standing := one.standing(choice.setting))
        ):
            stays.append(f"nothing measured{f' of {named}' if asked.asked else ''} gets worse")
        if not asked.is_set:
            # What a study compares with is no reader's setting in force.
            gains[0] = f"compared with {_base(asked.in_force, choice.setting)}: {gains[0]}"
        effects = [("+", gain) for gain in gains] + [("−", cost) for cost in costs] + [("=", same) for same in stays]
        return Answer(f"{start}{verb}{choice.setting}.", tuple(effects))
    keep = f"{start}{'keep' if start else 'Keep'} {choice.setting}"
    words = {s.verdict for each in asked.deciding for s in each.standings if s.setting != each.base}
    if choice.alternative is None and words == {"same"}:
        # What follows says it of all settings at once.
        return Answer(f"{keep}.")
    other = choice.alternative.setting if choice.alternative is not None else _most_striking(asked, purpose)
    gains = _gains(asked, other, purpose) if other is not None else []
    if other is not None and (gains or choice.alternative is not None):
        return _instead(asked, choice, keep, other, gains)
    # One colon in a sentence is enough.
    return Answer(f"{keep}{';' if start else ':'} {_bound(asked, choice)}.")


def _instead(asked: Question, choice: Choice, keep: str, other: str, gains: Sequence[str]) -> Answer:
    """`Keep none; bfq is probably better (75 %, about 6 % on average):`, or that it helps some and harms others, with what
    it brings and costs."""
    costs = _costs(asked, choice, other, probable=False)
    if choice.alternative is not None:
        sure = f"{100 * choice.alternative.p_better:.0f} %"
        said = f"is probably better ({sure}, about {percent(choice.alternative.expected_gain)} on average)"
    else:
        said = f"would help some and {'harm others' if costs else 'not the average over all uses'}"
    effects = [("+", gain) for gain in gains] + [("−", cost) for cost in costs]
    return Answer(f"{keep}; {other} {said}{':' if effects else '.'}", tuple(effects))


def _costs(asked: Question, choice: Choice, setting: str, *, probable: bool) -> list[str]:
    """What the setting makes worse: programs that nobody measured first, then what was measured."""
    worse = _effects(asked, setting, better=False, purpose=None, probable=probable)
    return [*next_programs.losses(choice.losers), *(["; ".join(worse)] if worse else [])]


def _base(base: str, chosen: str) -> str:
    """What the chosen setting is compared with: the words of its label in which it differs."""
    return " ".join(word for word in base.split() if word not in chosen.split()) or base


def _bound(asked: Question, choice: Choice) -> str:
    """What another setting brings at most."""
    if choice.regret_high < NO_REGRET:
        return f"no other {asked.what} is expected to bring anything"
    high = percent(choice.regret_high)
    if choice.regret_high < LITTLE_REGRET:
        return f"no other {asked.what} is expected to bring more than {high}"
    return f"another {asked.what} could bring {high} at most"


def _most_striking(asked: Question, purpose: Purpose | None) -> str | None:
    """The setting with the largest named gain that is not advised."""
    best: tuple[float, str] | None = None
    for entry in asked.deciding:
        if purpose not in (None, entry.purpose):
            continue
        for standing in entry.standings:
            size = abs(math.log(standing.ratio)) if standing.verdict == "better" and standing.ratio else 0.0
            if size >= STRIKING_LOG and (best is None or size > best[0]):
                best = (size, standing.setting)
    return best[1] if best else None


def _gains(asked: Question, setting: str, purpose: Purpose | None) -> list[str]:
    """Of programs that nobody measured where that is foretold, then of what was measured itself."""
    mine = [entry for entry in asked.judged if purpose in (None, entry.purpose)]
    foretold = next_programs.gains(next_programs.cells(mine, [setting]))
    return [*foretold, *_effects(asked, setting, better=True, purpose=purpose)]


def _effects(
    asked: Question, setting: str, *, better: bool, purpose: Purpose | None, probable: bool = False
) -> list[str]:
    """What a setting makes better (or worse) than what is in force, the most striking first; one for each thing that is
    counted. `probable`: also what is not sure, with its probability."""
    return list(
        dict.fromkeys(_named_effects(asked, setting, better=better, purpose=purpose, probable=probable).values())
    )


def _named_effects(
    asked: Question, setting: str, *, better: bool, purpose: Purpose | None, probable: bool = False
) -> dict[tuple[str, str], str]:
    """{what is counted: effect}, at most `EFFECTS_MOST`."""
    named_rows: list[tuple[float, str, Judged, CandidateVerdict]] = []
    for judged in asked.judged:
        standing = judged.standing(setting)
        if (
            standing is None
            or standing.ratio is None
            or standing.next is not None
            or not _goes(judged, standing, better=better, probable=probable)
        ):
            continue
        if better and purpose not in (None, judged.purpose):
            continue
        named_rows.append((abs(rule.capped(math.log(standing.ratio))), subject(judged), judged, standing))
    # What is sure before what is probable, times and rates before slow tails, which mostly say the same again.
    named_rows.sort(key=lambda row: (row[3].verdict == "unknown", row[2].kind in TAILS, -row[0]))
    if better:
        named_rows = [row for row in named_rows if row[2].kind not in TAILS] or named_rows
    by_use: dict[tuple[str, str], str] = {}
    for _, _, judged, standing in named_rows:
        # Of one kind of work in several uses the smallest gain, and the largest loss: what is said holds for each of
        # them.
        key = _counted(judged)
        if (better and standing.verdict != "unknown") or key not in by_use:
            by_use[key] = effect(judged, standing)
            if standing.verdict == "unknown":
                by_use[key] += f" ({100 * max(standing.p_better or 0.0, standing.p_worse or 0.0):.0f} % sure)"
    return dict(list(by_use.items())[:EFFECTS_MOST])


def _goes(judged: Judged, standing: CandidateVerdict, *, better: bool, probable: bool) -> bool:
    """Whether it is better (or worse), or with `probable` likely so."""
    if standing.verdict == "unknown":
        towards = (standing.p_better or 0.0) > (standing.p_worse or 0.0)
        return probable and judged.is_probable(standing) and towards == better
    return standing.verdict == ("better" if better else "worse")


def _counted(judged: Judged) -> tuple[str, str]:
    """What an effect is named by; loads of a study are all of their own."""
    return (judged.work or judged.job or judged.use, judged.job)


def _rest(asked: Question) -> str:
    """What does not depend on the setting, with its bound; empty where something is little known, or differs and was
    not named."""
    others = [(each, s) for each in asked.deciding for s in each.standings if s.setting != each.base]
    words = {s.verdict for _, s in others}
    if "unknown" in words or "same" not in words:
        return ""
    alike = words == {"same"}
    if not alike:
        # "Nothing else" follows where all that differs was named.
        named = {
            key
            for setting in opponents(asked)
            for better in (True, False)
            for key in _named_effects(asked, setting, better=better, purpose=None, probable=True)
        }
        if any(s.verdict != "same" and _counted(each) not in named for each, s in others):
            return ""
    if any(s.is_within_model for _, s in others):
        start = f"No {asked.what} makes a difference" if alike else f"Nothing else here depends on the {asked.what}"
        return f"{start} beyond what the model can tell."
    most = max(s.bound for _, s in others if s.bound is not None)
    if alike:
        return f"No {asked.what} makes a difference worth naming here (at most {percent(most)})."
    changes = any(each.changes for each in [asked.choice, *asked.purposes.values()] if each is not None)
    return f"Nothing else here depends on the {asked.what} (at most {percent(most)})." if changes else ""


def opponents(asked: Question) -> tuple[str, ...]:
    """The settings that all rows hold against the one in force: those that the headline names; empty: the most telling
    of each figure."""
    changed = tuple(dict.fromkeys(purpose.setting for purpose in asked.purposes.values() if purpose.changes))
    if changed:
        return changed
    if asked.setting != asked.in_force:
        return (asked.setting,)
    choices = [asked.choice, *asked.purposes.values()]
    probable = tuple(dict.fromkeys(each.alternative.setting for each in choices if each and each.alternative))
    if probable:
        return probable
    striking = _most_striking(asked, asked.purpose)
    return (striking,) if striking is not None else ()


def rows(asked: Question, *, every: bool = False) -> list[UseRow]:
    """A row for each figure that was measured, and one more where another setting differs by much; what differs most
    first.

    `every`: a row for every setting that was compared, those of a figure together.
    """
    against = opponents(asked)
    use_rows: list[tuple[tuple[tuple[int, float], ...], UseRow]] = []
    for judged in asked.judged:
        known = [
            s for s in judged.standings if s.setting != judged.base and s.value is not None and s.ratio is not None
        ]
        if not known or judged.standing(asked.in_force) is None:
            continue
        shown = known if every else _telling(judged, known, against, asked.purpose)
        first = (min(order(standing) for standing in shown),) if every else ()
        use_rows += [((*first, order(standing)), _row(judged, standing, asked)) for standing in shown]
    use_rows.sort(key=lambda pair: pair[0])
    return [row for _, row in use_rows]


def _telling(
    judged: Judged, known: Sequence[CandidateVerdict], against: Sequence[str], purpose: Purpose | None
) -> list[CandidateVerdict]:
    """Of the settings of a figure those that the answer names, and another that differs by much."""
    shown = [s for s in known if s.setting in against]
    striking = max(known, key=_size)
    if purpose not in (None, judged.purpose):
        # Of what the purpose does not ask about, only what it costs.
        return [s for s in shown if s.verdict == "worse"]
    if not shown or (
        striking.setting not in against
        and striking.verdict in ("better", "worse")
        and _size(striking) >= max(map(_size, shown)) + STRIKING_LOG
    ):
        shown.append(striking)
    return shown


def _size(standing: CandidateVerdict) -> float:
    return abs(rule.capped(math.log(standing.ratio))) if standing.ratio else 0.0


def order(standing: CandidateVerdict) -> tuple[int, float]:
    """Where it stands among others: what differs most first, what is alike last."""
    return {"better": 0, "worse": 0, "unknown": 1, "same": 2}[standing.verdict], -_size(standing)


def _row(judged: Judged, standing: CandidateVerdict, asked: Question) -> UseRow:
    """Of a run that was measured, the setting in force with its value and the other one with what is to be expected of
    it: both agree with the difference beside them."""
    mine = judged.standing(asked.in_force)
    value, other = mine.value if mine else None, standing.value
    if asked.is_set and value is not None and standing.ratio is not None:
        other = value * standing.ratio
    now, against = both_texts(value, other, judged.unit)
    return UseRow(judged.use, subject(judged), now, standing.setting, against, statement(judged, standing), judged)


def statement(judged: Judged, standing: CandidateVerdict) -> str:
    """What a setting is against the one in force: `26 % shorter (20 to 31)`, `no difference (below 5 %)`,
    `not measured long enough: −20 to +30 %`."""
    text = _statement(judged, standing)
    base = judged.standing(judged.base)
    usual = base.stalls / max(base.periods, 1) if base is not None else 0.0
    if standing.stalls >= 2 and standing.stalls / max(standing.periods, 1) > usual:
        text += f"; stood still in {standing.stalls} of {standing.periods} periods"
    return text


def _statement(judged: Judged, standing: CandidateVerdict) -> str:
    if standing.setting == judged.base:
        return "in force"
    if standing.ratio is None or standing.low is None or standing.high is None:
        return "not measured"
    if standing.verdict == "same" and standing.is_within_model:
        return WITHIN_MODEL
    if standing.verdict == "same" and standing.bound is not None:
        return f"no difference (below {percent(standing.bound)})"
    if standing.verdict in ("better", "worse"):
        return change_text(standing, judged)
    if judged.is_probable(standing):
        sure = max(standing.p_better or 0.0, standing.p_worse or 0.0)
        return f"probably {change_text(standing, judged)}, {100 * sure:.0f} % sure"
    return f"not measured long enough: {span(standing.low, standing.high)}"


def at_most(asked: Question) -> str:
    """How much the answer may lose; empty where nothing is known."""
    choice = asked.choice
    return (
        f"another could bring {percent(choice.regret_high)} at most"
        if choice is not None and choice.regret_high > 0
        else ""
    )


def groups_measured(asked: str | None, judged: Sequence[Judged]) -> tuple[str, ...]:
    """Of what `--for` named, what has figures: a name of a use or of a group; uses of own files by their names. With
    its weight where it has one."""
    if asked is None:
        return ()
    words = [weighed(word.strip()) for word in asked.split(",")]
    named = [(word.rpartition("/")[2].removesuffix(".toml"), weight) for word, weight in words]
    have = {entry.use for entry in judged} | {entry.group for entry in judged if entry.group != LIMITS}
    return tuple(f"{word} (weight {weight:g})" if weight else word for word, weight in named if word in have)
