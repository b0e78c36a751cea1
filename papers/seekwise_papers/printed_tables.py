"""Tables of a study in the form of the text that it repeats: winners with what the text prints beside them, and grids
of rates.

Reads records only, from any backend. Winners follow the rule of `seekwise verify verdicts`; figures count MB as the
texts' programs print them (2^20 bytes). What the records do not hold is an en dash; what the text does not give is said
to be so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from seekwise.judge.repeats import Place, repeats
from seekwise.schedulers import SUCCESSORS
from seekwise.store.operations import PURE_OPERATIONS
from seekwise.store.record import Record
from seekwise.workload.study.quantity import parse_bytes, size_word
from seekwise_papers.publication import RESERVED, TABLE_METRICS, Block, Grid, Side, Table
from seekwise_papers.winner_rule import METRICS, decide

Mean = Literal["plain", "high"]
MEANS = {
    "plain": "mean of the repeats",
    "high": "mean of the repeats that prefers high values: ranked from low to high, the n-th counts n times",
}
MISSING = "–"
Values = Mapping[Place, list[float]]


@dataclass(frozen=True)
class Style:
    """How repeats are summed up, and which values are marked."""

    mean: Mean = "plain"
    acceptable: float | None = None
    """Share of the best system's value from which a value is marked; None marks nothing."""


@dataclass(frozen=True)
class Cell:
    """One winner: what came out, what the text prints, and the two values behind it."""

    SHOWN: ClassVar = ("agrees",)

    metric: str
    word: str
    text: str
    first: float | None
    second: float | None

    @property
    def agrees(self) -> bool | None:
        """None where one of the two is missing."""
        return None if self.word == MISSING or self.text in (RESERVED, "") else self.word == self.text


@dataclass(frozen=True)
class PrintedBlock:
    title: str
    rows: dict[str, list[Cell]]


@dataclass(frozen=True)
class PrintedTable:
    SHOWN: ClassVar = ("agreement",)

    number: int
    title: str
    blocks: list[PrintedBlock]

    @property
    def cells(self) -> list[Cell]:
        """The winners of all parts of the table, row by row, left to right."""
        return [cell for block in self.blocks for row in block.rows.values() for cell in row]

    @property
    def agreement(self) -> str:
        """`18 of 24 winners as published`, of those that both sides have."""
        judged = [cell for cell in self.cells if cell.agrees is not None]
        return f"{sum(bool(cell.agrees) for cell in judged)} of {len(judged)} winners as published" if judged else ""


@dataclass(frozen=True)
class GridCell:
    value: float | None
    text: float | None = None
    acceptable: bool = False


@dataclass(frozen=True)
class PrintedGrid:
    number: int
    title: str
    columns: list[str]
    rows: dict[str, dict[str, list[GridCell]]]
    """{operation: {system: cells}}"""
    scatter: str = ""
    unit: str = "MB/s"

    @property
    def digits(self) -> int:
        """Behind the point: whole MB/s, ratios to a hundredth."""
        return 0 if self.unit == "MB/s" else 2


@dataclass(frozen=True)
class Printed:
    tables: list[PrintedTable] = field(default_factory=list)
    grids: list[PrintedGrid] = field(default_factory=list)
    style: Style = Style()


def mean_of(values: Sequence[float], mean: Mean) -> float:
    """The plain mean, or the one that weights values by their rank, as some publications print."""
    if mean == "plain":
        return sum(values) / len(values)
    ranked = sorted(values)
    return sum(rank * value for rank, value in enumerate(ranked, start=1)) / sum(range(1, len(ranked) + 1))


def printed(tables: Sequence[Table], grids: Sequence[Grid], records: Sequence[Record], style: Style) -> Printed:
    """Everything that a study shows in its text's form."""
    known: dict[str, Values] = {metric: repeats(records, metric) for metric in TABLE_METRICS}
    errors: dict[str, Values] = {metric: repeats(records, metric, errors=True) for metric in TABLE_METRICS}
    return Printed(
        [_table(table, known, errors, style) for table in tables],
        [_of_grid(grid, known["rate"], records, style) for grid in grids],
        style,
    )


def _of_grid(grid: Grid, known: Values, records: Sequence[Record], style: Style) -> PrintedGrid:
    """Rates, or ratios to one system (what an array gains over a single drive) or to another program's rates, which a
    text prints itself."""
    rates = _grid(grid, _of_load(records, grid.load) if grid.load is not None else known, style)
    base = grid.against_load or grid.against
    if base is None:
        return rates
    others = _grid(grid, _of_load(records, grid.against_load), style).rows if grid.against_load else rates.rows
    rows = {
        operation: {
            name: _ratios(
                cells, others.get(operation, {}).get(grid.against or name, []), own=grid.against_load is not None
            )
            for name, cells in systems.items()
            if name != grid.against
        }
        for operation, systems in rates.rows.items()
        if grid.against is None or grid.against in systems
    }
    return replace(rates, rows=rows, scatter="", unit=f"times the rate of {base}")


