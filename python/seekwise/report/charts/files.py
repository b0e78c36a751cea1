"""A chart of a page as a picture file: the same panels at a fixed size, legend and caption inside, light."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import escape

from seekwise.files import make_folders, write_product
from seekwise.report.charts.panels import TOTAL, PanelChart, is_wide, marks, parts
from seekwise.report.looks import Look

PANEL_WIDTH, AXIS_WIDTH, GAP = 250, 52, 18
COLUMNS_MOST = 4
CHARACTER_PX = 6.8
STYLE = (
    "text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#525b64}.title{font-size:14px;font-weight:600;fill:#1b1f23}.head{font-weight:600;fill:#1b1f23}"
    ".grid{stroke:#d5dae0}.curve,.cap{fill:none;stroke:currentColor;stroke-width:1.6}.dot{fill:currentColor}"
    ".series line{stroke:currentColor;stroke-width:1.3}.series use{fill:currentColor}"
)


def svg(drawn: PanelChart) -> str:
    """The chart as SVG text."""
    columns = min(len(drawn.panels), COLUMNS_MOST)
    step = AXIS_WIDTH + PANEL_WIDTH + GAP
    width = max(step * columns + 8, 420)
    words = drawn.reading
    body = [f'<text class="title" x="8" y="20">{escape(drawn.title)}{escape(f" [{words}]") if words else ""}</text>']
    legend, top = _legend(drawn.looks, width, 32)
    body += legend
    for number, panel in enumerate(drawn.panels):
        x, y = 8 + step * (number % columns), top + (TOTAL + 46) * (number // columns)
        axis, plot = parts(panel, PANEL_WIDTH)
        scale = " (logarithmic)" if is_wide(panel) else ""
        body.append(f'<text class="head" x="{x}" y="{y + 12}">{escape(panel.title)}{scale}</text>')
        body.append(f'<svg x="{x}" y="{y + 18}" width="{AXIS_WIDTH}" height="{TOTAL}">{axis}</svg>')
        body.append(f'<svg x="{x + AXIS_WIDTH}" y="{y + 18}" width="{PANEL_WIDTH}" height="{TOTAL}">{plot}</svg>')
        middle = x + AXIS_WIDTH + PANEL_WIDTH / 2
        body.append(f'<text x="{middle}" y="{y + TOTAL + 30}" text-anchor="middle">{escape(drawn.x_title)}</text>')
    bottom = top + (TOTAL + 46) * math.ceil(len(drawn.panels) / columns)
    for line in textwrap.wrap(drawn.caption, int(width / CHARACTER_PX)):
        bottom += 15
        body.append(f'<text x="8" y="{bottom}">{escape(line)}</text>')
    colours = "".join(f".{look.css}{{color:{look.colour}}}" for look in drawn.looks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 10}"><style>{STYLE}{colours}</style>'
        f'{marks()}<rect width="100%" height="100%" fill="#fff"/>{"".join(body)}</svg>'
    )


LIVE_WIDTH = 900
LIVE_STYLE = (
    ".tick{stroke:#d5dae0}.limit{fill:#dcefe6}.open{stroke:#525b64;stroke-dasharray:2 4}.shade{opacity:.16;fill:currentColor}"
    ".cut{opacity:.28;fill:currentColor}.bar{stroke:currentColor;stroke-width:2}.bar.strong{stroke-width:4}.close{display:none}"
    "path.curve{vector-effect:non-scaling-stroke}"
)


def framed(picture: str, title: str, looks: Sequence[Look], below: str = "") -> str:
    """A picture of a live-switched run, which on its page follows the width, as an SVG of fixed size with title and
    legend."""
    body = "".join(re.findall(r"<svg.*</svg>", picture, re.DOTALL))
    legend, top = _legend(looks, LIVE_WIDTH, 32)
    height = max(int(stated) for stated in re.findall(r'<svg[^>]* height="(\d+)"', body))
    left = 8
    if 'class="yaxis"' in body:
        axis, _, body = body.partition("</svg>")
        legend.append(f'<svg x="{left}" y="{top}" width="60" height="{height}">{axis}</svg></svg>')
        left += 62
    frame = f'<svg x="{left}" width="{LIVE_WIDTH - left - 12}"'
    parts_ = [f'{frame} y="{top}" height="{height}">{body}</svg>']
    if below:
        parts_.append(f'{frame} y="{top + height}" height="20">{below}</svg>')
        height += 20
    colours = "".join(f".{look.css}{{color:{look.colour}}}" for look in looks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LIVE_WIDTH}" height="{top + height + 8}"><style>{STYLE}{LIVE_STYLE}{colours}</style>'
        f'{marks()}<rect width="100%" height="100%" fill="#fff"/><text class="title" x="8" y="20">{escape(title)}</text>'
        f"{''.join(legend)}{''.join(parts_)}</svg>"
    )


def _legend(looks: Sequence[Look], width: float, top: float) -> tuple[list[str], float]:
    """Keys in rows, and where the panels begin."""
    if len(looks) < 2:
        return [], top
    x, y, made = 8.0, top, []
    for look in looks:
        room = 44 + CHARACTER_PX * len(look.label)
        if x + room > width:
            x, y = 8.0, y + 18
        made.append(
            f'<g class="{look.css}"><line class="curve" x1="{x}" x2="{x + 30}" y1="{y + 6}" y2="{y + 6}" stroke-dasharray="{look.dash}"/>'
            f'<use href="#m-{look.mark}" x="{x + 15}" y="{y + 6}" fill="currentColor"/></g><text x="{x + 36}" y="{y + 10}">{escape(look.label)}</text>'
        )
        x += room + 8
    return made, y + 24


def write_all(folder: Path, pictures: Iterable[tuple[str, str]]) -> list[Path]:
    """Each chart, given as (name, SVG), as a file of its own: `NAME.svg`. OSError where that fails."""
    make_folders(folder)
    return [write_product(folder / f"{name}.svg", picture.encode()) for name, picture in pictures]
