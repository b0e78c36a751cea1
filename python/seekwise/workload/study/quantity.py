"""Sizes and times as people write them: `4k`, `64m`, `700ms`, `5m`.

Sizes count in powers of two (k = 2^10), as fio and the kernel's attributes do; a bare number is bytes. A bare number of
time is seconds.
"""

from __future__ import annotations

import re


class NotAllowed(ValueError):
    """A single value that no machine takes; the message says what it must be."""


SIZE_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
TIME_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
BYTES_MAX = 2**60
SECONDS_MAX = 366 * 86400.0
SIZE_FORM = "a size such as 4k, 64m or 1g (powers of two)"
TIME_FORM = "a time such as 700ms, 30s, 5m or 1h"


def parse_bytes(value: object) -> int:
    """Bytes of `4k`, `64MiB`, `512`; ValueError says what is allowed."""
    if isinstance(value, bool):
        raise NotAllowed(f"must be {SIZE_FORM}")
    if isinstance(value, int):
        count: float = value
    else:
        match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([bkmgt]?)(?:i?b)?\s*", str(value).lower(), re.ASCII)
        if not match:
            raise NotAllowed(f"must be {SIZE_FORM}")
        count = float(match[1]) * SIZE_UNITS[match[2]]
    if not abs(count) <= BYTES_MAX:
        raise NotAllowed(f"must be {SIZE_FORM}, at most {BYTES_MAX >> 50} PiB")
    return int(count)


def parse_seconds(value: object) -> float:
    """Seconds of `700ms`, `5m`, `30`; ValueError says what is allowed."""
    if isinstance(value, bool):
        raise NotAllowed(f"must be {TIME_FORM}")
    if isinstance(value, int | float):
        seconds = float(min(max(value, -SECONDS_MAX * 2), SECONDS_MAX * 2))
    else:
        match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*(ms|s|m|min|h|)\s*", str(value).lower(), re.ASCII)
        if not match:
            raise NotAllowed(f"must be {TIME_FORM}")
        seconds = float(match[1]) * TIME_UNITS[match[2]]
    if not abs(seconds) <= SECONDS_MAX:
        raise NotAllowed(f"must be {TIME_FORM}, at most a year")
    return seconds


def bytes_text(count: int) -> str:
    """`4 KiB`, `1.5 GiB`."""
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def capacity_text(count: int) -> str:
    """What a drive or an array holds, as drives are sold: `250 GB`, `4.00 TB`, `36.0 TB`."""
    terabytes = count / 1e12
    if terabytes < 0.9995:
        return f"{count / 1e9:.3g} GB"
    return f"{terabytes:.{2 if terabytes < 9.995 else 1 if terabytes < 99.95 else 0}f} TB"


def size_word(count: int) -> str:
    """The short form that sizes have in labels and fio options: `4k`, `64m`, `20000k`."""
    for unit in ("g", "m", "k"):
        if count >= SIZE_UNITS[unit] and count % SIZE_UNITS[unit] == 0:
            return f"{count // SIZE_UNITS[unit]}{unit}"
    return str(count)


def counted(number: int, word: str) -> str:
    """`1 run`, `3 runs`, `12,000 runs`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def latency_text(ns: float) -> str:
    """Nanoseconds as `85 µs`, `12.3 ms` or `1.2 s`."""
    if ns < 999.5e3:
        return f"{ns / 1e3:.3g} µs"
    return f"{ns / 1e6:.3g} ms" if ns < 999.5e6 else f"{ns / 1e9:.3g} s"


def time_text(seconds: float) -> str:
    """`45 s`, `2 min 5 s`, `3 h 10 min`."""
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")
