"""Numbers and the words of others as pages and terminals print them. Loads nothing, so that any command may use it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal


def three(value: float | None) -> str:
    """Three significant digits without exponent; an en dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.3g}"
    if "e+" in text:
        return f"{value:.0f}"
    return format(Decimal(text), "f") if "e-" in text else text


TIMES_FROM = 2.0
"""Ratios from here on are said as factors: "3 times longer" instead of "200 % longer"."""
MINUS = "\N{MINUS SIGN}"


def percent(share: float) -> str:
    """`3 %`, `0.4 %`, `38 %`, and `over 99.9 %` of what is almost all."""
    value = 100 * share
    if 99.95 <= value < 100:
        return "over 99.9 %"
    return f"{value:.2g} %" if value < 9.95 else f"{value:.0f} %"


def factor_text(factor: float) -> str:
    """A factor in two digits, from ten on in three: `3.1`, `145`."""
    return f"{factor:.2g}" if factor < 9.95 else f"{float(f'{factor:.3g}'):g}"


def signed(ratio: float) -> str:
    """A ratio as per cents with their sign: `−20`, `+30`, `+0.4`."""
    value = 100 * (ratio - 1)
    return (f"{value:+.2g}" if abs(value) < 9.95 else f"{value:+.0f}").replace("-", MINUS)


def span(low: float, high: float) -> str:
    """A range of ratios in one unit: `−20 to +30 %`, `6.4 to 13.9 times`."""
    if high >= TIMES_FROM or low <= 1 / TIMES_FROM:
        return f"{factor_text(low)} to {factor_text(high)} times"
    return f"{signed(low)} to {signed(high)} %"


def change(ratio: float) -> str:
    """`+12 %`, `−63 %`, `2.4 times`."""
    return f"{factor_text(ratio)} times" if ratio >= TIMES_FROM else f"{signed(ratio)} %"


def by(factor: float, word: str, *, of_rate: bool) -> str:
    """`12 % slower`, `3.1 times longer`: the larger over the smaller value. `of_rate`: a loss, as a share of the larger
    one."""
    if factor >= TIMES_FROM:
        return f"{factor_text(factor)} times {word}"
    return f"{percent(1 - 1 / factor if of_rate else factor - 1)} {word}"


def thousands(rate: float) -> str:
    """A rate in thousands: `475,000`; below ten thousand in hundreds."""
    return f"{round(rate, -3):,.0f}" if rate >= 10_000 else f"{round(rate, -2):,.0f}"


def natural(text: str) -> tuple[tuple[int, str | int], ...]:
    """Sort key that reads whole numbers as numbers: `chunk 64 KiB` comes before `chunk 128 KiB`."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", text) if part)


def one_line(value: object) -> str:
    """Text of others on one line."""
    return " ".join(str(value).split())


def plain_settings(text: object) -> str:
    """Labels inside a sentence as words: `raid_level=raid5 scheduler=bfq` as `RAID 5 bfq`, `chunk_kib=64` as
    `chunk 64 KiB`."""
    said = re.sub(r"\braid_level=raid(\d+)", r"RAID \1", str(text))
    said = re.sub(r"\bscheduler=", "", said)
    said = re.sub(r"\bchunk_kib=(\d+)", r"chunk \1 KiB", said)
    said = re.sub(r"\bread_ahead_kb=(\d+)", r"read-ahead \1 KiB", said)
    return re.sub(r"\b([a-z]\w*)=(?=[-\w.]+)", lambda found: found[1].replace("_", " ") + " ", said)


def some(names: Iterable[str], most: int) -> str:
    """`a, b and 3 more`: the first few of many."""
    given = list(names)
    return ", ".join(given[:most]) + (f" and {len(given) - most} more" if len(given) > most else "")


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    given = list(names)
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"


def either(names: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return listed(names).replace(" and ", " or ")
