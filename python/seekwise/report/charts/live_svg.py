"""Pictures of a live-switched run as SVG text: they follow the page's width and its light or dark colours.

Horizontal places are per cents and curves keep the width of their strokes, so that text stays readable on a phone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from seekwise.number_text import three
from seekwise.report.looks import MARKS, Look

AXIS_FACTOR_MAX = 100.0
LOSS_TICKS = ((1.0, "best"), (1.05, "5 %"), (1.25, "25 %"), (2.0, "2×"), (5.0, "5×"), (20.0, "20×"), (100.0, "100×"))
LEFT, RIGHT = 3.0, 97.0
VALUES_SPAN_MOST = 12.0
"""So many times its smallest value a panel of bars shows; a longer bar is cut and ends in an arrow."""


def _place(factor: float) -> float:
    """Per cent of the width for "so many times behind the best": fine near the best, coarse far from it."""
    inside = math.log(min(max(factor, 1.0), AXIS_FACTOR_MAX)) / math.log(AXIS_FACTOR_MAX)
    return LEFT + (RIGHT - LEFT) * math.sqrt(inside)


def tips(rows: Sequence[tuple[float, float, str]]) -> str:
    """Attributes of an svg whose values can be read at the pointer or with the arrow keys: (per cent of the width,
    pixels from the top, words)."""
    values = [[round(10 * x), round(y), words] for x, y, words in rows]
    return f"tabindex=\"0\" data-tips='{escape(json.dumps(values, separators=(',', ':'), ensure_ascii=True))}'"


def behind(low: float, high: float) -> str:
    """`; 90 % interval: 0 to 9 % behind the best`, of two factors behind the best."""
    if not math.isfinite(high):
        return "; no upper bound"
    if high >= 2:
        return f"; 90 % interval: {three(low)} to {three(high)} times behind the best"
    return f"; 90 % interval: {three(100 * (low - 1)) if low > 1.0005 else 0} to {three(100 * (high - 1)) if high > 1.0005 else 0} % behind the best"


@dataclass(frozen=True)
class Value:
    """What one setting gave by one metric, and what is to be expected of it."""

    look: Look
    value: float
    """Measured, in the figure's unit."""
    expected: tuple[float, float, float] | None
    """(middle, 90 % interval) of what is to be expected, in the same unit; None for the setting that the others are
    held against."""
    text: str
    """The measured value with its unit."""
    words: str
    """What it is against the setting in force."""
    in_force: bool = False
    chosen: bool = False

    def picture(self, end: float) -> Markup:
        """A bar of the measured value, above it a mark and a line for what is to be expected. `end`: the value at the
        right edge."""

        def place(value: float) -> float:
            return RIGHT * min(max(value, 0.0), end) / end

        at = place(self.value)
        parts = [f'<rect class="value" x="0" y="2" width="{at:.2f}%" height="14"/>']
        if self.value > end:
            parts.append(f'<svg x="{at:.2f}%" y="9" overflow="visible"><path class="cap" d="M-3-4L2 0L-3 4"/></svg>')
        said = f"{self.look.label}: {self.text}, {self.words}"
        middle = self.value
        if self.expected is not None:
            middle, low, high = self.expected
            parts.append(
                f'<line class="bar{" strong" if self.chosen else ""}" x1="{place(low):.2f}%" x2="{place(high):.2f}%" y1="9" y2="9"/>'
            )
        if middle <= end:
            dot = MARKS[self.look.mark]
            parts.append(f'<svg x="{place(middle):.2f}%" y="9" overflow="visible"><path class="dot" d="{dot}"/></svg>')
        return Markup(
            f'<svg class="loss tips {self.look.css}" role="img" {tips([(at, 9, said)])} width="100%" height="18"><title>{escape(said)}</title>'
            f"{''.join(parts)}</svg>"
        )


def values_end(rows: Sequence[Value]) -> float:
    """The value at the right edge of a panel: all of it in view, unless one value is so large that the others could not
    be told apart."""
    known = [row.value for row in rows]
    far = [row.expected[2] for row in rows if row.expected is not None]
    # An interval that nothing bounds does not set the scale.
    return min(max([*known, *(min(value, 1.5 * max(known)) for value in far)]), VALUES_SPAN_MOST * min(known)) or 1.0


@dataclass(frozen=True)
class Distance:
    """How far one setting is behind the best by one metric, as factors with their 90 % interval."""

    look: Look
    factor: float | None
    """None: not measured."""
    low: float
    high: float
    """Infinite where nothing bounds it."""
    words: str
    limit: float
    """Up to this factor settings count as equal."""
    chosen: bool = False
    in_force: bool = False
    is_best: bool = False

    @property
    def title(self) -> str:
        """`bfq: 12 % slower`."""
        return f"{self.look.label}: {self.words}"

    @property
    def picture(self) -> Markup:
        """A dot, its interval with what ends it, and the threshold behind both."""
        reading = tips([
            (_place(self.factor), 9, f"{self.title}{behind(self.low, self.high)}") if self.factor is not None else (LEFT, 9, self.title)
        ])  # fmt: skip
        return Markup(
            f'<svg class="loss tips {self.look.css}" role="img" {reading} width="100%" height="18"><title>{escape(self.title)}</title>'
            f"{_threshold(self.limit, 18)}{_interval(self, 9, ends=True)}</svg>"
        )


def distances(rows: Sequence[Distance], title: str) -> Markup:
    """Several settings below each other in one picture."""
    step = 11
    height = step * len(rows) + 6
    places = [(8 + step * number, row) for number, row in enumerate(rows)]
    drawn = "".join(
        f'<g class="{row.look.css}"><title>{escape(row.title)}</title>{_interval(row, y, ends=False)}</g>'
        for y, row in places
    )
    words = "; ".join(row.title for row in rows)
    reading = tips([
        (_place(row.factor), y, f"{row.title}{behind(row.low, row.high)}") for y, row in places if row.factor is not None
    ])  # fmt: skip
    return Markup(
        f'<svg class="loss tips" role="img" {reading} width="100%" height="{height}"><title>{escape(title)}. {escape(words)}</title>'
        f"{_threshold(rows[0].limit, height)}{drawn}</svg>"
    )


def _threshold(limit: float, height: int) -> str:
    return f'<rect class="limit" x="{LEFT}%" y="0" width="{_place(limit) - LEFT:.2f}%" height="{height}"/>'


def _interval(row: Distance, y: int, *, ends: bool) -> str:
    if row.factor is None:
        return f'<line class="open" x1="{LEFT}%" x2="{RIGHT}%" y1="{y}" y2="{y}"/>'
    low, middle, high = _place(row.low), _place(row.factor), _place(row.high)
    parts = [f'<line class="bar{" strong" if row.chosen else ""}" x1="{low:.2f}%" x2="{high:.2f}%" y1="{y}" y2="{y}"/>']
    if ends:
        end = "M-5-4L1 0L-5 4" if row.high > AXIS_FACTOR_MAX else "M0-3V3"
        parts.append(f'<svg x="{high:.2f}%" y="{y}" overflow="visible"><path class="cap" d="{end}"/></svg>')
    dot = MARKS[row.look.mark]
    parts.append(f'<svg x="{middle:.2f}%" y="{y}" overflow="visible"><path class="dot" d="{dot}"/></svg>')
    return "".join(parts)


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
    """One period: from, to and the end of its cut part (seconds from the stretch's start); css class and number of its
    setting."""

    start_s: float
    end_s: float
    cut_s: float
    css: str
    number: int
    title: str
    values: tuple[float, ...]
    """Of each bin from the start."""
    bin_s: float
    level: float | None = None
    """One value for the whole period, in place of bins."""


def timeline(bands: Sequence[Band], unit: str, title: str, *, height: int = 110) -> Markup:
    """Values over time; each period shaded in its setting's colour with its number, the cut parts hatched."""
    end = max(band.end_s for band in bands)
    above = 16  # what the value of the top line needs
    top = max((value for band in bands for value in (*band.values, band.level or 0.0)), default=0.0) or 1.0
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
        if band.level is not None:
            y = height * (1 - band.level / top)
            curves.append(f'<path class="curve level {band.css}" d="M{10 * at:.1f} {y:.1f}H{10 * (at + width):.1f}"/>')
            read.append((at + width / 2, above + y, f"{band.start_s:.1f} s: {band.title}; {three(band.level)} {unit}"))
            continue
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
    """Latency [ms] over the share of requests that are faster, on a scale of nines. Curves: (css class, dash, [(nines,
    ms)])."""
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
        vertices = [f"{1000 * x / most:.0f} {y(math.log10(value)):.1f}" for x, value in line if value > 0]
        if vertices:
            drawn.append(
                f'<g class="{css}"><path class="curve" stroke-dasharray="{dash}" d="M{"L".join(vertices)}"/></g>'
            )
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
