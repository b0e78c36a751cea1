"""How every chart looks: one fixed colour, dash and marker per scheduler, so that lines are told apart without colour too."""

from __future__ import annotations

import zlib

import altair as alt

from seekwise import schedulers

Style = tuple[str, tuple[int, ...], str]
"""Colour, dash pattern, marker."""

# Four panels side by side fill the report's page.
PANEL_WIDTH = 178

# Each scheduler names its own; the palette is Okabe and Ito's (2008), distinguishable with the common colour deficiencies.
SCHEDULER_STYLE: dict[str, Style] = {
    row.name: (row.colour, row.dash, row.marker) for row in schedulers.known().values()
}
_SPARE = (
    ("#56B4E9", (3, 1), "triangle-down"),
    ("#E69F00", (5, 1, 1, 1), "stroke"),
    ("#6A3D9A", (10, 3), "triangle-right"),
    ("#7F7F7F", (1, 3), "triangle-left"),
)


def style_of(setting: str) -> Style:
    """(colour, dash, marker) of a setting: by the scheduler its label starts with, else a stable spare."""
    word = setting.split()[0].split("=")[-1] if setting else ""
    return SCHEDULER_STYLE.get(word) or _SPARE[zlib.crc32(setting.encode()) % len(_SPARE)]


def scales(settings: list[str]) -> tuple[alt.Scale, alt.Scale, alt.Scale]:
    """Colour, dash and marker scales with `settings` as domain, in that order; no two settings look the same up to eleven."""
    taken: list[Style] = []
    for setting in settings:
        candidates = (style_of(setting), *_SPARE, *SCHEDULER_STYLE.values())
        taken.append(next((style for style in candidates if style not in taken), candidates[0]))
    colours, dashes, markers = ([style[part] for style in taken] for part in range(3))
    return (
        alt.Scale(domain=settings, range=colours),
        alt.Scale(domain=settings, range=[list(dash) for dash in dashes]),
        alt.Scale(domain=settings, range=markers),
    )


def configured(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    """Common fonts, sizes and grid."""
    return (
        chart.configure(font="system-ui, sans-serif", background="white")
        .configure_axis(
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
            titlePadding=10,
            gridColor="#e6e6e6",
            domainColor="#888",
        )
        # The reader's font may be wider than the one that the labels were measured with.
        .configure_legend(
            labelFontSize=11, titleFontSize=11, symbolSize=80, symbolStrokeWidth=2, orient="bottom", columnPadding=28
        )
        .configure_header(labelFontSize=12, labelFontWeight="bold", title=None)
        .configure_view(strokeWidth=0)
    )
