"""Text on a terminal: tables whose columns give way by wrapping, and sentences of at most 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 80
"""Columns that an answer takes at most."""
GAP = 2
NBSP = "\N{NO-BREAK SPACE}"
"""Between a number and its unit, which stay on one line."""
UNITS = "%|ns|µs|ms|s|min|h|[kMGT]i?B(?:/s)?|IOPS"
"""As a pattern: what a number is not parted from by the end of a line."""
USE_MOST, SUBJECT_MOST, WORDS_MOST = 20, 24, 24
"""Widths from which the first two columns, and the words of a difference, are wrapped."""
HEAD_MOST = 16
"""A longer word of a head, as the name of a folder, gives way before other columns do."""


def columns(
    heads: Sequence[str], body: Sequence[Sequence[str]], width: int, numbers_from: int | None = None
) -> list[list[str]]:
    """Lines of each row, the head first. Numbers keep their width; names give way by wrapping. `numbers_from`: columns
    set to the right."""
    sizes = [max(len(row[i]) for row in body) for i in range(len(heads))]
    sizes = [
        max(size, max((len(word) for word in head.split()), default=0)) for size, head in zip(sizes, heads, strict=True)
    ]
    room = width - GAP * (len(heads) - 1)
    words = [max(len(word) for row in body for word in row[i].split(" ")) for i in range(len(heads))]
    of_heads = [max(len(word) for word in head.split(" ")) for head in heads]
    words = [max(word, min(head, HEAD_MOST)) for word, head in zip(words, of_heads, strict=True)]
    order = (
        (1, SUBJECT_MOST),
        (0, USE_MOST),
        (3, 12),
        (4, WORDS_MOST),
        (2, 10),
        (1, 10),
        (0, 10),
        (4, 10),
        (5, 10),
        (0, 8),
    )
    there = tuple((i, least) for i, least in order if i < len(heads))
    # Between words first; within one only where the table would be too wide otherwise.
    for i, least in [*((i, max(least, words[i])) for i, least in there), *there]:
        over = sum(sizes) - room
        if over > 0:
            sizes[i] = max(min(least, sizes[i]), sizes[i] - over)
    blocks = []
    # A setting is parted from its value before either is.
    heads = [
        " ".join(word if len(word) <= size else word.replace("=", "= ") for word in head.split(" "))
        for head, size in zip(heads, sizes, strict=True)
    ]
    for row in (heads, *body):
        parts = [
            textwrap.wrap(_parted(text, size), size, break_on_hyphens=row is heads) or [""]
            for text, size in zip(row, sizes, strict=True)
        ]
        height = max(len(part) for part in parts)
        cells = [[(part[k] if k < len(part) else "") for part in parts] for k in range(height)]
        blocks.append([
            (" " * GAP).join(
                word.rjust(size) if numbers_from is not None and i >= numbers_from else word.ljust(size)
                for i, (word, size) in enumerate(zip(line, sizes, strict=True))
            ).rstrip().replace(NBSP, " ")
            for line in cells
        ])  # fmt: skip
    return blocks


def _parted(text: str, size: int) -> str:
    """Where a value is wider than its column, it is parted before its unit, not within a word."""
    return " ".join(word.replace(NBSP, " ") if len(word) > size else word for word in text.split(" "))


def joined(value: str) -> str:
    """The value with its unit kept on one line."""
    return value.replace(" ", NBSP)


def wrapped(text: str, width: int, indent: str = "", then: str | None = None) -> list[str]:
    """Lines of at most `width` columns; words are never cut, and a number stays with its unit. `then`: indent of all
    lines but the first."""
    kept = re.sub(rf"(?<=\d) (?=(?:{UNITS})(?![\w]))", NBSP, text)
    lines = textwrap.wrap(
        kept,
        width,
        initial_indent=indent,
        subsequent_indent=indent if then is None else then,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(NBSP, " ") for line in lines]


def common_parts(names: Sequence[str]) -> list[str]:
    """What all of several names have between their commas, to be said once below a table; each keeps a part of its own."""
    if len(names) < 2:
        return []
    first, *others = parts = [name.split(", ") for name in names]
    common = [part for part in first if all(part in other for other in others)]
    return common if all(set(part) - set(common) for part in parts) else common[1:]


def own_parts(name: str, common: Sequence[str]) -> str:
    """A name without what stands below the table."""
    return ", ".join(part for part in name.split(", ") if part not in common)


def print_columns(
    heads: Sequence[str], body: Sequence[Sequence[str]], console: Console, *, numbers_from: int | None = None
) -> None:
    """A table without frame in at most 80 columns; `numbers_from` as in `columns`."""
    for row in columns(heads, body, WIDTH, numbers_from):
        for line in row:
            say(line, console)


def plain_table(heads: Iterable[str] = (), rows: Iterable[Sequence[object]] = (), *, style: str = "bold") -> Table:
    """A table without frame that rich fits to the terminal. Cells are text as it is."""
    made = Table(box=None, pad_edge=False, header_style=style)
    for head in heads:
        made.add_column(head)
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    return made


def say(text: str, console: Console) -> None:
    """Text as it is, never wrapped."""
    console.print(Text(text), soft_wrap=True)


def print_lines(texts: Iterable[str], console: Console, *, style: str | None = None, indent: str = "") -> None:
    """Sentences in at most 80 columns."""
    for text in texts:
        for line in wrapped(text, WIDTH, indent):
            console.print(line, style=style, highlight=False, markup=False)


def sentence(text: str) -> str:
    """With a capital at its beginning, unless that is a name."""
    head = text[0].upper() + text[1:] if OPENERS.match(text) else text
    return head if head.endswith((".", ":", "!", "?")) else f"{head}."


OPENERS = re.compile(r"(keep|set|stay|no|simulated:|values:?|with|drift:|random|sequential|software|hardware)(?= |$)")
"""Words that begin a sentence and are no names."""
