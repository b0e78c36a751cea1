"""Small multiples as HTML and SVG: a panel per operation, a line per candidate, intervals, a table behind.

Drawn for a page that may be 320 or 1100 pixels wide, light or dark: horizontal places are per cents, text keeps its
size, colours are classes. `templates/page.js` draws the same when a reader chooses other factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup, escape

from seekwise.number_text import three
from seekwise.report.looks import MARKS, Look

HEIGHT = 150
TOP = 8
"""Pixels above the plot, so that no mark is cut."""
LABEL_WIDTH_PX = 175.0
"""What the labels of the x axis may fill on the narrowest page."""
CHARACTER_PX = 6.6
SHOWN_MOST = 3.0
"""An interval is drawn up to so many times the greatest value: two scattered repeats would press everything else onto
the axis."""
LOG_FROM = 60.0


@dataclass(frozen=True)
class ChartPoint:
    """One value at a place of the x axis."""

    place: int
    value: float
    low: float | None
    high: float | None
    tip: str
    """What the tooltip says beside the value."""


@dataclass(frozen=True)
class Series:
    look: Look
    points: tuple[ChartPoint, ...]


@dataclass(frozen=True)
class Panel:
    title: str
    labels: tuple[str, ...]
    """Of the x axis."""
    series: tuple[Series, ...]
    printed_top: float | None = None
    """Upper end of the y axis in the publication that prints this graph; values above it are shown all the same."""


@dataclass(frozen=True)
class PanelChart:
    """One chart. `spec`: what the script needs to draw it over other factors."""

    name: str
    title: str
    unit: str
    better: str
    """higher or lower."""
    x_title: str
    panels: tuple[Panel, ...]
    caption: str = ""
    colour_title: str = ""
    spec: dict[str, object] = field(default_factory=dict)

    @property
    def reading(self) -> str:
        """`MB/s, higher is better`."""
        return ", ".join(word for word in (self.unit, f"{self.better} is better" if self.better else "") if word)

    @property
    def looks(self) -> list[Look]:
        """Every candidate once, in order."""
        return list({line.look.label: line.look for panel in self.panels for line in panel.series}.values())

    @property
    def points(self) -> int:
        """Over all panels and series."""
        return sum(len(line.points) for panel in self.panels for line in panel.series)


def is_wide(panel: Panel) -> bool:
    """Whether values span so much that a logarithmic axis is needed to read them."""
    values = [p.value for line in panel.series for p in line.points if p.value > 0]
    return bool(values) and max(values) / min(values) >= LOG_FROM


def figure(drawn: PanelChart) -> Markup:
    """The chart with legend, caption and table."""
    panels = Markup("").join(_panel(drawn, panel, number) for number, panel in enumerate(drawn.panels))
    heading = f"<h3>{escape(drawn.title)} <small>{escape(drawn.reading)}</small></h3>"
    return Markup(
        f'<figure class="chart" id="{escape(drawn.name)}">{heading}{legend(drawn.looks, drawn.colour_title)}'
        f'<div class="panels">{panels}</div>'
        f"<figcaption>{escape(drawn.caption)}</figcaption>{table(drawn)}</figure>"
    )


def distribution(pictures: Sequence[tuple[str, Markup]], looks: Sequence[Look], words: str) -> Markup:
    """Latency on a scale of nines: (heading, picture) of each panel; one without heading stands alone."""
    boxes = Markup("").join(
        Markup('<div class="panel"><h4>{}</h4>{}</div>').format(name, picture) if name else picture
        for name, picture in pictures
    )
    heading = Markup("<h3>Latency distribution{} <small>logarithmic axis, lower is better</small></h3>").format(
        f", {words}" if words else ""
    )
    body = Markup('<div class="panels">{}</div>').format(boxes) if pictures[0][0] else boxes
    anchor = Markup(' id="latency-distribution"') if pictures[0][0] else ""
    return Markup('<figure class="chart"{}>{}{}{}<figcaption>{}</figcaption></figure>').format(
        anchor,
        heading,
        legend(looks),
        body,
        "Read: at 99 %, one request in a hundred took longer. Drawn as far as 20 requests took longer.",
    )


def legend(looks: Sequence[Look], colour_title: str = "") -> Markup:
    """A button per candidate: the script lets it hide the line."""
    if len(looks) < 2:
        return Markup("")
    parts = [
        f'<button type="button" class="key" aria-pressed="true" data-s="{look.css}">{swatch(look)}{escape(look.label)}</button>'
        for look in looks
    ]
    title = f"<span>{escape(colour_title)}:</span>" if colour_title else ""
    return Markup(f'<div class="legend">{title}{"".join(parts)}</div>')


def swatch(look: Look) -> Markup:
    """Line and mark of a candidate."""
    return Markup(
        f'<svg class="swatch {look.css}" width="30" height="12" aria-hidden="true"><line class="curve" x1="0" x2="30" y1="6" y2="6" '
        f'stroke-dasharray="{look.dash}"/><svg x="15" y="6" overflow="visible"><path class="dot" d="{MARKS[look.mark]}"/></svg></svg>'
    )


def keys(looks: Sequence[Look]) -> Markup:
    """Line, mark and name of each, once."""
    named = {look.label: look for look in looks}
    one = Markup('<span class="shape">{} {}</span>')
    return Markup("").join(one.format(swatch(look), label) for label, look in named.items())


def definitions() -> Markup:
    """Marks that all charts of a page use."""
    return Markup(f'<svg class="defs" width="0" height="0" aria-hidden="true">{marks()}</svg>')


def marks() -> str:
    """The marks of `looks.MARKS`, to be used by their names."""
    paths = "".join(f'<path id="m-{name}" d="{path}"/>' for name, path in MARKS.items())
    return f"<defs>{paths}</defs>"


def ticks(top: float, bottom: float | None) -> list[float]:
    """Round numbers from zero, or powers (and halves of them) from `bottom` on a logarithmic axis."""
    if bottom is not None:
        low, high = math.floor(math.log10(bottom)), math.ceil(math.log10(top))
        step = max(1, round((high - low) / 4))
        return [10.0**power for power in range(low, high + 1, step)]
    rough = top / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    return [number * step for number in range(int(top / step + 1e-9) + 1)]


def short(value: float) -> str:
    """`1500`, `12k`, `3M`: a number beside an axis."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    if value >= 1e4:
        return f"{value / 1e3:g}k"
    return f"{value:.4g}" if value >= 1e-4 or value == 0 else f"{value:.0e}"


