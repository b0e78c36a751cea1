"""A chart as SVG or PNG, without network and without a browser (vl-convert carries Vega-Lite)."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import vl_convert
from markupsafe import escape


def svg(chart: alt.TopLevelMixin) -> str:
    """SVG text of a chart, ready to stand inside an HTML page."""
    # Our own charts need no check against the schema, which takes seconds.
    text = vl_convert.vegalite_to_svg(_printable(chart.to_dict(validate=False)), allowed_base_urls=[])
    return re.sub(r"^<\?xml[^>]*\?>\s*", "", text)


def _printable(value: Any) -> Any:
    """Without control characters, which XML does not have: on one in the name of a setting vl-convert aborts the whole process."""
    if isinstance(value, str):
        return CONTROL.sub("�", value)
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list) else value


CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def compact(text: str) -> str:
    """The same picture with places to a tenth of a point: a third of the size."""
    return re.sub(r"(\d+\.\d)\d+", r"\1", text)


SYMBOL = re.compile(r'aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="([a-z ]+)"')
POINTED = ("symbol", "point", "circle", "square", "bar", "rect", "arc", "tick", "rule", "text")
"""Marks that stand for one row each; a line or an area has many, of which Vega names the first."""
TIPS_MOST = 1500
PLACE = re.compile(r"(?:^|; )(?:x2?|y2?|i|ring|label_x|label_y): [^;]*")
"""Places in a drawing without axes: no values."""


def explorable(text: str, title: str) -> str:
    """The same picture as one that takes the keyboard: its marks tell their values one by one, as those of all other charts do (`page.js`)."""
    found = [0]

    def told(match: re.Match[str]) -> str:
        words, kind = match[1], match[2].removesuffix(" mark")
        words = re.sub(r"^(?:label|text): ", "", PLACE.sub("", words).removeprefix("; "))
        shown = words and kind in POINTED and found[0] < TIPS_MOST
        found[0] += bool(shown)
        return f'data-t="{words}"' if shown else 'aria-hidden="true"'

    text = SYMBOL.sub(told, text)
    text = re.sub(r' role="graphics-object" aria-roledescription="[^"]*"( aria-label="[^"]*")?', "", text)
    text = re.sub(r' role="graphics-symbol" aria-roledescription="[^"]*"( aria-label="[^"]*")?', "", text)
    name = escape(title)
    reached = ' tabindex="0"' if "data-t=" in text else ""
    text = text.replace('class="marks"', f'class="marks tips" role="img"{reached} aria-label="{name}"', 1)
    return re.sub(r"<svg[^>]*>", lambda root: f"{root[0]}<title>{name}</title>", text, count=1)


def png(chart: alt.TopLevelMixin, scale: float = 2.0) -> bytes:
    """PNG of a chart at `scale` pixels per point."""
    return vl_convert.vegalite_to_png(_printable(chart.to_dict(validate=False)), scale=scale, allowed_base_urls=[])
