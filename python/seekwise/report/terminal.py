"""The answer on a terminal: winner table and recommendation, readable without colour and at 80 columns."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from seekwise.report.content import METRIC_TITLES, ReportContent
from seekwise.report.rows import OPERATION_NAMES


def print_winners(content: ReportContent, console: Console) -> None:
    """The winner table in the articles' shape: operation by rate, access time, CPU efficiency."""
    metrics = [name for name in METRIC_TITLES if any(name in row.cells for row in content.winners)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Operation", no_wrap=True)
    for metric in metrics:
        table.add_column(METRIC_TITLES[metric])
    for row in content.winners:
        name = OPERATION_NAMES.get(row.operation, row.operation)
        cells = [row.cells[metric].text if metric in row.cells else "–" for metric in metrics]
        table.add_row(f"{name}{', ' + row.condition if row.condition else ''}", *cells)
    console.print(table)
    console.print(f"= shown to be equal, ? not decided by these trials. {content.rule}", style="dim", highlight=False)
    if content.control:
        console.print(content.control, style="dim", highlight=False)


def print_advice(content: ReportContent, console: Console) -> None:
    """The recommendation with the lines that set and undo it, ready to copy (never wrapped)."""
    advice = content.advice
    console.print(f"\n{advice.headline}", style="bold", highlight=False)
    for reason in advice.reasons:
        console.print(f"  {reason}", highlight=False)
    for caution in advice.caution:
        console.print(f"  {caution}", style="dim", highlight=False)
    for title, lines in (("set it", advice.set_lines), ("take it back", advice.undo_lines)):
        if lines:
            console.print(f"\n{title}:", highlight=False)
            for line in lines:
                console.print(f"  {line}", soft_wrap=True, highlight=False, markup=False)
