"""`seekwise explain WORD`: a scheduler, setting, metric, drive or controller model or term, in a few sentences and with its numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

from seekwise.cli import _options
from seekwise.cli._shown import echo_json, out
from seekwise.report.explain import explain, with_own_figures, words
from seekwise.report.explain.explanation import Explanation, Fact, ModelParameter, Tunable
from seekwise.report.layout import plain_table

WIDTH = 100


@click.command(context_settings={"ignore_unknown_options": True})  # `explain --seed` asks for a word
@click.argument("word", required=False, nargs=-1)
@_options.as_json("seekwise.explain/1")
def command(word: tuple[str, ...], as_json: bool) -> None:
    """Explain WORD: a scheduler, setting, metric or term.

    Also commands, options, uses, studies, and models of drives, controllers and hosts. Without WORD, list them.
    """
    if not word:
        if as_json:
            echo_json(Explanation(words=words()))
        else:
            click.echo(textwrap.fill(", ".join(words()), WIDTH, break_long_words=False, break_on_hyphens=False))
        return
    explanation = with_own_figures(explain(" ".join(word)))
    if as_json:
        echo_json(explanation)
        return
    show(out(), explanation)


def show(console: Console, explanation: Explanation) -> None:
    """Prints an explanation: prose filled to the width, tables line by line."""
    click.echo(explanation.title)
    for paragraph in explanation.text.split("\n\n"):
        # A table keeps its lines; prose is filled.
        lines = paragraph.splitlines()
        is_table = explanation.word == "models" or any(
            "   " in line.strip() or line.startswith("    ") for line in lines
        )
        click.echo()
        click.echo(paragraph if is_table else textwrap.fill(" ".join(lines), WIDTH, break_on_hyphens=False))
    if explanation.facts:
        click.echo()
        console.print(_facts(explanation.facts))
    if explanation.parameters:
        click.echo()
        console.print(_parameters(explanation.parameters), soft_wrap=False)
    if explanation.tunables:
        click.echo()
        console.print(_tunables(explanation.tunables))
    if explanation.see:
        click.echo(f"\nsee also: {', '.join(explanation.see)}")


def _facts(rows: Sequence[Fact]) -> Table:
    table = plain_table()
    for name in ("fact", "value", "source"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(row.name, row.value, row.source)
    return table


def _parameters(rows: Sequence[ModelParameter]) -> Table:
    table = plain_table()
    for name in ("parameter", "value", "unit", "range", "confidence"):
        table.add_column(name, justify="right" if name == "value" else "left", no_wrap=name != "unit")
    table.add_column("source", overflow="fold")
    for row in rows:
        span = "" if row.low is None else f"{row.low:g} to {row.high:g}"
        table.add_row(row.name, _number(row.value), row.unit, span, row.confidence, row.source)
    return table


def _tunables(rows: Sequence[Tunable]) -> Table:
    table = plain_table()
    kernels = sorted(
        {kernel for row in rows for kernel in row.defaults}, key=lambda name: [int(n) for n in name.split(".")]
    )
    table.add_column("tunable", no_wrap=True)
    for kernel in kernels:
        table.add_column(kernel, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("meaning")
    for row in rows:
        defaults = [str(row.defaults.get(kernel, "")) for kernel in kernels]
        table.add_row(row.name, *defaults, row.unit, row.meaning)
    return table


def _number(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6g}"
