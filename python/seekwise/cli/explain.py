"""`seekwise explain WORD`: a scheduler, setting, metric, drive or controller model or term, in a few sentences and with
its numbers."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

import click
from rich.console import Console
from rich.table import Table

from seekwise.cli import _options
from seekwise.cli._shown import echo_json, out
from seekwise.report.explain import explain, words
from seekwise.report.explain.explanation import Explanation, Fact, ModelParameter, Tunable
from seekwise.report.layout import plain_table, wrapped

WIDTH_MOST = 100
"""Columns of prose that are still read with ease."""
WIDTH_OF_NO_TERMINAL = 80
COMMENT = re.compile(r"^( *)(\S.*?) {2,}(# .*)$")
"""A line of an example with a remark behind it."""


@click.command()
@click.argument("word", required=False, nargs=-1)
@_options.as_json("seekwise.explain/1")
def command(word: tuple[str, ...], as_json: bool) -> None:
    """Explain WORD: a scheduler, setting, metric or term.

    Also commands, uses, studies, and models of drives, controllers and hosts. Without WORD, list them.
    """
    if not word:
        if as_json:
            echo_json(Explanation(words=words()))
        else:
            click.echo("\n".join(wrapped(", ".join(words()), _console().width)))
        return
    explanation = explain(" ".join(word))
    if as_json:
        echo_json(explanation)
        return
    show(_console(), explanation)


def _console() -> Console:
    console = out(WIDTH_MOST)
    if not sys.stdout.isatty():
        console.width = WIDTH_OF_NO_TERMINAL
    return console


def show(console: Console, explanation: Explanation) -> None:
    """Prints an explanation: prose filled to the width of the console; a table or an example keeps its lines, of which
    those that are too long are broken."""
    _say(wrapped(explanation.title, console.width))
    for paragraph in explanation.text.split("\n\n"):
        lines = paragraph.splitlines()
        is_table = explanation.word == "models" or any(
            "   " in line.strip() or line.startswith("    ") for line in lines
        )
        click.echo()
        if is_table:
            _say(part for line in lines for part in broken(line, console.width))
        else:
            _say(wrapped(" ".join(lines), console.width))
    if explanation.facts:
        click.echo()
        console.print(_facts(explanation.facts))
    if explanation.parameters:
        click.echo()
        _say(_parameters(explanation.parameters, console.width))
    if explanation.tunables:
        click.echo()
        console.print(_tunables(explanation.tunables))
    if explanation.see:
        click.echo()
        _say(wrapped(f"see also: {', '.join(explanation.see)}", console.width, then="  "))


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def broken(line: str, width: int) -> list[str]:
    """A line of a table or an example in at most `width` columns: a remark goes before it, a last cell goes on below
    its beginning."""
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    if match := COMMENT.match(line):
        remark = wrapped(match[3], width, indent, f"{indent}# ")
        return [*remark, *broken(f"{match[1]}{match[2]}", width)]
    if line.lstrip().startswith("# "):
        return wrapped(line.strip(), width, indent, f"{indent}# ")
    cells = [cell.end() for cell in re.finditer(r"\S {2,}", line) if cell.end() <= width * 2 // 3]
    start = cells[-1] if cells else 0
    if not start:
        return wrapped(line.strip(), width, indent, f"{indent}    ")
    first, *rest = wrapped(line[start:], width - start)
    return [line[:start] + first, *(" " * start + further for further in rest)]


def _facts(rows: Sequence[Fact]) -> Table:
    table = plain_table()
    for name in ("fact", "value", "source"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(row.name, row.value, row.source)
    return table


def _parameters(rows: Sequence[ModelParameter], width: int) -> Iterator[str]:
    """Two lines for each: its value, and where that is from."""
    left = max(len(row.name) for row in rows)
    for row in rows:
        unit = "" if row.unit == "1" else f" {row.unit}"
        span = "" if row.low is None else f", {row.low:g} to {row.high:g}"
        yield from wrapped(f"{row.name:{left}}  {_number(row.value)}{unit}{span}", width, then=" " * (left + 2))
        yield from wrapped(f"{row.confidence}: {row.source}", width, "    ")


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
