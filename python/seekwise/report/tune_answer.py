"""The answer of a live-switched run on a terminal: at most 20 lines of 80 columns, the decision first, no column
cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.outcome import LiveOutcome, no_verdict, notes
from seekwise.number_text import percent
from seekwise.report import answered, stages
from seekwise.report.answered import Question, UseRow
from seekwise.report.layout import columns, joined, wrapped
from seekwise.report.metric_words import subject

LINES_MOST = 20
"""With the storage above it, or what `results` prints around it, and the prompt, a screen of 24."""
NOTES_MOST = 2
OTHERWISE = {
    "simulated": "Simulated, not measured",
    "virtual": "The real kernel on a virtual drive, not this machine's",
}
BUDGETS_MIN = (5, 10, 20, 30, 60)
"""Budgets to offer, in minutes."""


def question(outcome: LiveOutcome) -> Question:
    """What the answer of this run is made from."""
    measured = tuple(entry for entry in outcome.decided.judged if entry.rounds)
    varied = {name for candidate in outcome.plan.candidates for name in candidate.values}
    return Question(
        measured,
        outcome.choice,
        outcome.plan.in_force.label,
        outcome.decided.by_purpose if outcome.choice is not None else {},
        answered.groups_measured(outcome.plan.group, measured) if outcome.purpose is None else (),
        "scheduler" if varied == {"scheduler"} else "setting",
        unsteady=_unsteady(outcome),
        purpose=outcome.purpose,
    )


def _unsteady(outcome: LiveOutcome) -> str:
    """`mq-deadline differs from itself (copy throughput in desktop-copy, by 30 %)`."""
    if not outcome.decided.unsteady:
        return ""
    entry, known = max(outcome.decided.unsteady, key=lambda pair: abs(pair[1].mean))
    judged = next(
        (figure for figure in outcome.decided.judged if (figure.use, figure.metric) == (entry.use, entry.metric)), None
    )
    what = f"{subject(judged)} in {entry.use}, " if judged is not None else f"in {entry.use}, "
    return f"{outcome.plan.in_force.label} differs from itself ({what}by {percent(math.expm1(abs(known.mean)))})"


def headline(outcome: LiveOutcome) -> str:
    """The answer in words, the same in every output."""
    reason = no_verdict(outcome)
    if reason:
        return f"{reason.rstrip('.')}. Keep {outcome.plan.in_force.label}."
    return answered.headline(question(outcome)) + _others(outcome)


OTHERS_LEAST_PER_S = 100
"""Requests of others from which on a disk counts as shared; a quiet system writes some ten per second."""


def _others(outcome: LiveOutcome) -> str:
    """That something else used the storage when the run began; empty where next to nothing did."""
    rate = outcome.plan.extra.get("others_per_s", 0)
    if not isinstance(rate, int) or rate < OTHERS_LEAST_PER_S:
        return ""
    return f" Something else used this storage ({rate:,} requests per second before the run): the answer holds with that load."


def rows(outcome: LiveOutcome) -> list[UseRow]:
    """A row for each figure with the values of both sides."""
    return answered.rows(question(outcome))


def mark(outcome: LiveOutcome) -> str:
    """What must stand before an answer that was not measured on the machine."""
    return (
        f"{OTHERWISE[outcome.plan.provenance]}: {outcome.plan.stack[0].split(';')[0]}."
        if outcome.plan.provenance in OTHERWISE
        else ""
    )


def best_text(judged: Judged) -> str:
    """Names of the best; `all alike` for a tie of all; empty while nobody is known to be."""
    best = judged.best
    if len(best) == len(judged.standings) and len(best) > 1:
        return "all alike"
    return ", ".join(best)


def open_text(outcome: LiveOutcome) -> str | None:
    """How much was not measured long enough, and the budget that tells more; None where nothing is left to tell."""
    if no_verdict(outcome) is not None or outcome.decided.unsteady:
        return None
    others = [(entry, s) for entry in outcome.decided.judged for s in entry.standings if s.setting != entry.base]
    unknown = sum(s.verdict == "unknown" and not other.is_probable(s) for other, s in others)
    text = f"{unknown} of {len(others)} comparisons were not measured long enough" if unknown else ""
    if outcome.plan.provenance != "measured":
        return f"{text}." if text else None
    if outcome.choice is not None and not unknown and not answered.may_cost(question(outcome)):
        return None
    return f"{text}{'; ' if text else ''}--budget {_next_budget(outcome.plan.budget_s)}m tells more."


def _next_budget(seconds: float) -> int:
    """Minutes of a budget several times as long as this one."""
    return next((minutes for minutes in BUDGETS_MIN if 60 * minutes >= 2 * seconds), BUDGETS_MIN[-1])


def next_command(outcome: LiveOutcome, run: str = "last", purpose: str | None = None) -> str:
    """What to type after this answer, other choices as a comment of the shell. `purpose`: what the answer was asked for afterwards."""
    plan, typed = outcome.plan, outcome.run.typed
    if plan.provenance != "measured":
        uses = f" --for {plan.group}" if plan.group else ""
        return f"sudo seekwise tune PATH{uses}  # measures"
    if outcome.lines.set:
        return typed(f"sudo seekwise apply {run}{f' --for {purpose}' if purpose else ''}")
    changed = [purpose for purpose, choice in question(outcome).purposes.items() if choice.changes]
    if changed:
        others = "".join(f" or --for {each}" for each in changed[1:])
        return typed(f"sudo seekwise apply {run} --for {changed[0]}") + (f"  #{others}" if others else "")
    return typed(f"seekwise results {run} --all")


def lines(outcome: LiveOutcome, report: str | None = None, width: int = 80, *, everything: bool = False) -> list[str]:
    """Everything for the terminal, answer first. `everything`: all rows and notes, however many lines."""
    width = min(width, 80)
    head = [*wrapped(mark(outcome), width), *wrapped(headline(outcome), width), ""]
    said = [*stages.sentences(outcome), *notes(outcome)]
    said = said if everything else said[: max(NOTES_MOST, len(stages.sentences(outcome)))]
    tail = [line for text in (open_text(outcome), *said) if text for line in wrapped(f"{text.rstrip('.')}.", width)]
    for label, commands in (("set: ", outcome.lines.set), ("undo:", outcome.lines.undo)):
        tail += [f"{label} {line}" for line in commands[:2]]
    # A line is kept for the report's path, so that the table is the same wherever it is shown.
    room = 10**6 if everything else LINES_MOST - len(head) - len(tail) - 2
    shown = row_lines(question(outcome), room, width, every=everything)
    return [*head, *shown, *([""] if shown else []), *tail, *([report] if report is not None else [])]


def row_lines(asked: Question, room: int, width: int, *, every: bool = False) -> list[str]:
    """A table without frame. Columns that are too long are wrapped within their width, never cut. `every`: of all
    settings, not of the telling ones."""
    made = answered.rows(asked, every=every)
    if not made:
        return []
    others = list(dict.fromkeys(row.other for row in made))
    single = others[0] if len(others) == 1 else None
    other = single or "other"
    heads = ["Use", "Figure", asked.now, f"{other} (expected)" if asked.is_set else other, "Difference"]
    common = _common([row.use for row in made])
    below = wrapped(f"Each: {', '.join(common)}.", width) if common else []
    room -= len(below)
    body = [
        [
            ", ".join(part for part in row.use.split(", ") if part not in common),
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
    return [*shown, *below]


def _common(uses: Sequence[str]) -> list[str]:
    """What every load has besides its operation: said once below the table."""
    first, *others = [use.split(", ") for use in dict.fromkeys(uses)]
    return [part for part in first[1:] if all(part in other for other in others)] if others else []
