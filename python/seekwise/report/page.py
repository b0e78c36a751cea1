"""The page of a run: one self-contained HTML file, the answer first, evidence after it. Its charts as picture files, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from seekwise.judge import array_choice, arrays
from seekwise.number_text import one_line, percent, three
from seekwise.report import (
    answered,
    array_advice,
    by_system,
    close_up,
    evidence,
    latencies,
    live_sections,
    losses,
    pareto,
    site,
    systems_answer,
    terms,
    tested,
)
from seekwise.report.charts import files, live_svg, panels
from seekwise.report.content import ReportContent
from seekwise.report.frame import Axes, Frame, axes, frame, shown
from seekwise.report.layout import sentence
from seekwise.report.looks import Look, Looks
from seekwise.report.metric_words import shown_setting
from seekwise.report.rows import Row
from seekwise.store import operations

ROWS_FIRST = 40
ROWS_STATIC = 600
"""Longer tables are made by the script when they are opened: the numbers stand in the page once."""
REASONS_FIRST = 4


def render(content: ReportContent) -> str:
    """The page as HTML text."""
    looks = Looks()
    shown_parts = NOWHERE | (_of_study(content, looks) if content.live is None else live_sections.of(content, looks))
    labels = shown_parts["labels"]
    words = terms.terms(labels, terms.ALWAYS if content.provenance == "simulated" else terms.MEASURED)
    run = content.run
    return site.render(
        "page.html",
        **{
            **shown_parts,
            "content": content,
            "looks": looks,
            "headline": sentence(content.advice.headline),
            "date": run.created_at[:10] if run else (content.records[0].started_at[:10] if content.records else ""),
            "answered": answered.rows(content.question) if content.question is not None else [],
            "axis": live_svg.loss_axis(),
            "provenance": tested.PROVENANCE[content.provenance],
            "facts": tested.facts(content.environment),
            "terms": words,
            "term_anchors": terms.anchors(words, labels),
            "distribution": panels.distribution,
            "percent": percent,
        },
    )


NOWHERE: dict[str, None] = dict.fromkeys(
    """foretold panels uses answered_later next_command why_of_use shares by_system arrays_whole arrays_degraded pareto charts
    nines more_charts charts_left why row_count rows_data definitions""".split()  # noqa: SIM905
)
"""Sections that only one kind of run has."""


def _of_study(content: ReportContent, looks: Looks) -> dict[str, Any]:
    """What a study shows of the sections of every page, and those that only a study has."""
    table = frame(content.records, content.systems, content.plan.compare if content.plan else ())
    # In the order of the page: who comes first gets the first colour.
    answer, charts = _answer(content, looks), _charts(content, looks, table)
    why = close_up.most_different(content.records, looks, content.advice.recommended)
    discarded = content.discarded or [record for record in content.records if not record.valid]
    sections = [
        ("arrays", "arrays", content.arrays or content.table), ("charts", "charts", True),
        ("losses", "distance to the best", answer["loss_blocks"]),
        ("why", "why", why), ("insights", "insights", content.findings),
        ("table", "numbers", True), ("discarded", "discarded trials", discarded), ("run", "what was run", True), ("terms", "terms", True),
    ]  # fmt: skip
    return {
        "labels": list(dict.fromkeys(shown_setting(record.setting) for record in content.records)),
        "contents": [(anchor, text) for anchor, text, there in sections if there],
        "tested": sentence(tested.line(content)).removesuffix("."),
        "why": why,
        "operation_names": operations.NAMES,
        "told": [
            *tested.loads(content),
            *([f"One setting under two names (A/A check): {content.control}"] if content.control else []),
            *content.notes,
        ],
        "discarded_of": "trial",
        "discarded": [
            (record.trial + 1, shown_setting(record.setting), record.combination, record.invalid_reason)
            for record in discarded
        ],
        "foot": "",
        **answer,
        **_arrays(content),
        **charts,
        **_numbers(table),
    }


def _answer(content: ReportContent, looks: Looks) -> dict[str, Any]:
    """Headline, reasons, and what every setting loses where."""
    blocks = losses.blocks(content, looks)
    many = len({block.system for block in blocks}) > 1
    crowded = sum(len(block.rows) for block in blocks) > losses.LINES_MOST
    overview = losses.overview(content, looks) if many else blocks if crowded else []
    return {
        "reasons": [sentence(one_line(reason)) for reason in reasons(content, blocks)],
        # A table has what the reasons say of each: it has to stand on the first screen.
        "reasons_first": 0 if content.arrays or content.question is not None else REASONS_FIRST,
        "shares": [_shares(row) for row in answered.rows(content.question)] if content.question is not None else [],
        "by_system": by_system.rows_of(content),
        "settings": by_system.settings_of(content),
        "cautions": [sentence(one_line(text)) for text in content.advice.caution],
        "loss_blocks": blocks,
        "overview": overview,
        "overview_keys": panels.keys([row.look for block in overview for row in block.rows]),
        "overview_of": "System" if many else "Operation",
        "has_chosen": (has_chosen := any(row.chosen for block in blocks for row in block.rows)),
        "loss_note": LOSS_NOTE + (" The thick line is the recommended setting." if has_chosen else ""),
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
        "array_fewer": {row.name: _of_fewer(row, content.arrays) for row in whole},
        "array_most": {name: max(row.rates_mb_s.get(name, 0.0) for row in content.arrays) or 1.0 for name in names},
        "pareto": pareto.picture(candidates) if array_choice.varies_safety(content.records) else None,
        "array_numbers": {row.name: number for number, row in enumerate(candidates, start=1)},
        "array_operations": names,
    }


def _of_fewer(row: arrays.ArrayRow, rows: Sequence[arrays.ArrayRow]) -> dict[str, str]:
    """{operation: `396 with 1 thread`}: under the loads of fewer requests at once, of which the headline may speak."""
    loads = arrays.by_load([each for each in rows if not each.is_degraded])[:-1]
    return {
        name: f"{three(row.combination_throughputs[key])} with {threads}"
        for load in loads
        for name, key in load.items()
        if (threads := array_advice.threads_words(key))
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


LOSS_NOTE = "How far each setting is behind the best, with its 95 % interval; left is better. Shaded: equal within the threshold."


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
    held = latencies.busiest(table, at)
    pictures: list[tuple[str, Markup]] = []
    known: dict[str, Look] = {}
    for operation in operations.OPERATIONS:
        bins = dict(sorted(latencies.histograms(content.records, operation, held).items()))
        name, own = operations.name(operation), looks.by_label(list(bins))
        if picture := latencies.picture(bins, own, f"Latency of {name.lower()}"):
            pictures.append((name, picture))
            known |= own
    if not pictures:
        return None
    keys = [look for name, look in known.items() if not name.endswith("(control)")]
    return panels.distribution(pictures, keys, latencies.held_words(held))


def write_report(path: Path, content: ReportContent) -> Path:
    """Writes the page to `path` whole or not at all; gives the absolute path."""
    return site.write(path, render(content))


def pictures(content: ReportContent) -> list[tuple[str, str]]:
    """(name, SVG) of everything that becomes a picture file."""
    if content.live is not None:
        return live_sections.pictures(content.live)
    looks = Looks()
    table = frame(content.records, content.systems, content.plan.compare if content.plan else ())
    first, more, _ = evidence.figures(table, looks) if table.rows else ([], [], 0)
    return [(chart.name, files.svg(chart)) for chart in (*first, *more)]
