"""Speed against usable capacity, a numbered mark per array: its shape says how many failures the array survives."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from seekwise.judge.array_choice import speeds
from seekwise.judge.arrays import ArrayRow
from seekwise.judge.front import on_front
from seekwise.report.charts.live_svg import tips

HEIGHT = 190
SHAPES = ("M-7-7L7 7M7-7L-7 7", "M8 0A8 8 0 1 1 -8 0A8 8 0 1 1 8 0Z", "M-8-8H8V8H-8Z", "M0-10L10 0L0 10L-10 0Z")
"""Cross: no failure; circle: one; square: two; diamond: three or more."""
WORDS = ("no drive failure", "1 drive failure", "2 drive failures", "3 or more")


def picture(arrays: Sequence[ArrayRow]) -> Markup | None:
    """None where there is nothing to weigh."""
    if len(arrays) < 2:
        return None
    speed = speeds(arrays)
    most = max(row.capacity_bytes for row in arrays)
    places = [(row.capacity_bytes / most, speed[row.name]) for row in arrays]
    fronts = on_front([(speed[row.name], row.capacity_bytes, row.survives_failures) for row in arrays])
    marks, read = [], []
    taken: list[tuple[float, float]] = []
    for number, (row, (capacity, throughput)) in enumerate(zip(arrays, places, strict=True), start=1):
        x, y = 6 + 84 * capacity, 14 + (HEIGHT - 40) * (1 - throughput)
        while any(abs(x - other_x) < 7 and abs(y - other_y) < 22 for other_x, other_y in taken):
            y += 11
            if y > HEIGHT - 26:
                y, x = 14, x - 7
        taken.append((x, y))
        shape = min(row.survives_failures, 3)
        front = fronts[number - 1]
        title = f"{number}: {row.name}, {row.capacity_text}, survives {row.failures_text}, {100 * throughput:.0f} % of the fastest"
        read.append((x, y, title))
        marks.append(
            f'<svg x="{x:.1f}%" y="{y:.0f}" overflow="visible"><title>{escape(title)}</title>'
            f'<path class="pareto{" front" if front else ""}" d="{SHAPES[shape]}"/>'
            f'<text x="13" y="4">{number}</text></svg>'
        )
    grid = "".join(
        f'<line class="grid" x1="0" x2="100%" y1="{14 + (HEIGHT - 40) * (1 - share):.0f}" y2="{14 + (HEIGHT - 40) * (1 - share):.0f}"/>'
        for share in (0, 0.5, 1)
    )
    axis = "".join(
        f'<text x="48" y="{18 + (HEIGHT - 40) * (1 - share):.0f}" text-anchor="end">{100 * share:.0f} %</text>'
        for share in (0, 0.5, 1)
    )
    capacities = "".join(
        f'<text x="{6 + 84 * share:.0f}%" y="{HEIGHT - 4}" text-anchor="middle">{most * share / 1e12:.3g} TB</text>'
        for share in (0.25, 0.5, 0.75, 1.0)
    )
    keys = "".join(
        f'<span class="shape"><svg width="20" height="20" viewBox="-11 -11 22 22" aria-hidden="true"><path class="pareto" d="{SHAPES[count]}"/></svg> survives {WORDS[count]}</span>'
        for count in sorted({min(row.survives_failures, 3) for row in arrays})
    )
    return Markup(
        '<figure class="chart" id="speed-capacity"><h3>Speed against usable capacity <small>right and up is better</small></h3>'
        f'<div class="legend">{keys}</div><div class="plot"><svg class="yaxis" width="52" height="{HEIGHT}" aria-hidden="true">{axis}</svg>'
        f'<svg class="tips" {tips(read)} width="100%" height="{HEIGHT}" role="img" aria-label="Speed of each array against its usable capacity">{grid}{capacities}{"".join(marks)}</svg></div>'
        "<figcaption>Numbers name the rows of the table above. Speed: geometric mean over all operations and loads, relative to the fastest of each. "
        "Filled: no other array is at least as good by speed, capacity and failures survived.</figcaption></figure>"
    )
