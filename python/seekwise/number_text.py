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
    """Labels inside a sentence as words: `raid_level=raid5 scheduler=bfq` as `RAID 5 bfq`, `chunk_kib=64` as `chunk 64 KiB`."""
    said = re.sub(r"\braid_level=raid(\d+)", r"RAID \1", str(text))
    said = re.sub(r"\bscheduler=", "", said)
    said = re.sub(r"\bchunk_kib=(\d+)", r"chunk \1 KiB", said)
    return re.sub(r"\b([a-z]\w*)=(?=[\w.]+)", lambda found: found[1].replace("_", " ") + " ", said)


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    given = list(names)
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"


def either(names: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return listed(names).replace(" and ", " or ")
