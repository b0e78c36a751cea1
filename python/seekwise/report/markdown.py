"""A report as Markdown for an issue or a chat: the first screen of the page in the same order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from seekwise.judge import arrays
from seekwise.judge.outcome import LiveOutcome, notes
from seekwise.number_text import one_line, three
from seekwise.report import losses, tested, tune_answer
from seekwise.report.content import METRIC_TITLES, ReportContent
from seekwise.report.looks import Looks
from seekwise.store import operations

SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def text(value: object) -> str:
    """What others wrote, on one line and without any meaning in Markdown."""
    return SPECIAL.sub(r"\\\1", one_line(value))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> list[str]:
    """A table of pipes; columns `numbers` to the right."""
    rule = ["---:" if place in numbers else "---" for place in range(len(heads))]
    lines = [f"| {' | '.join(text(head) for head in heads)} |", f"| {' | '.join(rule)} |"]
    return [*lines, *(f"| {' | '.join(text(cell) for cell in row)} |" for row in rows), ""]


def _code(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [f"{title}:", "", f"{fence}sh", *lines, fence, ""]


def of_live(found: LiveOutcome) -> str:
    """The answer of a live-switched run."""
    lines = [f"**{text(tune_answer.headline(found))}**", ""]
    if said := tune_answer.open_text(found):
        lines += [text(said), ""]
    heads = ["Use", "Figure", f"{found.plan.in_force.label} (now)", "Against", "Its value", "Difference"]
    cells = ((row.use, row.subject, row.now, row.other, row.other_value, row.words) for row in tune_answer.rows(found))
    lines += table(heads, cells)
    lines += _code("Set it", found.lines.set) + _code("Undo it", found.lines.undo)
    lines += [
        f"{text(tested.line_of_tune(found))}. {text(tested.devices_of_tune(found))}. {tested.PROVENANCE[found.plan.provenance]}",
        "",
    ]
    lines += [f"- {text(each)}" for each in notes(found)]
    lines += ["", f"Run {found.run.run_id}, {found.run.created_at[:10]}, seekwise {text(found.run.seekwise_version)}."]
    return "\n".join(lines)


def of_study(content: ReportContent) -> str:
    """The answer of a study, its losses, arrays and winners."""
    from seekwise.report.page import reasons, sentence

    advice = content.advice
    blocks = losses.blocks(content, Looks())
    lines = [f"**{text(sentence(advice.headline))}**", ""]
    lines += [f"- {text(sentence(each))}" for each in reasons(content, blocks)]
    lines += [""] if lines[-1] else []
    lines += [text(sentence(each)) for each in advice.caution]
    lines += [""] if advice.caution else []
    lines += _code("Set it", advice.set_lines) + _code("Undo it", advice.undo_lines)
    if content.table:
        lines += table(content.table.heads, content.table.rows, tuple(range(1, len(content.table.heads))))
    if content.arrays:
        lines += _arrays(content)
    if blocks:
        rows = [
            [
                f"{block.system}: {block.place}" if block.system else block.place,
                block.metric,
                block.best,
                _told(block),
            ]
            for block in blocks
        ]
        lines += table(["Operation", "Metric", "Best", "Behind the best"], rows)
    elif content.winners:
        metrics = [name for name in METRIC_TITLES if any(name in row.cells for row in content.winners)]
        rows = [
            [
                ", ".join(part for part in (operations.name(row.operation), row.condition) if part),
                *(row.cells[name].text if name in row.cells else "–" for name in metrics),
            ]
            for row in content.winners
        ]
        lines += table(["Winner", *(METRIC_TITLES[name] for name in metrics)], rows)
        lines += [f"= alike within the threshold. {text(content.rule)}", ""]
    lines += [f"{text(tested.line(content))}. {tested.PROVENANCE[content.provenance]}", ""]
    lines += [f"- {text(each)}" for each in (*tested.loads(content), *content.notes)]
    return "\n".join([*lines, "", f"Run {text(content.run_id)}."])


def _told(block: losses.LossBlock) -> str:
    return "; ".join(f"{row.look.label} {row.words}" for row in block.rows if not row.is_best)


def _arrays(content: ReportContent) -> list[str]:
    names = arrays.operations(content.arrays)
    heads = [
        "Array",
        "Usable",
        "Survives",
        "Rebuild",
        "Meanwhile",
        *(f"{operations.name(name)} [MB/s]" for name in names),
    ]
    rows = [
        [
            row.name,
            row.capacity_text,
            row.failures_text,
            row.rebuild_text,
            row.exposure_text,
            *(three(row.rates_mb_s.get(name)) for name in names),
        ]
        for row in content.arrays
    ]
    return table(heads, rows, (1, *range(5, len(heads))))
