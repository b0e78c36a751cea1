"""One paragraph on what agrees with a publication and what does not."""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.judge.printed import Cell, Printed

METRICS = {"rate": "rate", "access_time": "access time", "cpu_efficiency": "CPU efficiency"}
NEAR = 0.25
"""A rate within this share of the printed one counts as near."""


def paragraph(printed: Printed) -> str:
    """Empty where nothing can be compared."""
    parts = []
    cells = [cell for table in printed.tables for cell in table.cells if cell.agrees is not None]
    if cells:
        parts.append(f"{_of(cells)} published winners reproduced{_by_metric(cells)}.")
        parts.append(_misses(cells))
    values = [
        (cell.value, cell.text)
        for grid in printed.grids
        for systems in grid.rows.values()
        for row in systems.values()
        for cell in row
        if cell.value is not None and cell.text
    ]
    if values:
        near = sum(abs(value / text - 1) <= NEAR for value, text in values)
        ratios = sorted(value / text for value, text in values)
        middle = ratios[len(ratios) // 2]
        parts.append(
            f"{near} of {len(values)} printed numbers are within {100 * NEAR:.0f} % of the publication; "
            f"the median is {middle:.2f} times the printed one."
        )
    withheld = sum(cell.text == "reserved" for table in printed.tables for cell in table.cells)
    if withheld:
        parts.append(f"{withheld} further published winners are not part of the data that ships with Seekwise.")
    return " ".join(part for part in parts if part)


def _of(cells: Sequence[Cell]) -> str:
    return f"{sum(bool(cell.agrees) for cell in cells)} of {len(cells)}"


def _by_metric(cells: Sequence[Cell]) -> str:
    groups = {name: [cell for cell in cells if cell.metric == name] for name in METRICS}
    words = [f"{METRICS[name]} {_of(group)}" for name, group in groups.items() if group]
    return f": {', '.join(words)}" if len(words) > 1 else ""


def _misses(cells: Sequence[Cell]) -> str:
    missed = [cell for cell in cells if not cell.agrees]
    if not missed:
        return "Nothing differs."
    ties = sum("=" in (cell.word, cell.text) for cell in missed)
    if ties == len(missed):
        return f"In all {ties} others one side shows a tie: none names the opposite winner."
    opposite = len(missed) - ties
    return f"In {ties} of the others one side shows a tie; {opposite} name{'s' if opposite == 1 else ''} the opposite winner."
