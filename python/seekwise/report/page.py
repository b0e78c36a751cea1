"""The page of a study: one self-contained HTML file, the answer first, evidence after it. Its charts as picture files,
too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from seekwise.judge import array_choice, arrays
from seekwise.number_text import one_line, three
from seekwise.report import (
    answered,
    by_system,
    close_up,
    evidence,
    losses,
    pareto,
    site,
    systems_answer,
    terms,
    tested,
    why,
)
from seekwise.report.charts import files, live_svg, panels
from seekwise.report.content import METRIC_TITLES, ReportContent
from seekwise.report.frame import Axes, Frame, axes, frame, shown
from seekwise.report.looks import Looks
from seekwise.report.metric_words import shown_setting
from seekwise.report.rows import Row
from seekwise.store import operations

number = three
ROWS_FIRST = 40
ROWS_STATIC = 600
"""Longer tables are made by the script when they are opened: the numbers stand in the page once."""
REASONS_FIRST = 4


def render(content: ReportContent) -> str:
    """The page as HTML text."""
    looks = Looks()
    table = frame(content.records, content.systems, content.plan.compare if content.plan else ())
    # In the order of the page: who comes first gets the first colour.
    answer, charts = _answer(content, looks), _charts(content, looks, table)
    stretches = close_up.stretches(content.records, looks, content.advice.recommended)
    causes = why.causes(content.records, shown=bool(stretches))
    labels = list(dict.fromkeys(shown_setting(record.setting) for record in content.records))
    words = terms.terms(labels, terms.ALWAYS)
    discarded = content.discarded or [record for record in content.records if not record.valid]
    run = content.run
    sections = [
        ("arrays", "arrays", content.arrays or content.table), ("charts", "charts", True),
        ("losses", "distance to the best", answer["loss_blocks"]),
        ("why", "why", causes or stretches), ("insights", "insights", content.findings), ("winners", "winners", content.winners),
        ("table", "numbers", True), ("discarded", "discarded trials", discarded), ("run", "what was run", True), ("terms", "terms", words),
    ]  # fmt: skip
    return site.render(
        "page.html",
        content=content,
        discarded=discarded,
        looks=looks,
        date=run.created_at[:10] if run else (content.records[0].started_at[:10] if content.records else ""),
        contents=[(anchor, text) for anchor, text, there in sections if there],
        tested=sentence(tested.line(content)).removesuffix("."),
        provenance=tested.PROVENANCE[content.provenance],
        terms=words,
        term_anchors=terms.anchors(words, labels),
        causes=causes,
        stretches=stretches,
        metrics=[name for name in METRIC_TITLES if any(name in row.cells for row in content.winners)],
        metric_titles=METRIC_TITLES,
        operation_names=operations.NAMES,
        shown_setting=shown_setting,
        loads=tested.loads(content),
        facts=tested.facts(content.environment),
        **answer,
        **_arrays(content),
        **charts,
        **_numbers(table),
    )  # fmt: skip


def _answer(content: ReportContent, looks: Looks) -> dict[str, object]:
    """Headline, reasons, and what every setting loses where."""
    blocks = losses.blocks(content, looks)
    many = len({block.system for block in blocks}) > 1
    crowded = sum(len(block.rows) for block in blocks) > losses.LINES_MOST
    overview = losses.overview(content, looks) if many else blocks if crowded else []
    return {
        "headline": sentence(content.advice.headline),
        "reasons": [sentence(one_line(reason)) for reason in reasons(content, blocks)],
        # A table has what the reasons say of each: it has to stand on the first screen.
        "reasons_first": 0 if content.arrays or content.question is not None else REASONS_FIRST,
        "answered": (rows := answered.rows(content.question) if content.question is not None else []),
        "shares": [_shares(row) for row in rows],
        "by_system": by_system.rows_of(content),
        "settings": by_system.settings_of(content),
        "cautions": [sentence(one_line(text)) for text in content.advice.caution],
        "loss_blocks": blocks,
        "overview": overview,
        "overview_keys": _overview_keys(overview),
        "many_systems": many,
        "has_chosen": any(row.chosen for block in blocks for row in block.rows),
        "axis": live_svg.loss_axis(),
    }


def _shares(row: answered.UseRow) -> tuple[float, float]:
    """Per cent of the larger of both values."""
    both = [
        standing.value or 0.0 if (standing := row.judged.standing(name)) else 0.0
        for name in (row.judged.base, row.other)
    ]
    return 100 * both[0] / (max(both) or 1.0), 100 * both[1] / (max(both) or 1.0)


def _arrays(content: ReportContent) -> dict[str, object]:
    """Arrays that were simulated, and those that a designer would weigh against each other."""
    candidates = array_choice.candidates(content.arrays)
    names = arrays.operations(content.arrays)
    loads = {name: {row.settings.get(name) for row in content.arrays if name in row.rates_mb_s} for name in names}
    whole = [row for row in content.arrays if not row.is_degraded]
    return {
        "arrays_whole": whole or content.arrays,
        "arrays_degraded": [row for row in content.arrays if row.is_degraded] if whole else [],
        # What holds for every row is said once, below the table.
        "array_loads": {name: load for name, (load, *more) in loads.items() if load and not more},
        "array_most": {name: max(row.rates_mb_s.get(name, 0.0) for row in content.arrays) or 1.0 for name in names},
        "pareto": pareto.picture(candidates) if array_choice.varies_safety(content.records) else None,
        "array_numbers": {row.name: number for number, row in enumerate(candidates, start=1)},
        "array_operations": names,
    }


def _charts(content: ReportContent, looks: Looks, table: Frame) -> dict[str, object]:
    """Figures; the rows of a table that is too long to stand in the page."""
    at = axes(table)
    first, more, left = evidence.figures(table, looks, at) if table.rows else ([], [], 0)
    return {
        "definitions": panels.definitions(),
        "charts": [panels.figure(chart) for chart in first],
        "more_charts": [panels.figure(chart) for chart in more],
        "charts_left": left,
        "nines": _nines(content, table, at, looks),
        "rows_data": site.data(evidence.late_rows(table)) if len(table.rows) > ROWS_STATIC else None,
    }


def _numbers(table: Frame) -> dict[str, object]:
    """The table of every value; beyond `ROWS_STATIC` rows the browser fills it."""
    names = [name for name in evidence.VIEWS if any(row[name] is not None for row in table.rows)]
    late = len(table.rows) > ROWS_STATIC
    return {
        "names": [table.title(name) for name in table.factors],
        "views": [evidence.VIEWS[name] for name in names],
        "rows": [] if late else [_row(table, row, names) for row in table.rows],
        "rows_late": late,
        "rows_first": ROWS_FIRST,
        "row_count": len(table.rows),
    }


def reasons(content: ReportContent, loss_blocks: Sequence[losses.LossBlock]) -> list[str]:
    """What stands below the headline: the reasons of the advice, and what it costs where nothing else says so."""
    texts = [reason for reason in content.advice.reasons if reason]
    if by_system.rows_of(content):
        # The table above them has the values; what it cannot say comes first.
        said = systems_answer.shares(content.advice.choices)
        texts = [*(text for text in texts if text not in said), *said]
    if (
        content.question is None
        and content.advice.recommended
        and not content.arrays
        and (costs := losses.largest_loss(loss_blocks))
    ):
        texts.insert(0, costs)
    return texts


def sentence(text: str) -> str:
    """With a capital at its beginning, unless that is a name."""
    head = text[:1].upper() + text[1:] if text[:1].islower() and text.split(" ")[0] in OPENERS else text
    return head if head.endswith((".", ":", "!", "?")) else f"{head}."


OPENERS = {
    "keep",
    "set",
    "stay",
    "no",
    "simulated:",
    "values",
    "values:",
    "with",
    "drift:",
    "random",
    "sequential",
    "software",
    "hardware",
}


def _overview_keys(blocks: Sequence[losses.LossBlock]) -> Markup:
    known_looks = {row.look.label: row.look for block in blocks for row in block.rows}
    return Markup("").join(
        Markup('<span class="shape">{} {}</span>').format(panels.swatch(look), label)
        for label, look in known_looks.items()
    )


def _row(table: Frame, row: Row, names: Sequence[str]) -> Row:
    cells = []
    for name in names:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        cells.append((row[name], f"{three(low)} to {three(high)}" if low is not None else ""))
    return {"levels": [shown(name, row[name]) for name in table.factors], "n": row["n"], "cells": cells}


def _nines(content: ReportContent, table: Frame, at: Axes, looks: Looks) -> Markup | None:
    """Latency on a scale of nines, a panel per operation."""
    if not table.rows:
        return None
    held = why.busiest(table, at)
    drawn = []
    for operation in operations.OPERATIONS:
        histograms = why.histograms(content.records, operation, held)
        curves = [(name, points) for name, bins in sorted(histograms.items()) if (points := why.nines(bins))]
        if not curves or len(curves) > 12:
            continue
        known_looks = looks.by_label([name for name, _ in curves])
        picture = live_svg.nines(
            [(f"series {known_looks[name].css}", known_looks[name].dash, points) for name, points in curves],
            f"Latency of {operations.name(operation).lower()} by the share of faster requests",
            [name for name, _ in curves],
        )
        drawn.append((operations.name(operation), picture, known_looks))
    if not drawn:
        return None
    keys = {name: look for _, _, looks_of in drawn for name, look in looks_of.items() if not name.endswith("(control)")}
    pictures = [(name, picture) for name, picture, _ in drawn]
    return panels.distribution(
        pictures, list(keys.values()), why.held_words(held), " Drawn as far as 20 requests took longer."
    )


def write_report(path: Path, content: ReportContent) -> Path:
    """Writes the page to `path` whole or not at all; gives the absolute path."""
    return site.write(path, render(content))


def pictures(content: ReportContent) -> list[tuple[str, str]]:
    """(name, SVG) of everything that becomes a picture file."""
    looks = Looks()
    table = frame(content.records, content.systems, content.plan.compare if content.plan else ())
    first, more, _ = evidence.figures(table, looks) if table.rows else ([], [], 0)
    return [(chart.name, files.svg(chart)) for chart in (*first, *more)]