def _ratios(cells: Sequence[GridCell], base: Sequence[GridCell], *, own: bool = False) -> list[GridCell]:
    """`own`: the text prints ratios itself; else its rates are divided, too."""
    return [
        GridCell(
            cell.value / one.value if cell.value is not None and one.value else None,
            text=cell.text if own else cell.text / one.text if cell.text is not None and one.text else None,
        )
        for cell, one in zip(cells, base, strict=False)
    ]


def _of_load(records: Sequence[Record], load: str) -> Values:
    return repeats([record for record in records if record.factors.get("load") == load], "rate")


def _table(table: Table, known: Mapping[str, Values], errors: Mapping[str, Values], style: Style) -> PrintedTable:
    sides = [side for block in table.block for side in block.sides]
    stand_ins = {side.setting: setting_of(side, known["rate"]) for side in sides}
    said = [f"{new} stands for {old}" for old, new in stand_ins.items() if new != old]
    title = f"{table.title} ({', '.join(said)})" if said else table.title
    return PrintedTable(table.number, title, [_block(block, known, errors, style) for block in table.block])


def _block(block: Block, known: Mapping[str, Values], errors: Mapping[str, Values], style: Style) -> PrintedBlock:
    rows: dict[str, list[Cell]] = {}
    for operation in PURE_OPERATIONS:
        text = block.text.get(operation, [""] * len(TABLE_METRICS))
        row = [
            _cell(block.sides, operation, metric, word, known[metric], errors[metric], style)
            for metric, word in zip(TABLE_METRICS, text, strict=True)
        ]
        if any(cell.word != MISSING or cell.text for cell in row):
            rows[operation] = row
    return PrintedBlock(block.title, rows)


def _cell(
    sides: Sequence[Side], operation: str, metric: str, text: str, known: Values, errors: Values, style: Style
) -> Cell:
    """Means over the thread counts of the means over the repeats, and who wins by them."""
    first, second = (
        _mean([mean_of(values, style.mean) for values in _of_side(side, operation, known)]) for side in sides
    )
    if first is None or second is None:
        return Cell(metric, MISSING, text, first, second)
    # Of one run, however many repeats there are: the publication ran once, and `verify verdicts` asks what its clock
    # could tell apart.
    runs = [
        [math.hypot(*values) / math.sqrt(len(values)) for values in _of_side(side, operation, errors)] for side in sides
    ]
    error = math.hypot(*(math.hypot(*run) / len(run) for run in runs if run))
    winner = decide(first, second, (sides[0].printed, sides[1].printed), METRICS[metric][1], error)
    return Cell(metric, "=" if winner == "tie" else winner, text, first, second)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _of_side(side: Side, operation: str, known: Values) -> list[list[float]]:
    setting = setting_of(side, known)
    return [
        repeated
        for (system, label, name, *_), repeated in known.items()
        if (system, label, name) == (side.system, setting, operation)
    ]


def setting_of(side: Side, known: Values) -> str:
    """The setting of a side; where a newer kernel ran, the successor of its scheduler."""
    present = {label for system, label, *_ in known if system == side.system}
    successor = SUCCESSORS.get(side.setting)
    return successor if side.setting not in present and successor in present else side.setting


def _grid(grid: Grid, known: Values, style: Style) -> PrintedGrid:
    rates: dict[tuple[str, str, int], list[float]] = {}
    for (system, _, operation, threads, size), values in known.items():
        if system in grid.systems and threads == grid.threads:
            rates.setdefault((operation, system, size), []).extend(values)
    sizes = sorted({size for _, _, size in rates})
    means = {place: mean_of(values, style.mean) for place, values in rates.items()}
    text: dict[tuple[str, str, int], float] = {
        (operation, system, parse_bytes(word)): value
        for operation, systems in grid.text.items()
        for system, row in systems.items()
        for word, value in row.items()
    }

    def cell(operation: str, system: str, size: int) -> GridCell:
        mean = means.get((operation, system, size))
        best = max(means.get((operation, other, size), 0.0) for other in grid.systems)
        marked = style.acceptable is not None and mean is not None and mean >= style.acceptable * best
        return GridCell(mean, text.get((operation, system, size)), marked)

    rows = {
        operation: {system: [cell(operation, system, size) for size in sizes] for system in grid.systems}
        for operation in sorted({operation for operation, _, _ in rates} & set(PURE_OPERATIONS))
    }
    scatter = _scatter(grid, [max(values) - min(values) for values in rates.values() if len(values) > 1])
    return PrintedGrid(grid.number, grid.title, [size_word(size) for size in sizes], rows, scatter)


def _scatter(grid: Grid, scatter: Sequence[float]) -> str:
    if not scatter:
        return ""
    stated = (
        "; the publication states {:g} to {:g} MB/s".format(*grid.text_scatter_mb_s) if grid.text_scatter_mb_s else ""
    )
    middle = sum(scatter) / len(scatter)
    return f"scatter of the repeats: {min(scatter):.1f} to {max(scatter):.1f} MB/s, {middle:.1f} on average{stated}"
