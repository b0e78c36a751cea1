"""The answer of a live-switched run on a terminal: at most 20 lines of 80 columns, the decision first, no column
cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise import invocation
from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.outcome import LiveOutcome, no_verdict, notes
from seekwise.number_text import percent
from seekwise.report import answered, next_programs, stages
from seekwise.report.answered import Question
from seekwise.report.content import Advice, Answer, ReportContent
from seekwise.report.layout import WIDTH, columns, common_parts, joined, own_parts, wrapped
from seekwise.report.metric_words import subject
from seekwise.store.record import environment_of
from seekwise.workload.study.quantity import time_text

LINES_MOST = 20
"""With the storage above it, or what `results` prints around it, and the prompt, a screen of 24."""
NOTES_MOST = 2
"""One beside a picture."""
TABLE_LEAST = 3
"""A table of fewer lines is left to the report."""
PICTURE_LEAST = 6
"""Lines of what is foretold, however long the rest is."""
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


def answers(outcome: LiveOutcome) -> list[Answer]:
    """The answer in words, the same in every output."""
    if reason := no_verdict(outcome):
        return [Answer(f"{reason.rstrip('.')}. Keep {outcome.plan.in_force.label}.")]
    return [*answered.answers(question(outcome)), *_others(outcome)]


OTHERS_LEAST_PER_S = 100
"""Requests of others from which on a disk counts as shared; a quiet system writes some ten per second."""


def _others(outcome: LiveOutcome) -> list[Answer]:
    """That something else used the storage when the run began; empty where next to nothing did."""
    rate = outcome.plan.extra.get("others_per_s", 0)
    if not isinstance(rate, int) or rate < OTHERS_LEAST_PER_S:
        return []
    with_load = f"({rate:,} requests per second before the run): the answer holds with that load."
    return [Answer(f"Something else used this storage {with_load}")]


def content(outcome: LiveOutcome) -> ReportContent:
    """Everything that is shown of the run."""
    plan, shell, asked, said = outcome.plan, outcome.lines, question(outcome), answers(outcome)
    reasons = tuple(f"{row.use}, {row.subject}: {row.words}" for row in answered.rows(asked))
    return ReportContent(
        run_id=outcome.run.run_id,
        title=f"{plan.target} · {plan.name}" if plan.name else plan.target,
        subject=plan.target,
        provenance=plan.provenance,
        advice=Advice(answered.together(said), reasons, shell.set, shell.undo, answers=tuple(said)),
        records=outcome.records,
        rule="",
        question=asked,
        stack_lines=plan.stack,
        environment=environment_of(outcome.records),
        notes=notes(outcome),
        run=outcome.run,
        discarded=[record for record in outcome.records if not record.valid],
        live=outcome,
    )


def what(outcome: LiveOutcome) -> str:
    """`tune of /srv on vda, 2 minutes`, after the run's own name."""
    plan = outcome.plan
    drives = f" on {', '.join(plan.current)}" if plan.current else ""
    minutes = round(outcome.seconds / 60)
    took = f"{minutes} minute{'s' if minutes != 1 else ''}" if minutes else time_text(outcome.seconds)
    name = f"{outcome.run.given_name}, " if outcome.run.given_name else ""
    return f"{name}tune of {outcome.run.target or plan.stack[0].split(';')[0]}{drives}, {took}"


def next_cells(outcome: LiveOutcome) -> list[next_programs.Cell]:
    """What the setting that the answer names does to programs that nobody measured, kind by kind."""
    asked = question(outcome)
    named = answered.opponents(asked)[:1] if no_verdict(outcome) is None else ()
    return next_programs.cells(asked.judged, named)


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
        return invocation.line(f"sudo seekwise tune .{uses}  # measures here")
    return apply_command(outcome, run, purpose) or typed(f"seekwise results {run} --all")


def apply_command(outcome: LiveOutcome, run: str = "last", purpose: str | None = None) -> str | None:
    """What sets this answer, or that for a purpose which wants something else; None where nothing is to be set here."""
    typed = outcome.run.typed
    if outcome.plan.provenance != "measured":
        return None
    if outcome.lines.set:
        return typed(f"sudo seekwise apply {run}{f' --for {purpose}' if purpose else ''}")
    changed = [purpose for purpose, choice in question(outcome).purposes.items() if choice.changes]
    if not changed:
        return None
    others = "".join(f" or --for {each}" for each in changed[1:])
    return typed(f"sudo seekwise apply {run} --for {changed[0]}") + (f"  #{others}" if others else "")


def lines(content: ReportContent, width: int = WIDTH, *, everything: bool = False) -> list[str]:
    """Everything for the terminal, answer first. `everything`: all rows and notes, however many lines."""
    outcome, asked = content.live, content.question
    assert outcome is not None and asked is not None
    width = min(width, WIDTH)
    head = [*wrapped(mark(outcome), width), *answer_lines(content.advice.answers, width), ""]
    said = [
        *stages.sentences(outcome),
        *filter(None, [next_programs.headroom(outcome.decided.judged)]),
        *content.notes,
    ]
    cells = next_cells(outcome)
    # Beside a picture a long answer leaves no room for any.
    least = NOTES_MOST - bool(cells) - (bool(cells) and len(head) >= LINES_MOST // 2)
    said = said if everything else said[: max(least, len(stages.sentences(outcome)))]
    tail = [line for text in (open_text(outcome), *said) if text for line in wrapped(f"{text.rstrip('.')}.", width)]
    for label, commands in (("set: ", content.advice.set_lines), ("undo:", content.advice.undo_lines)):
        tail += [f"{label} {line}" for line in commands[:2]]
    # A line is kept for the report's path, so that the table is the same wherever it is shown.
    most = 10**6 if everything else max(PICTURE_LEAST, LINES_MOST - len(head) - len(tail) - 2)
    picture = next_programs.picture_lines(cells, most)
    head += [*picture, ""] if picture else []
    room = 10**6 if everything else LINES_MOST - len(head) - len(tail) - 2
    shown = row_lines(asked, room, width, every=everything)
    return [*head, *shown, *([""] if shown else []), *tail]


def answer_lines(answers: Sequence[Answer], width: int) -> list[str]:
    """What to set, and below it an effect a line, so that gains and costs are seen before they are read."""
    found = []
    for answer in answers:
        found += wrapped(answer.what, width)
        for sign, effect in answer.effects:
            found += wrapped(f"{sign} {effect}", width, then="  ")
    return found


def row_lines(asked: Question, room: int, width: int, *, every: bool = False) -> list[str]:
    """A table without frame. Columns that are too long are wrapped within their width, never cut. `every`: of all
    settings, not of the telling ones."""
    made = answered.rows(asked, every=every)
    if not made or room < TABLE_LEAST:
        return []
    others = list(dict.fromkeys(row.other for row in made))
    single = others[0] if len(others) == 1 else None
    other = single or "other"
    heads = ["Use", "Figure", asked.now, f"{other} (expected)" if asked.is_set else other, "Difference"]
    common = common_parts(list(dict.fromkeys(row.use for row in made)))
    below = wrapped(f"Each: {', '.join(common)}.", width) if common else []
    room -= len(below)
    body = [
        [
            own_parts(row.use, common),
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
            if number < 2:
                # A head without a row says nothing.
                return []
            shown.append(f"… and {left} more {'row' if left == 1 else 'rows'} in the report")
            break
        shown += block
    return [*shown, *below]
