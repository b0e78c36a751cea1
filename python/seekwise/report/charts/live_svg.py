"""Pictures of a live-switched run as SVG text: they follow the page's width and its light or dark colours.

Horizontal places are per cents and curves keep the width of their strokes, so that text stays readable on a phone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from seekwise.report.number_text import three

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


def tips(rows: Sequence[tuple[float, float, str]]) -> str:
    """Attributes of an svg whose values can be read at the pointer or with the arrow keys: (per cent of the width, pixels from the top, words)."""
    values = [[round(10 * x), round(y), words] for x, y, words in rows]
    return f"tabindex=\"0\" data-tips='{escape(json.dumps(values, separators=(',', ':'), ensure_ascii=True))}'"


def behind(low: float, high: float) -> str:
    """`; 95 % interval: 0 to 9 % behind the best`, of two factors behind the best."""
    if not math.isfinite(high):
        return "; no upper bound"
    if high >= 2:
        return f"; 95 % interval: {three(low)} to {three(high)} times behind the best"
    return f"; 95 % interval: {three(100 * (low - 1)) if low > 1.0005 else 0} to {three(100 * (high - 1)) if high > 1.0005 else 0} % behind the best"


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
    words = f"{title}{behind(low, high)}" if middle is not None else title
    reading = tips([(_place(middle) if middle is not None else LEFT, 9, words)])
    return Markup(
        f'<svg class="loss tips {css}" role="img" {reading} width="100%" height="18"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


@dataclass(frozen=True)
class Interval:
    """One candidate's loss as factors behind the best; `middle` None: nothing is known."""

    low: float
    middle: float | None
    high: float
    mark: str
    css: str
    title: str
    strong: bool


def loss_rows(rows: Sequence[Interval], limit: float, title: str) -> Markup:
    """All candidates of one use below each other in one picture."""
    step = 11
    height = step * len(rows) + 6
    parts = [f'<rect class="limit" x="{LEFT}%" y="0" width="{_place(limit) - LEFT:.2f}%" height="{height}"/>']
    for number, row in enumerate(rows):
        y = 8 + step * number
        parts.append(f'<g class="{row.css}"><title>{escape(row.title)}</title>')
        if row.middle is None:
            parts.append(f'<line class="open" x1="{LEFT}%" x2="{RIGHT}%" y1="{y}" y2="{y}"/>')
        else:
            wide = " strong" if row.strong else ""
            parts.append(
                f'<line class="bar{wide}" x1="{_place(row.low):.2f}%" x2="{_place(row.high):.2f}%" y1="{y}" y2="{y}"/>'
            )
            mark = MARKS[row.mark]
            parts.append(
                f'<svg x="{_place(row.middle):.2f}%" y="{y}" overflow="visible"><path class="dot" d="{mark}"/></svg>'
            )
        parts.append("</g>")
    words = "; ".join(row.title for row in rows)
    reading = tips([
        (_place(row.middle), 8 + step * number, f"{row.title}{behind(row.low, row.high)}")
        for number, row in enumerate(rows)
        if row.middle is not None
    ])  # fmt: skip
    return Markup(
        f'<svg class="loss tips" role="img" {reading} width="100%" height="{height}"><title>{escape(title)}. {escape(words)}</title>{"".join(parts)}</svg>'
    )


