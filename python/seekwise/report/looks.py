"""How one candidate looks everywhere on a page: colour in light and dark, dash, mark. Told apart without colour, too.

A scheduler has the colour of its own everywhere. What is ordered (threads, sizes) runs through a scale from dark to
light; anything else takes a palette in turn. Colours are moved until they have a contrast of 3 : 1 against their page
(WCAG 2.1, 1.4.11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from seekwise import schedulers

Style = tuple[str, tuple[int, ...], str]
"""Colour, dash pattern, marker."""
SCHEDULER_STYLE: dict[str, Style] = {
    row.name: (row.colour, row.dash, row.marker) for row in schedulers.registry().values()
}
# Okabe and Ito (2008), then two of Tol's (2021): distinguishable with the common colour deficiencies.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#44AA99", "#6A3D9A", "#7F7F7F")
ORDERED = ("#440154", "#3B528B", "#21918C", "#5EC962", "#C8A415")
DASHES = ("", "6 3", "2 2", "8 3 2 3", "4 2 1 2", "1 3", "10 3", "3 1")
LIGHT_PAGE, DARK_PAGE = "#ffffff", "#12161a"
CONTRAST_MIN = 3.2

MARKS = {
    "circle": "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",
    "square": "M-4.5-4.5H4.5V4.5H-4.5Z",
    "triangle-up": "M0-5.5L5.5 4.5H-5.5Z",
    "diamond": "M0-6L6 0L0 6L-6 0Z",
    "cross": "M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z",
    "triangle-down": "M0 5.5L5.5-4.5H-5.5Z",
    "stroke": "M-6-2H6V2H-6Z",
    "triangle-right": "M5.5 0L-4.5 5.5V-5.5Z",
    "triangle-left": "M-5.5 0L4.5 5.5V-5.5Z",
}
"""Shapes of points, as paths around their middle."""


@dataclass(frozen=True)
class Look:
    """One candidate; `css` is the class that carries its colour."""

    label: str
    css: str
    colour: str
    dark: str
    mark: str
    """Name of a row of MARKS."""
    dash: str

    @property
    def setting(self) -> str:
        """The label itself, as rows of a table call it."""
        return self.label


def scheduler_of(label: str) -> str | None:
    """The scheduler that a label names: `bfq`, `scheduler=bfq`, `bfq low_latency=0`."""
    for word in label.replace(",", " ").split():
        name = word.removeprefix("scheduler=")
        if name in SCHEDULER_STYLE:
            return name
    return None


class Looks:
    """Hands out looks; the same label gets the same one all over a page."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Look] = {}

    def by_label(self, labels: Sequence[str], *, ordered: bool = False, kind: str = "setting") -> dict[str, Look]:
        """{label: look} in this order."""
        looks: dict[str, Look] = {}
        schedulers_ = {SCHEDULER_STYLE[own][0] for own in map(scheduler_of, labels) if own is not None}
        palette = [colour for colour in PALETTE if colour not in schedulers_] or list(PALETTE)
        for number, label in enumerate(labels):
            look = self._known.get((kind, label))
            if look is None:
                taken = {look.mark for (other, _), look in self._known.items() if other == kind}
                look = self._made(label, number, len(labels), taken, palette, ordered=ordered)
                self._known[kind, label] = look
            looks[label] = look
        return looks

    def _made(
        self, label: str, number: int, count: int, taken: set[str], palette: Sequence[str], *, ordered: bool
    ) -> Look:
        own = scheduler_of(label)
        # A scheduler keeps its mark, too, unless another configuration of it has it already.
        wanted = [SCHEDULER_STYLE[own][2]] if own is not None else []
        free = [mark for mark in (*wanted, *MARKS) if mark in MARKS and mark not in taken]
        mark = free[0] if free else list(MARKS)[number % len(MARKS)]
        dash = DASHES[number % len(DASHES)]
        if ordered and count > 1:
            colour = _between(ORDERED, number / (count - 1))
        elif own is not None:
            colour, pattern, _ = SCHEDULER_STYLE[own]
            dash = "" if pattern in ((), (1, 0)) else " ".join(map(str, pattern))
        else:
            colour = palette[number % len(palette)]
        return Look(
            label,
            f"s{len(self._known)}",
            contrasting(colour, LIGHT_PAGE),
            contrasting(colour, DARK_PAGE),
            mark,
            dash,
        )

    @property
    def css(self) -> Markup:
        """Rules for all that were handed out."""
        looks = self._known.values()
        light = "".join(f".{look.css}{{color:{look.colour}}}" for look in looks)
        dark = "".join(f".{look.css}{{color:{look.dark}}}" for look in looks)
        return Markup(
            f"{light}\n@media screen and (prefers-color-scheme: dark){{{dark}}}"  # nothing but classes and colours of ours
        )


def _channels(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def _hex(channels: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * min(max(value, 0.0), 1.0)):02x}" for value in channels)


def _between(scale: Sequence[str], share: float) -> str:
    place = share * (len(scale) - 1)
    low = min(int(place), len(scale) - 2)
    pairs = zip(_channels(scale[low]), _channels(scale[low + 1]), strict=True)
    return _hex([a + (b - a) * (place - low) for a, b in pairs])


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.1, 1.4.3)."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def contrasting(colour: str, page: str) -> str:
    """The colour, mixed with black or white until it stands out from the page."""
    towards = 0.0 if luminance(page) > 0.5 else 1.0
    channels = _channels(colour)
    for step in range(21):
        mixed = _hex([value + (towards - value) * step / 20 for value in channels])
        if contrast(mixed, page) >= CONTRAST_MIN:
            return mixed
    return _hex([towards] * 3)
