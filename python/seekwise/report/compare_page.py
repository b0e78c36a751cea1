"""The page of a comparison: what differs comes first, then what does not, then what was not measured long enough."""

from __future__ import annotations

import math
from pathlib import Path

from markupsafe import Markup, escape

from seekwise.number_text import one_line, three
from seekwise.report import site
from seekwise.report.charts.live_svg import tips
from seekwise.report.comparison import (
    SECTIONS,
    ChangeRow,
    Pairing,
    name_of,
)
from seekwise.store.database import Run

LIMIT = math.log(20.0)
TICKS = ((1 / 20, "1/20"), (1 / 5, "1/5"), (1 / 2, "1/2"), (1.0, "same"), (2.0, "2×"), (5.0, "5×"), (20.0, "20×"))


def write(path: Path, pairing: Pairing) -> Path:
    """Writes the page whole or not at all."""
    return site.write(path, html(pairing))


def html(pairing: Pairing) -> str:
    """The page as text."""
    return site.render(
        "compare.html",
        each=pairing,
        runs=[(run, name_of(run), facts(run)) for run in (pairing.base, pairing.new)],
        picture=picture,
        axis=axis(),
        name_of=name_of,
        verdict_words=SECTIONS,
        note=pairing.note,
    )


def facts(run: Run) -> str:
    """What a run was, in a few words."""
    parts = [
        run.given_name or run.name,
        run.backend,
        run.target or "",
        run.created_at[:16].replace("T", " "),
        f"seekwise {run.seekwise_version}",
    ]
    return ", ".join(one_line(part) for part in parts if part)


def _place(ratio: float) -> float:
    """Per cent of the width; fine near equality."""
    if not math.isfinite(ratio) or ratio <= 0:
        return 50.0
    log = max(-LIMIT, min(LIMIT, math.log(ratio)))
    return 50 + 47 * math.copysign(math.sqrt(abs(log) / LIMIT), log)


def picture(row: ChangeRow) -> Markup:
    """Better is to the right, whatever the metric."""
    values = (row.low, row.ratio, row.high) if row.more_is_better else (1 / row.high, 1 / row.ratio, 1 / row.low)
    if not all(math.isfinite(value) and value > 0 for value in values):
        return Markup(
            '<svg class="loss" width="100%" height="18" aria-hidden="true"><line class="open" x1="3%" x2="97%" y1="9" y2="9"/></svg>'
        )
    low, middle, high = (_place(value) for value in values)
    css = {"worse": "differs", "better": "agrees"}.get(row.verdict, "unknown")
    words = f"{row.where}, {row.setting}, {row.metric}: {row.words}"
    title = escape(words)
    read = tips([(middle, 9, f"{words}; 90 % interval of the ratio: {three(row.low)} to {three(row.high)}")])
    return Markup(
        f'<svg class="loss tips gain {css}" role="img" {read} width="100%" height="18"><title>{title}</title>'
        f'<line class="tick" x1="50%" x2="50%" y1="0" y2="18"/><line class="bar" x1="{low:.2f}%" x2="{high:.2f}%" y1="9" y2="9"/>'
        f'<svg x="{middle:.2f}%" y="9" overflow="visible"><path class="dot" d="M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z"/></svg></svg>'
    )


def axis() -> Markup:
    """The axis of ratios below the pictures of a comparison, as SVG."""
    parts = []
    for ratio, word in TICKS:
        at = _place(ratio)
        anchor = "start" if ratio < 0.06 else "end" if ratio > 19 else "middle"
        parts.append(f'<line class="tick" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="4"/>')
        parts.append(f'<text x="{at:.2f}%" y="14" text-anchor="{anchor}">{word}</text>')
    return Markup(f'<svg class="axis" aria-hidden="true" width="100%" height="17">{"".join(parts)}</svg>')
