"""What agrees with a publication and what does not, in sentences and on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from seekwise.judge.system_choices import OVERALL, SystemChoice
from seekwise.number_text import either
from seekwise.report.layout import plain_table, print_lines
from seekwise.store import operations
from seekwise_papers.printed_tables import MEANS, Cell, Printed, PrintedGrid, PrintedTable
from seekwise_papers.publication import RESERVED, Conclusion
from seekwise_papers.winner_rule import RULE

METRICS = {"rate": "rate", "access_time": "access time", "cpu_efficiency": "CPU efficiency"}
NEAR = 0.25
"""A rate within this share of the printed one counts as near."""


def paragraph(printed: Printed) -> str:
    """Empty where nothing can be compared."""
    parts = []
    cells = [cell for table in printed.tables for cell in table.cells if cell.agrees is not None]
    if cells:
        parts += [f"{_of(cells)} published winners reproduced{_by_metric(cells)}.", _misses(cells)]
    values = [
        cell.value / cell.text
        for grid in printed.grids
        for systems in grid.rows.values()
        for row in systems.values()
        for cell in row
        if cell.value is not None and cell.text
    ]
    if values:
        near = sum(abs(ratio - 1) <= NEAR for ratio in values)
        parts.append(
            f"{near} of {len(values)} printed numbers are within {100 * NEAR:.0f} % of the publication; "
            f"the median is {sorted(values)[len(values) // 2]:.2f} times the printed one."
        )
    withheld = sum(cell.text == RESERVED for table in printed.tables for cell in table.cells)
    parts += [f"{withheld} further published winners are not part of the data that ships here."] if withheld else []
    return " ".join(parts)


def _of(cells: Sequence[Cell]) -> str:
    return f"{sum(bool(cell.agrees) for cell in cells)} of {len(cells)}"


def _by_metric(cells: Sequence[Cell]) -> str:
    groups = {name: [cell for cell in cells if cell.metric == name] for name in METRICS}
    words = [f"{METRICS[name]} {_of(group)}" for name, group in groups.items() if group]
    return f": {', '.join(words)}" if len(words) > 1 else ""


def _misses(cells: Sequence[Cell]) -> str:
    missed = [cell for cell in cells if not cell.agrees]
    ties = sum("=" in (cell.word, cell.text) for cell in missed)
    if not missed:
        return "Nothing differs."
    return f"In {ties} of the others one side shows a tie; opposite winners: {len(missed) - ties}."


def conclusions(choices: Sequence[SystemChoice], concluded: Sequence[Conclusion]) -> list[str]:
    """What the run chooses beside what the text concludes: what agrees, then what differs."""
    same, other = [], []
    for row in concluded:
        for choice in choices:
            if choice.system != row.system or choice.use != row.use or choice.threads:
                continue
            what = f"{choice.system}{'' if row.use == OVERALL.name else ' for ' + row.use.replace('-', ' ')}"
            published = either(name.removeprefix("scheduler=") for name in row.settings)
            if choice.named and set(choice.named) <= set(row.settings):
                same.append(f"{what}: {published}")
            else:
                other.append(f"{what}: published {published}, here {choice.text}")
    said = [f"As published: {'; '.join(same)}"] if same else []
    return [*said, f"Differs from the publication: {'; '.join(other)}"] if other else said


def show(printed: Printed, sentences: Sequence[str], console: Console) -> None:
    """Sentences, then the tables."""
    print_lines([sentence for sentence in (paragraph(printed), *sentences) if sentence], console)
    for table in printed.tables:
        console.print()
        show_table(table, console)
    for grid in printed.grids:
        console.print()
        show_grid(grid, console)
    if printed.tables:
        print_lines(
            ["", f"`published`: what the publication prints; `–`: no answer here; `tie`: {RULE}."], console, style="dim"
        )
    if printed.style.mean != "plain":
        print_lines([f"Shown is the {MEANS[printed.style.mean]}."], console, style="dim")


def show_table(table: PrintedTable, console: Console) -> None:
    """A table of winners as the publication prints it, its own words below ours."""
    console.print(f"Table {table.number}: {table.title}", style="bold", highlight=False, markup=False)
    shown = plain_table(style="dim")
    for title, width in (("", 22), ("Rate", 12), ("Access time", 12), ("CPU efficiency", 14)):
        shown.add_column(title, no_wrap=True, min_width=width)
    for block in table.blocks:
        shown.add_row(Text(block.title, style="italic"))
        for operation, row in block.rows.items():
            shown.add_row(f"  {operations.name(operation)}", *(word(cell.word) for cell in row))
            if any(known(cell) for cell in row):
                shown.add_row("    published", *(word(cell.text) if known(cell) else "" for cell in row), style="dim")
    console.print(shown)
    if table.agreement:
        console.print(f"{table.agreement}.", style="dim", highlight=False)


def known(cell: Cell) -> bool:
    """The publication's winner is part of the data."""
    return cell.text not in ("", RESERVED)


def word(printed: str) -> str:
    """A printed winner in words: `=` is a tie."""
    return "tie" if printed == "=" else printed


def show_grid(grid: PrintedGrid, console: Console) -> None:
    """A table of values as the publication prints it, operation by system."""
    console.print(f"Table {grid.number}: {grid.title} [{grid.unit}]", style="bold", highlight=False, markup=False)
    shown = plain_table(style="dim")
    shown.add_column("", no_wrap=True)
    for column in grid.columns:
        shown.add_column(column, justify="right", no_wrap=True)
    for operation, systems in grid.rows.items():
        shown.add_row(Text(operations.name(operation), style="italic"))
        for system, cells in systems.items():
            values = (
                f"{'*' if c.acceptable else ''}{c.value:.{grid.digits}f}" if c.value is not None else "–" for c in cells
            )
            shown.add_row(f"  {system}", *values)
            if any(cell.text is not None for cell in cells):
                texts = ("" if cell.text is None else f"{cell.text:.3g}" for cell in cells)
                shown.add_row("    published", *texts, style="dim")
    console.print(shown)
    if any(cell.acceptable for systems in grid.rows.values() for cells in systems.values() for cell in cells):
        console.print("* acceptable: near the best system of its column", style="dim", highlight=False)
    if grid.scatter:
        console.print(f"{grid.scatter}.", style="dim", highlight=False)
