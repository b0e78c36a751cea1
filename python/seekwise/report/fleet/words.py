"""Loads, kinds of devices and differences between them in words."""

from __future__ import annotations

from seekwise.report.number_text import three
from seekwise.store import operations

MANY = 2.0
"""From this ratio on, differences are said as `2.5 times`."""


def load_text(load: str) -> str:
    """`rand_read use=database` as `database (random read)`."""
    operation, _, rest = load.partition(" ")
    name = operations.name(operation).lower()
    words = [word.removeprefix("use=").replace("=", " ") for word in rest.split()]
    return f"{' '.join(dict.fromkeys(words))} ({name})" if words else name


def unlike_text(ratio: float, metric: str) -> str:
    """`30 % slower`, `2.5 times the p99 latency`."""
    if metric == "rate":
        return f"{three(100 * (1 - ratio))} % slower" if ratio < 1 else _more(ratio, "faster")
    return f"{three(100 * (1 - ratio))} % less p99 latency" if ratio < 1 else _more(ratio, "more p99 latency")


def _more(ratio: float, word: str) -> str:
    return (
        f"{three(ratio)} times {'as fast' if word == 'faster' else 'the p99 latency'}"
        if ratio >= MANY
        else f"{three(100 * (ratio - 1))} % {word}"
    )


def kind_text(kind: tuple[str, str]) -> str:
    """`RAID 5 of 4 × MODEL`, or the model alone."""
    model, level = kind
    return model if level == "single" else f"{level} × {model}"


def interval_text(low: float, high: float) -> str:
    """The interval of a ratio as a difference: `20 to 30 %`."""
    least, most = sorted(abs(100 * (bound - 1)) for bound in (low, high))
    return f"{three(least)} to {three(most)} %"