@dataclass(frozen=True)
class Scale:
    """Where a value is in a panel, in pixels from its upper edge."""

    bottom: float | None
    """Of a logarithmic axis; None: the axis begins at zero."""
    top: float
    most: float

    @classmethod
    def for_panel(cls, panel: Panel) -> Scale:
        """Logarithmic over whole decades where values span more than a factor of 60; else from zero to just above the
        highest interval."""
        points = [point for line in panel.series for point in line.points]
        most = max((point.value for point in points), default=1.0) or 1.0
        if panel.printed_top is not None or not is_wide(panel):
            highest = max((min(p.high or p.value, SHOWN_MOST * most) for p in points), default=1.0)
            return cls(None, max(max(highest, most) * 1.04, panel.printed_top or 0.0), most)
        least = min(min(p.low or p.value, p.value) for p in points if p.value > 0)
        bottom = 10 ** math.floor(math.log10(max(least, most * 1e-7)))
        top = 10 ** math.ceil(math.log10(most))
        return cls(bottom, top * 10 if top <= bottom else top, most)

    def y(self, value: float) -> float:
        """Pixels from the upper edge of the picture; what lies outside the axis is drawn at its end."""
        if self.bottom is not None:
            share = math.log10(max(value, self.bottom) / self.bottom) / math.log10(self.top / self.bottom)
        else:
            share = value / self.top
        return TOP + HEIGHT * (1 - min(max(share, 0.0), 1.0))

    @property
    def marks(self) -> list[tuple[float, str]]:
        """(place, text) of the axis."""
        return [(self.y(tick), short(tick)) for tick in ticks(self.top, self.bottom) if tick <= self.top * 1.0001]


TOTAL = HEIGHT + TOP + 22
"""Pixels of a panel with the labels of its x axis."""