def loss_axis() -> Markup:
    """The scale below a group of intervals."""
    parts = []
    for factor, text in LOSS_TICKS:
        at = _place(factor)
        anchor = "start" if factor == 1.0 else "end" if factor == AXIS_FACTOR_MAX else "middle"
        parts.append(f'<line class="tick" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="4"/>')
        close = ' class="close"' if factor == 1.05 else ""
        parts.append(f'<text{close} x="{at:.2f}%" y="14" text-anchor="{anchor}">{text}</text>')
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
    above = 16  # what the value of the top line needs
    top = max((value for band in bands for value in band.values), default=0.0) or 1.0
    shades, curves, words, read = [], [], [], []
    for band in bands:
        at, width = 100 * band.start_s / end, 100 * (band.end_s - band.start_s) / end
        cut = 100 * min(band.cut_s, band.end_s - band.start_s) / end
        shades.append(
            f'<g class="{band.css}"><title>{escape(band.title)}</title>'
            f'<rect class="shade" x="{at:.3f}%" y="{above}" width="{width:.3f}%" height="{height}"/>'
            f'<rect class="cut" x="{at:.3f}%" y="{above}" width="{cut:.3f}%" height="{height}"/></g>'
        )
        words.append(
            f'<text x="{at + width / 2:.3f}%" y="{above + height + 14}" text-anchor="middle">{band.number}</text>'
        )
        # The last bin of a period is rarely whole; its rate would be drawn too low.
        points = [
            f"{1000 * (band.start_s + (i + 0.5) * band.bin_s) / end:.1f} {height * (1 - value / top):.1f}"
            for i, value in enumerate(band.values)
            if (i + 1) * band.bin_s <= band.end_s - band.start_s + 0.01
        ]
        if points:
            curves.append(f'<path class="curve {band.css}" d="M{"L".join(points)}"/>')
        counted = [value for i, value in enumerate(band.values) if i * band.bin_s >= band.cut_s] or list(band.values)
        mean = sum(counted) / len(counted) if counted else 0.0
        place = above + height * (1 - mean / top)
        read.append(
            (
                at + width / 2,
                place,
                f"{band.start_s:.1f} s: {band.title}; {three(mean)} {unit} (n = {len(counted)} bins of {band.bin_s:g} s)",
            )
        )
    return Markup(
        f'<svg class="timeline tips" role="img" {tips(read)} width="100%" height="{above + height + 20}" style="min-width:{20 * len(bands)}px">'
        f"<title>{escape(title)}</title>{''.join(shades)}"
        f'<svg x="0" y="{above}" width="100%" height="{height}" viewBox="0 0 1000 {height}" preserveAspectRatio="none">'
        f"{''.join(curves)}</svg>"
        f'<text x="4" y="12">{three(top)} {escape(unit)} at the top, 0 at the bottom</text>'
        f"{''.join(words)}</svg>"
    )


NINES = ((0.0, "0"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %"))


def nines(
    curves: Sequence[tuple[str, str, Sequence[tuple[float, float]]]],
    title: str,
    names: Sequence[str] = (),
    *,
    height: int = 170,
) -> Markup:
    """Latency [ms] over the share of requests that are faster, on a scale of nines. Curves: (css class, dash, [(nines, ms)])."""
    points = [point for _, _, line in curves for point in line if point[1] > 0]
    if not points:
        return Markup("")
    most = max(1.0, max(point[0] for point in points))
    low = math.floor(math.log10(min(point[1] for point in points)))
    high = max(low + 1, math.ceil(math.log10(max(point[1] for point in points))))
    top, total = 6, height + 26
    axis, parts = [], []

    def y(power: float) -> float:
        return top + height * (high - power) / (high - low)

    for power in range(low, high + 1, max(1, round((high - low) / 5))):
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{y(power):.1f}" y2="{y(power):.1f}"/>')
        axis.append(f'<text x="56" y="{y(power) + 4:.1f}" text-anchor="end">{_time(power)}</text>')
    for at, text in NINES:
        if 0 < at <= most:
            place = 100 * at / most
            anchor = "end" if place > 90 else "middle"
            parts.append(f'<line class="grid" x1="{place:.2f}%" x2="{place:.2f}%" y1="{top}" y2="{top + height}"/>')
            parts.append(f'<text x="{place:.2f}%" y="{top + height + 14}" text-anchor="{anchor}">{text}</text>')
    drawn, read = [], []
    for number, (_, _, line) in enumerate(curves):
        name = f"{names[number]}: " if number < len(names) else ""
        read += [
            (100 * x / most, y(math.log10(value)), f"{name}{_share(x)} of the requests took at most {three(value)} ms")
            for x, value in line
            if value > 0 and abs(x - round(2 * x) / 2) < 0.02
        ]
    for css, dash, line in curves:
        at = [f"{1000 * x / most:.0f} {y(math.log10(value)):.1f}" for x, value in line if value > 0]
        if at:
            drawn.append(f'<g class="{css}"><path class="curve" stroke-dasharray="{dash}" d="M{"L".join(at)}"/></g>')
    return Markup(
        f'<div class="plot nines"><svg class="yaxis" width="60" height="{total}" aria-hidden="true">{"".join(axis)}</svg>'
        f'<svg class="tips" role="img" {tips(read)} width="100%" height="{total}"><title>{escape(title)}</title>{"".join(parts)}'
        f'<svg x="0" y="0" width="100%" height="{total}" viewBox="0 0 1000 {total}" preserveAspectRatio="none">'
        f"{''.join(drawn)}</svg></svg></div>"
    )


def _share(nines_: float) -> str:
    """`50 %`, `99 %`, `99.97 %`."""
    return "half" if abs(nines_ - 0.301) < 0.02 else f"{100 * (1 - 10**-nines_):.4g} %"


def _time(power: int) -> str:
    """10^power milliseconds."""
    if power >= 3:
        return f"{10 ** (power - 3):g} s"
    return f"{10**power:g} ms" if power >= 0 else f"{10 ** (power + 3):g} µs"
