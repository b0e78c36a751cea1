"""Numbers and the words of others as pages and terminals print them. Loads nothing, so that any command may use it."""

from __future__ import annotations

import math


def three(value: float | None) -> str:
    """Three significant digits without exponent; an en dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e+" in text else text


def one_line(value: object) -> str:
    """Text of others on one line."""
    return " ".join(str(value).split())
