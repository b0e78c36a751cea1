"""The answer of a live-switched run on a terminal: at most 25 lines of 80 columns, the decision first, no column cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.judge.outcome import LiveOutcome, no_verdict, notes, seconds_more
from seekwise.report import answered, stages
from seekwise.report.answered import Question, UseRow, log_loss
from seekwise.report.layout import columns, joined, wrapped
from seekwise.report.metric_words import amount, open_bound, within

LINES_MOST = 25
NOTES_MOST = 2
OTHERWISE = {
    "simulated": "Simulated, not measured",
    "virtual": "The real kernel on a virtual drive, not this machine's",
}
BUDGETS_MIN = (5, 10, 20, 30, 60)
"""Budgets to offer, in minutes."""
OPTIMISM = 2.0
"""Time that is computed from estimates decides half of what it promises."""


def question(found: LiveOutcome) -> Question:
    """What the answer of this run is made from."""
    measured = tuple(each for each in found.found.judged if each.rounds)
    varied = {name for each in found.plan.candidates for name in each.values}
    return Question(
        measured,
        found.choice,
        found.plan.in_force.label,
        found.found.by_purpose if found.choice is not None else {},
        answered.groups_measured(found.plan.group, measured),
        "scheduler" if varied == {"scheduler"} else "setting",
    )


def headline(found: LiveOutcome) -> str:
    """The answer in words, the same in every output."""
    reason = no_verdict(found)
    if reason:
        return f"{reason.rstrip('.')}. Keep {found.plan.in_force.label}."
    return answered.headline(question(found))


def rows(found: LiveOutcome) -> list[UseRow]:
    """One row per use with the values of both sides."""
    return answered.rows(question(found))


def mark(found: LiveOutcome) -> str:
    """What must stand before an answer that was not measured on the machine."""
    return (
        f"{OTHERWISE[found.plan.provenance]}: {found.plan.stack[0].split(';')[0]}."
        if found.plan.provenance in OTHERWISE
        else ""
    )


def loss_text(standing: CandidateVerdict | None, judged: Judged) -> str:
    """What one candidate loses here, in a few words."""
    if standing is None or standing.loss is None:
        return "not measured"
    if standing.verdict == "best":
        return "best"
    if standing.verdict == "within":
        return within(judged.threshold)
    if standing.verdict == "undecided":
        if standing.high is None:
            return "open"
        return open_bound(standing.high, judged.more_is_better, judged.metric)
    return amount(standing.loss, judged.more_is_better, judged.metric)


def deciding(judged: Sequence[Judged], settings: Sequence[str]) -> Judged:
    """Of one use, the metric by which one of these settings loses most; where nothing is shown, the one that is least known."""

    def weight(each: Judged) -> tuple[int, float]:
        standings = [standing for name in settings if (standing := each.of(name)) is not None]
        shown = [log_loss(standing.loss, each) for standing in standings if standing.verdict == "worse"]
        if shown:
            return 2, max(shown)
        is_open = any(standing.verdict == "undecided" for standing in standings)
        return (1 if is_open else 0), max(
            (log_loss(s.high, each) for s in standings if s.high is not None), default=9.0
        )

    return max(judged, key=weight)


def best_text(judged: Judged) -> str:
    """Names of the best; `all alike` for a tie of all; `open` while nobody is shown to be."""
    best = judged.best
    if not best:
        worse = [each.setting for each in judged.standings if each.verdict == "worse"]
        return f"not {', '.join(worse)}" if worse else "open"
    if len(best) == len(judged.standings) and len(best) > 1:
        return "all alike"
    return ", ".join(best)


def open_text(found: LiveOutcome) -> str | None:
    """How much was not decided, and the budget that decides more of it; None also where no budget would (no load, or too uneven a one)."""
    if no_verdict(found) is not None:
        return None
    count = sum(len(each.standings) for each in found.found.judged)
    undecided = [(each, standing) for each in found.found.judged for standing in each.open]
    if found.choice is None and found.plan.provenance == "measured":
        return f"Measure longer: --budget {_next_budget(found.plan.budget_s)}m."
    if not undecided:
        return None
    text = f"{len(undecided)} of {count} comparisons are open"
    minutes = _budget_minutes(found, [each for each, _ in undecided])
    return f"{text}; --budget {minutes}m decides more." if minutes else f"{text}."


def _next_budget(seconds: float) -> int:
    """Minutes of a budget several times as long as the one that was too short."""
    return max(2, math.ceil(4 * seconds / 60))


def _budget_minutes(found: LiveOutcome, undecided: Sequence[Judged]) -> int | None:
    """A budget in which about half of what is open is decided; None where none that is offered suffices."""
    if found.plan.provenance != "measured":
        return None
    # One more stretch of a use decides all that it can: its entries are measured together.
    needs: dict[str, float] = {}
    for each in undecided:
        more = seconds_more(found, each)
        if more is not None:
            needs[each.use] = max(needs.get(each.use, 0.0), more)
    if not needs:
        return None
    ordered = sorted(needs.values())
    wanted_s = found.plan.budget_s + OPTIMISM * sum(ordered[: (len(ordered) + 1) // 2])
    return next((each for each in BUDGETS_MIN if 60 * each >= wanted_s), None)


def lines(found: LiveOutcome, report: str | None = None, width: int = 80, *, everything: bool = False) -> list[str]:
    """Everything for the terminal, answer first. `everything`: all rows and notes, however many lines."""
    width = min(width, 80)
    head = [*wrapped(mark(found), width), *wrapped(headline(found), width), ""]
    said = [*stages.sentences(found), *notes(found)]
    said = said if everything else said[: max(NOTES_MOST, len(stages.sentences(found)))]
    tail = [line for text in (open_text(found), *said) if text for line in wrapped(f"{text.rstrip('.')}.", width)]
    for label, each in (("set: ", found.lines.set), ("undo:", found.lines.undo)):
        tail += [f"{label} {line}" for line in each[:2]]
    # A line is kept for the report's path, so that the table is the same wherever it is shown.
    room = 10**6 if everything else LINES_MOST - len(head) - len(tail) - 2
    shown = row_lines(question(found), room, width)
    return [*head, *shown, *([""] if shown else []), *tail, *([report] if report is not None else [])]


def row_lines(asked: Question, room: int, width: int) -> list[str]:
    """A table without frame. Columns that are too long are wrapped within their width, never cut."""
    made = answered.rows(asked)
    if not made:
        return []
    single = answered.opponent(asked)
    heads = ["Use", "Figure", asked.now, single or "best other", "Difference"]
    body = [
        [
            row.use,
            row.subject,
            joined(row.now),
            joined(row.other_value) if single else f"{row.other} {joined(row.other_value)}",
            row.words,
        ]
        for row in made
    ]
    for number in range(1, len(body)):
        if body[number][0] == body[number - 1][0] or made[number].use == made[number - 1].use:
            body[number] = ["", *body[number][1:]]
    cells = columns(heads, body, width)
    shown: list[str] = []
    for number, block in enumerate(cells):
        left = len(cells) - number
        if len(shown) + len(block) + (1 if left > 1 else 0) > room:
            shown.append(f"… and {left} more {'row' if left == 1 else 'rows'} in the report")
            break
        shown += block
    return shown
