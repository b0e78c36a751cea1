"""Pictures of a live-switched run as SVG text: they follow the page's width and its light or dark colours.

Horizontal places are per cents and curves keep the width of their strokes, so that text stays readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

AXIS_FACTOR_MAX = 100.0
LOSS_TICKS = ((1.0, "best"), (1.05, "5 %"), (1.25, "25 %"), (2.0, "2×"), (5.0, "5×"), (20.0, "20×"), (100.0, "100×"))
LEFT, RIGHT = 3.0, 97.0

MARKS = {
    "circle": "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",
    "square": "M-4.5-4.5H4.5V4.5H-4.5Z",
    "triangle-up": "M0-5.5L5.5 4.5H-5.5Z",
    "diamond": "M0-6L6 0L0 6L-6 0Z",
    "cross": "M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z",
    "triangle-down": "M0 5.5L5.5-4.5H-5.5Z",
    "stroke": "M-6-2H6V2H-6Z",
    "triangle-right": "M5.5 0L-4.5 5.5V-5.5Z",
    "triangle-left": "M-5.5 0L4.5 5.5V-5.5Z",
}


def _place(factor: float) -> float:
    """Per cent of the width for "so many times behind the best": fine near the best, coarse far from it."""
    inside = math.log(min(max(factor, 1.0), AXIS_FACTOR_MAX)) / math.log(AXIS_FACTOR_MAX)
    return LEFT + (RIGHT - LEFT) * math.sqrt(inside)


def factor_of(loss: float | None, more_is_better: bool) -> float:
    """Times behind the best of a loss as a share; infinite where nothing bounds it."""
    if loss is None:
        return math.inf
    if more_is_better:
        return 1 / (1 - loss) if loss < 1 else math.inf
    return 1 + loss


def loss_interval(
    low: float, middle: float | None, high: float, limit: float, mark: str, css: str, title: str, *, strong: bool
) -> Markup:
    """One candidate's loss: a dot, its interval, the threshold behind it. All as factors behind the best."""
    parts = [f'<rect class="limit" x="{LEFT}%" y="0" width="{_place(limit) - LEFT:.2f}%" height="18"/>']
    end = "M-5-4L1 0L-5 4" if high > AXIS_FACTOR_MAX else "M0-3V3"
    if middle is None:
        parts.append(f'<line class="open" x1="{LEFT}%" x2="{RIGHT}%" y1="9" y2="9"/>')
    else:
        wide = " strong" if strong else ""
        parts.append(f'<line class="bar{wide}" x1="{_place(low):.2f}%" x2="{_place(high):.2f}%" y1="9" y2="9"/>')
        parts.append(f'<svg x="{_place(high):.2f}%" y="9" overflow="visible"><path class="cap" d="{end}"/></svg>')
        parts.append(
            f'<svg x="{_place(middle):.2f}%" y="9" overflow="visible"><path class="dot" d="{MARKS[mark]}"/></svg>'
        )
    return Markup(
        f'<svg class="loss {css}" role="img" width="100%" height="18"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def loss_axis() -> Markup:
    """The scale below a group of intervals."""
    parts = []
    for factor, text in LOSS_TICKS:
        at = _place(factor)
        anchor = "start" if factor == 1.0 else "end" if factor == AXIS_FACTOR_MAX else "middle"
        parts.append(f'<line class="tick" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="4"/>')
        parts.append(f'<text x="{at:.2f}%" y="14" text-anchor="{anchor}">{text}</text>')
    return Markup(f'<svg class="axis" aria-hidden="true" width="100%" height="17">{"".join(parts)}</svg>')


@dataclass(frozen=True)
class Band:
    """One period: from, to and the end of its cut part (seconds from the stretch's start); css class and number of its setting."""

    start_s: float
    end_s: float
    cut_s: float
    css: str
    number: int
    title: str
    values: tuple[float, ...]
    """Per 0.1 s from the start."""
    bin_s: float


def timeline(bands: Sequence[Band], unit: str, title: str, *, height: int = 110) -> Markup:
    """Values over time; each period shaded in its setting's colour with its number, the cut parts hatched."""
    end = max(band.end_s for band in bands)
    top = max((value for band in bands for value in band.values), default=0.0) or 1.0
    shades, curves, words = [], [], []
    for band in bands:
        at, width = 100 * band.start_s / end, 100 * (band.end_s - band.start_s) / end
        cut = 100 * min(band.cut_s, band.end_s - band.start_s) / end
        shades.append(
            f'<g class="{band.css}"><title>{escape(band.title)}</title>'
            f'<rect class="shade" x="{at:.3f}%" y="0" width="{width:.3f}%" height="{height}"/>'
            f'<rect class="cut" x="{at:.3f}%" y="0" width="{cut:.3f}%" height="{height}"/></g>'
        )
        words.append(f'<text x="{at + width / 2:.3f}%" y="{height + 14}" text-anchor="middle">{band.number}</text>')
        # The last bin of a period is rarely whole; its rate would be drawn too low.
        points = [
            f"{1000 * (band.start_s + (i + 0.5) * band.bin_s) / end:.1f} {height * (1 - value / top):.1f}"
            for i, value in enumerate(band.values)
            if (i + 1) * band.bin_s <= band.end_s - band.start_s + 0.01
        ]
        if points:
            curves.append(f'<path class="curve {band.css}" d="M{"L".join(points)}"/>')
    return Markup(
        f'<svg class="timeline" role="img" width="100%" height="{height + 20}" style="min-width:{17 * len(bands)}px">'
        f"<title>{escape(title)}</title>{''.join(shades)}"
        f'<svg x="0" y="0" width="100%" height="{height}" viewBox="0 0 1000 {height}" preserveAspectRatio="none">'
        f"{''.join(curves)}</svg>"
        f'<text x="4" y="12">{three(top)} {escape(unit)}</text>'
        f"{''.join(words)}</svg>"
    )


NINES = ((0.0, "0"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %"))


def nines(curves: Sequence[tuple[str, str, Sequence[tuple[float, float]]]], title: str, *, height: int = 170) -> Markup:
    """Latency [ms] over the share of requests that are faster, on a scale of nines. Curves: (css class, dash, [(nines, ms)])."""
    points = [point for _, _, line in curves for point in line if point[1] > 0]
    if not points:
        return Markup("")
    most = max(1.0, max(point[0] for point in points))
    low = math.floor(math.log10(min(point[1] for point in points)))
    high = max(low + 1, math.ceil(math.log10(max(point[1] for point in points))))
    parts = []
    for power in range(low, high + 1):
        y = height * (high - power) / (high - low)
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        if power > low:
            parts.append(f'<text x="2" y="{y + 12:.1f}">{10.0**power:g} ms</text>')
    for at, text in NINES:
        if 0 < at <= most:
            place = 100 * at / most
            anchor = "end" if place > 90 else "middle"
            parts.append(f'<line class="grid" x1="{place:.2f}%" x2="{place:.2f}%" y1="0" y2="{height}"/>')
            parts.append(f'<text x="{place:.2f}%" y="{height + 14}" text-anchor="{anchor}">{text}</text>')
    drawn = []
    for css, dash, line in curves:
        at = [f"{1000 * x / most:.1f} {height * (high - math.log10(y)) / (high - low):.1f}" for x, y in line if y > 0]
        if at:
            drawn.append(f'<path class="curve {css}" stroke-dasharray="{dash}" d="M{"L".join(at)}"/>')
    return Markup(
        f'<svg class="nines" role="img" width="100%" height="{height + 20}"><title>{escape(title)}</title>{"".join(parts)}'
        f'<svg x="0" y="0" width="100%" height="{height}" viewBox="0 0 1000 {height}" preserveAspectRatio="none">'
        f"{''.join(drawn)}</svg></svg>"
    )


def three(value: float | None) -> str:
    """Three significant digits without exponent; an en dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e+" in text else text
