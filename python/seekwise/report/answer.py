"""The answer of a live-switched run in words: at most 25 lines of 80 columns, the decision first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from seekwise.analysis.decision.choose import Choice, Loss
from seekwise.analysis.decision.verdicts import Judged, Standing
from seekwise.report import stages
from seekwise.report.live import LiveOutcome, no_verdict, notes, seconds_more
from seekwise.report.metric_words import FACTOR_FROM, amount, factor_text, metric_name, open_bound, percent
from seekwise.study.quantity import about_text

ROWS_MAX = 12
OTHERWISE = {
    "simulated": "Simulated, not measured",
    "virtual": "The real kernel on a virtual drive, not this machine's",
}


def loss_text(standing: Standing | None, judged: Judged) -> str:
    """What one candidate loses here, in a few words."""
    if standing is None or standing.loss is None:
        return "not measured"
    if standing.verdict == "best":
        return "best"
    if standing.verdict == "within":
        return f"within {percent(judged.threshold)}"
    if standing.verdict == "undecided":
        if standing.high is None:
            return "open"
        return open_bound(standing.high, judged.more_is_better, judged.metric)
    return _amount(standing.loss, judged)


def _amount(loss: float, judged: Judged) -> str:
    return amount(loss, judged.more_is_better, judged.metric)


def headline(found: LiveOutcome) -> str:
    """The decision in one sentence, with what it costs at most and how sure that is."""
    choice = found.choice
    if choice is None:
        reason = no_verdict(found)
        return f"{reason}. Keep {found.plan.in_force.label}." if reason else "Inconclusive: nothing was measured."
    group = f" for {', '.join(found.plan.group.split(','))}" if found.plan.group else ""
    verb = f"Set {choice.setting}{group}" if choice.changes else f"Keep {choice.setting}{group}"
    relevant = _relevant(found)
    if choice.basis == "safe":
        uses = len({each.use for each in relevant})
        where = f"in none of {uses} uses" if uses > 1 else "it is not"
        most = max((s.high for j in relevant if (s := j.of(choice.setting)) and s.high is not None), default=0.0)
        price = _price(choice, found)
        return f"{verb}: {where} more than {percent(max(most, 0.001))} behind the best (95 %)" + (
            f"; {price}." if price else "."
        )
    if not any(each.disagrees for each in relevant):
        if choice.worst is None or choice.worst.high is None:
            return f"{verb}. Inconclusive: no other setting proved better in this time."
        bounds = [(s.high, j) for j in relevant if (s := j.of(choice.setting)) is not None and s.high is not None]
        most = max(bounds, key=lambda each: _log_loss(*each))
        return (
            f"{verb}: no other setting proved better; its {metric_name(most[1])} in {most[1].use} is at most "
            f"{_amount(most[0], most[1])} than the best (95 %)."
        )
    return f"{verb}: {_trade_off(choice, found)}"


def mark(found: LiveOutcome) -> str:
    """What must stand before an answer that was not measured on the machine."""
    return (
        f"{OTHERWISE[found.plan.provenance]}: {found.plan.stack[0].split(';')[0]}."
        if found.plan.provenance in OTHERWISE
        else ""
    )


def _relevant(found: LiveOutcome) -> list[Judged]:
    if found.plan.group is None:
        return list(found.found.judged)
    return [each for each in found.found.judged if each.role == "foreground"]


def _entry(loss: Loss, found: LiveOutcome) -> Judged:
    return next(j for j in found.found.judged if j.use == loss.use and j.metric == loss.metric)


def _trade_off(choice: Choice, found: LiveOutcome) -> str:
    """What the choice gains over the setting in force, and where it loses most."""
    parts = []
    if choice.gains:
        gain = max(choice.gains, key=lambda each: _log_loss(each.share, _entry(each, found)))
        entry = _entry(gain, found)
        standing = entry.of(found.plan.in_force.label)
        if standing is not None:
            parts.append(f"{metric_name(entry)} in {entry.use} {_better(standing, entry)}")
    if parts and (price := _price(choice, found)):
        parts.append(price)
    worst = _shown_worst(choice.setting, _relevant(found))
    if worst is not None:
        entry, standing = worst
        others = ", ".join(entry.best)
        parts.append(
            f"no setting is best at everything; it loses most in {entry.use}: "
            f"{_amount(standing.loss or 0.0, entry)} {metric_name(entry)}" + (f" than with {others}" if others else "")
        )
    return "; ".join(parts) + "." if parts else "no other setting proved better."


def _price(choice: Choice, found: LiveOutcome) -> str | None:
    """What the background pays where only the foreground was asked for, and the choice changes something."""
    if not choice.changes or found.plan.group is None:
        return None
    background = [each for each in found.found.judged if each.role != "foreground"]
    cost = _greatest_cost(choice.setting, found.plan.in_force.label, background)
    if cost is None:
        return None
    entry, share = cost
    return f"its price: {_amount(share, entry)} {metric_name(entry)} in {entry.use}"


def _greatest_cost(setting: str, instead_of: str, judged: Sequence[Judged]) -> tuple[Judged, float] | None:
    """(metric, share lost) where a setting that is shown to be worse is furthest behind the one that it replaces."""
    found = []
    for each in judged:
        mine, other = each.of(setting), each.of(instead_of)
        if mine is None or other is None or mine.verdict != "worse" or mine.factor is None or other.factor is None:
            continue
        ratio = mine.factor / other.factor
        share = 1 - 1 / ratio if each.more_is_better else ratio - 1
        if share > each.threshold:
            found.append((math.log(ratio), each, share))
    if not found:
        return None
    _, entry, share = max(found, key=lambda each: each[0])
    return entry, share


def _shown_worst(setting: str, judged: list[Judged]) -> tuple[Judged, Standing] | None:
    shown = [
        (each, standing)
        for each in judged
        if (standing := each.of(setting)) is not None and standing.verdict == "worse"
    ]
    return max(shown, key=lambda pair: _log_loss(pair[1].loss, pair[0]), default=None)


def rows(found: LiveOutcome) -> list[tuple[str, str, str, str]]:
    """(use and metric, best, loss of the chosen setting, loss of the setting in force): a row per use, by what decides there."""
    choice = found.choice
    chosen = choice.setting if choice is not None else found.plan.in_force.label
    now = found.plan.in_force.label
    made = []
    for use in dict.fromkeys(each.use for each in found.found.judged):
        each = deciding(_of_use(found, use), (chosen, now))
        made.append(
            (
                f"{use}: {metric_name(each)}",
                best_text(each),
                loss_text(each.of(chosen), each),
                loss_text(each.of(now), each),
            )
        )
    return made


def deciding(judged: Sequence[Judged], settings: Sequence[str]) -> Judged:
    """Of one use, the metric by which one of these settings loses most; where nothing is shown, the one that is least known."""

    def weight(each: Judged) -> tuple[int, float]:
        standings = [standing for name in settings if (standing := each.of(name)) is not None]
        shown = [_log_loss(standing.loss, each) for standing in standings if standing.verdict == "worse"]
        if shown:
            return 2, max(shown)
        is_open = any(standing.verdict == "undecided" for standing in standings)
        return (1 if is_open else 0), max(
            (_log_loss(s.high, each) for s in standings if s.high is not None), default=9.0
        )

    return max(judged, key=weight)


def _log_loss(loss: float | None, judged: Judged) -> float:
    if loss is None:
        return math.inf
    return -math.log1p(-min(loss, 1 - 1e-12)) if judged.more_is_better else math.log1p(loss)


def _of_use(found: LiveOutcome, use: str) -> list[Judged]:
    return [each for each in found.found.judged if each.use == use]


def best_text(judged: Judged) -> str:
    """Names of the best; `all alike` for a tie of all; `open` while nobody is shown to be."""
    best = judged.best
    if not best:
        worse = [each.setting for each in judged.standings if each.verdict == "worse"]
        return f"not {', '.join(worse)}" if worse else "open"
    if len(best) == len(judged.standings) and len(best) > 1:
        return "all alike"
    return ", ".join(best)


def alternatives(found: LiveOutcome) -> list[str]:
    """Choices for single groups of uses that differ from the overall one, with their price."""
    said = []
    choice = found.choice
    for group, own in found.found.by_group.items():
        if choice is None or own.setting == choice.setting or found.plan.group is not None:
            continue
        mine = [each for each in found.found.judged if each.group == group]
        gains = [
            (each, standing)
            for each in mine
            if each.role == "foreground"
            and (standing := each.of(choice.setting)) is not None
            and standing.verdict == "worse"
            and standing.loss is not None
        ]
        if not gains:
            continue
        entry, standing = max(gains, key=lambda pair: pair[1].loss or 0.0)
        text = f"For {group} alone {own.setting}: {metric_name(entry)} {_better(standing, entry)} than with {choice.setting}"
        if cost := _greatest_cost(own.setting, choice.setting, found.found.judged):
            worst, share = cost
            text += f"; its price: {_amount(share, worst)} {metric_name(worst)} ({worst.use})"
        said.append(text)
    return said


def _better(standing: Standing, judged: Judged) -> str:
    """How much better the best is than this standing, as `150 times shorter`."""
    factor = standing.factor or 1.0
    if factor >= FACTOR_FROM:
        return f"{factor_text(factor)} times {'higher' if judged.more_is_better else 'shorter'}"
    return f"{percent(factor - 1 if judged.more_is_better else 1 - 1 / factor)} {'higher' if judged.more_is_better else 'shorter'}"


def open_text(found: LiveOutcome) -> str | None:
    """What was not decided, with a bound and what it would take."""
    count = sum(len(each.standings) for each in found.found.judged)
    undecided = [(each, standing) for each in found.found.judged for standing in each.open]
    if not undecided:
        return None
    bounds = sorted(standing.high if standing.high is not None else math.inf for _, standing in undecided)
    middle = bounds[len(bounds) // 2]
    text = f"Open: {len(undecided)} of {count} comparisons"
    if middle < FACTOR_FROM - 1:
        text += f", half of them at most {percent(middle)} behind the best"
    # One more stretch of a use decides all that it can: its entries are measured together.
    needs: dict[str, float] = {}
    for each, _ in undecided:
        more = seconds_more(found, each)
        if more is not None:
            needs[each.use] = max(needs.get(each.use, 0.0), more)
    ordered = sorted(needs.values())
    half = sum(ordered[: (len(ordered) + 1) // 2])
    if half > 0 and found.plan.provenance == "measured":
        text += f"; about {about_text(half)} more would decide half"
    return text + "."


def lines(found: LiveOutcome, report: str | None = None, width: int = 80) -> list[str]:
    """Everything for the terminal, answer first."""
    choice = found.choice
    made = _wrapped(mark(found), width) if mark(found) else []
    made += [*_wrapped(headline(found), width), ""]
    changes = choice is not None and choice.changes
    table = rows(found)
    shown = table[:ROWS_MAX]
    chosen = choice.setting if choice is not None else found.plan.in_force.label
    heads = ["Use", "Best", chosen] + ([f"{found.plan.in_force.label} (now)"] if changes else [])
    if not changes:
        heads[2] = f"{chosen} (now)"
    body = [list(row[: len(heads)]) for row in shown]
    made += _columns(heads, body, width)
    if len(table) > len(shown):
        made.append(f"… and {len(table) - len(shown)} more in the report")
    made.append("")
    for text in alternatives(found)[:2]:
        made += _wrapped(text + ".", width)
    if (text := open_text(found)) is not None:
        made += _wrapped(text, width)
    for text in [*stages.sentences(found), *notes(found)][: max(2, len(stages.sentences(found)))]:
        made += _wrapped(text + ".", width)
    for label, each in (("set: ", found.lines.set), ("undo:", found.lines.undo)):
        made += [f"{label} {line}" for line in each[:2]]
    if report is not None:
        made.append(report)
    return made


def _columns(heads: Sequence[str], body: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table without frame; the first column gives way, and long names are cut with an ellipsis."""
    others = [max(len(row[i]) for row in [heads, *body]) for i in range(1, len(heads))]
    others = [min(each, 26) for each in others]
    first = max(20, width - sum(others) - 2 * len(others))
    first = min(first, max(len(row[0]) for row in [heads, *body]))
    sizes = [first, *others]
    return [
        "  ".join(_cut(text, size).ljust(size) for text, size in zip(row, sizes, strict=True)).rstrip()
        for row in [heads, *body]
    ]


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
