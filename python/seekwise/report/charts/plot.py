"""Pictures of fixed size as SVG text, on a white sheet: axes, lines, areas and marks. Marks tell their values
(`page.js` reads `data-t`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup, escape

from seekwise.report.charts.panels import short, ticks
from seekwise.report.looks import MARKS

STYLE = "text{font:10.5px system-ui,'DejaVu Sans',sans-serif;fill:#1b1f23}"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not have."""
CHARACTER_PX = 6.6
BELOW = 36
"""Pixels below a graph: its values and the title of its axis."""
Point = tuple[float, float]
Place = Callable[[float, float], Point]
"""From values to pixels."""


def words(value: object) -> str:
    """Text of others inside XML."""
    return str(escape(CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value))))


def picture(width: float, height: float, title: str, *parts: str) -> Markup:
    """The whole picture."""
    body = "".join(parts)
    reached = ' tabindex="0"' if "data-t=" in body else ""
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tips" role="img"{reached} width="{width:.0f}" height="{height:.0f}" aria-label="{words(title)}">'
        f'<title>{words(title)}</title><style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{body}</svg>'
    )


def text(
    x: float, y: float, said: object, *, anchor: str = "middle", size: float = 10.5, weight: str = "normal"
) -> str:
    """`y`: of the line below the letters."""
    style = f'text-anchor="{anchor}" style="font-size:{size}px;font-weight:{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{words(said)}</text>'


def line(a: Point, b: Point, colour: str = "#000", width: float = 1.0, dash: str = "") -> str:
    """From one point to another."""
    stroke = f'stroke="{colour}" stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash else "")
    return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" {stroke}/>'


def curve(points: Iterable[Point], colour: str = "#000", width: float = 1.4, *, fill: str = "none") -> str:
    """A line through all points."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{path}" fill="{fill}" stroke="{colour}" stroke-width="{width}"/>' if path else ""


def mark(at: Point, kind: str, colour: str, said: object, scale: float = 0.8) -> str:
    """A shape of `looks.MARKS` that tells its value."""
    place = f'transform="translate({at[0]:.1f} {at[1]:.1f}) scale({scale})"'
    return f'<path d="{MARKS[kind]}" {place} fill="{colour}" data-t="{words(said)}"/>'


def rect(a: Point, b: Point, fill: str, said: object = "") -> str:
    """Between two corners; it tells its value where there is one."""
    told = f' data-t="{words(said)}"' if said else ""
    x, y = min(a[0], b[0]), min(a[1], b[1])
    size = f'width="{abs(a[0] - b[0]):.1f}" height="{abs(a[1] - b[1]):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{fill}" stroke="none"{told}/>'


def axes(
    box: tuple[Point, Point], x: Point, y: Point, titles: tuple[str, str], *, log: bool = False
) -> tuple[Place, str]:
    """(from values to points, the axes) of a graph in `box`, left upper to right lower corner, over the values `x` and
    `y`."""
    (left, top), (right, bottom) = box
    low, high = (math.log10(x[0]), math.log10(x[1])) if log else x

    def at(a: float, b: float) -> Point:
        share = ((math.log10(a) if log else a) - low) / ((high - low) or 1.0)
        return left + (right - left) * share, bottom - (bottom - top) * (b - y[0]) / ((y[1] - y[0]) or 1.0)

    parts = []
    for value in (tick + y[0] for tick in ticks(y[1] - y[0] or 1.0, None) if tick <= (y[1] - y[0]) * 1.0001):
        place = at(x[0], value)
        parts += [line(place, (right, place[1]), "#e0e4e8"), text(left - 6, place[1] + 4, short(value), anchor="end")]
    for value in (tick for tick in ticks(x[1], x[0] if log else None) if x[0] <= tick <= x[1] * 1.0001):
        parts.append(text(at(value, y[0])[0], bottom + 14, short(value)))
    parts.append(line((left, bottom), (right, bottom), "#888"))
    parts += [text((left + right) / 2, bottom + 29, titles[0]), text(left, top - 7, titles[1], anchor="start")]
    return at, "".join(parts)


def legend(x: float, y: float, keys: Sequence[tuple[str, str, str, str]]) -> str:
    """(words, colour, dash, mark) side by side."""
    parts = []
    for said, colour, dash, kind in keys:
        parts += [line((x, y), (x + 28, y), colour, 1.8, dash), mark((x + 14, y), kind, colour, said)]
        parts.append(text(x + 36, y + 4, said, anchor="start"))
        x += 60 + CHARACTER_PX * len(said)
    return "".join(parts)