def parts(panel: Panel, width: float | None = None) -> tuple[str, str]:
    """(y axis, plot) as content of two SVG elements; `width` in pixels where it is known, else lines stretch with the
    page."""
    scale = Scale.for_panel(panel)
    axis = "".join(f'<text x="48" y="{y + 4:.1f}" text-anchor="end">{text}</text>' for y, text in scale.marks)
    grid = "".join(f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>' for y, _ in scale.marks)
    count, places = len(panel.series), len(panel.labels)
    places_taken = [point.place for line in panel.series for point in line.points]
    # Beside each other only where they share a place.
    count = count if len(set(places_taken)) < len(places_taken) else 1
    lines = [_series(line, at, count, places, scale, width) for at, line in enumerate(panel.series)]
    return axis, f"{grid}{''.join(lines)}{x_labels(panel.labels)}"


def named_below(labels: Sequence[str]) -> bool:
    """Names that do not fit side by side: each has its number at the axis. A scale is readable with every n-th of its
    values."""
    return _step(labels) > 1 and not any(text[:1].isdigit() for text in labels)


def _panel(drawn: PanelChart, panel: Panel, number: int) -> Markup:
    below = ""
    if named_below(panel.labels):
        below = ", ".join(f"{place} {text}" for place, text in enumerate(panel.labels, start=1))
        axis, plot = parts(replace(panel, labels=tuple(str(n) for n in range(1, len(panel.labels) + 1))))
    else:
        axis, plot = parts(panel)
    scale = Scale.for_panel(panel)
    limits = f"{scale.bottom or ''},{scale.top:g}"
    name = ", ".join(part for part in (drawn.title, panel.title, f"over {drawn.x_title}") if part)
    heading = f"{escape(panel.title)}{' <small>logarithmic axis</small>' if is_wide(panel) else ''}"
    heading = f"<h4>{heading.strip()}</h4>" if heading else ""
    return Markup(
        f'<div class="panel">{heading}<div class="plot">'
        f'<svg class="yaxis" width="52" height="{TOTAL}" aria-hidden="true">{axis}</svg>'
        f'<svg class="xy" width="100%" height="{TOTAL}" role="img" tabindex="0" data-panel="{number}" data-scale="{limits}" aria-label="{escape(name)}">'
        f"<title>{escape(name)}</title>{plot}</svg></div>"
        f'<div class="xtitle">{escape(drawn.x_title)}{escape(f": {below}" if below else "")}</div></div>'
    )


def centre(place: int, count: int) -> float:
    """Per cent of the width."""
    return 100 * (place + 0.5) / max(count, 1)


def _step(labels: Sequence[str]) -> int:
    """Of so many labels one fits on a phone."""
    longest = max((len(text) for text in labels), default=1)
    fit = max(1, int(LABEL_WIDTH_PX / (longest * CHARACTER_PX + 8)))
    return math.ceil(len(labels) / fit)


def x_labels(labels: Sequence[str]) -> str:
    """As many labels as fit on a phone, the first and every n-th."""
    step = _step(labels)
    y = TOP + HEIGHT + 16
    parts = [
        f'<text x="{centre(place, len(labels)):.2f}%" y="{y}" text-anchor="middle">{escape(text)}</text>'
        for place, text in enumerate(labels)
        if place % step == 0
    ]
    return "".join(parts)


def _series(each: Series, number: int, count: int, places: int, scale: Scale, width_px: float | None) -> str:
    # Candidates stand beside each other: intervals on top of each other cannot be read.
    width = min(55.0 / max(places, 1), 4.0 * count)
    offset = 0.0 if count == 1 else width * (number / (count - 1) - 0.5)
    drawn, path = [], []
    for point in each.points:
        x, y = centre(point.place, places) + offset, scale.y(point.value)
        path.append(f"{(10 if width_px is None else width_px / 100) * x:.0f} {y:.0f}")
        if point.low is not None and point.high is not None:
            end = scale.y(min(point.high, SHOWN_MOST * scale.most))
            drawn.append(f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{scale.y(point.low):.0f}" y2="{end:.0f}"/>')
            if point.high > SHOWN_MOST * scale.most:
                drawn.append(
                    f'<svg x="{x:.2f}%" y="{end:.0f}" overflow="visible"><path class="cap" d="M-3 5L0 0L3 5"/></svg>'
                )
        drawn.append(f'<use href="#m-{each.look.mark}" x="{x:.2f}%" y="{y:.0f}" data-t="{escape(point.tip)}"/>')
    line = f'<path class="curve" stroke-dasharray="{each.look.dash}" d="M{"L".join(path)}"/>' if len(path) > 1 else ""
    if line and width_px is None:
        line = f'<svg width="100%" height="{TOTAL}" viewBox="0 0 1000 {TOTAL}" preserveAspectRatio="none">{line}</svg>'
    return f'<g class="series {each.look.css}">{line}{"".join(drawn)}</g>'


def table(drawn: PanelChart) -> Markup:
    """The numbers of the chart: a row per panel and place, a column per candidate."""
    looks = drawn.looks
    heads = "".join(f'<th class="n" scope="col">{escape(look.label)}</th>' for look in looks)
    rows = []
    for panel in drawn.panels:
        by_place: dict[int, dict[str, float]] = {}
        for line in panel.series:
            for point in line.points:
                by_place.setdefault(point.place, {})[line.look.label] = point.value
        for place in sorted(by_place):
            cells = "".join(f'<td class="n">{three(by_place[place].get(look.label))}</td>' for look in looks)
            rows.append(f"<tr><td>{escape(panel.title)}</td><td>{escape(panel.labels[place])}</td>{cells}</tr>")
    return Markup(
        f'<details class="behind"><summary>Table</summary><div class="wide"><table class="data" data-name="{escape(drawn.name)}">'
        f'<thead><tr><th scope="col">Panel</th><th scope="col">{escape(drawn.x_title)}</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )
