"""Values that a script's variables may have: a bounded number of texts of bounded length."""

from __future__ import annotations

import re
from collections.abc import Iterable

from seekwise.linux.setters.reading import NotEvaluated

ANYTHING = "\0"
"""Text that is not known, within a value."""
VALUES = 256
LONGEST = 4096


def few(values: Iterable[str]) -> list[str]:
    """Each value once; more than a script's list ever has are not evaluated."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) > VALUES:
        raise NotEvaluated(f"a variable that may have more than {VALUES} values")
    if sum(map(len, distinct)) > 16 * LONGEST:
        raise NotEvaluated("values that grow without an end")
    return distinct


def joined(pieces: list[list[str]]) -> list[str]:
    """All concatenations; their number and length are bounded before they are made."""
    texts = [""]
    for piece in pieces:
        if not piece:
            continue  # nothing was printed
        if len(texts) * len(piece) > VALUES:
            raise NotEvaluated(f"a word that may have more than {VALUES} values")
        if max(map(len, texts)) + max(map(len, piece)) > LONGEST:
            raise NotEvaluated(f"a word that grows beyond {LONGEST:,} characters")
        texts = [left + right for left in texts for right in piece]
    return texts


def product(arguments: list[list[str]]) -> list[list[str]]:
    """All commands that a list of words with several values each may mean."""
    rows: list[list[str]] = [[]]
    for argument in arguments:
        if len(rows) * max(1, len(argument)) > VALUES:
            raise NotEvaluated(f"a command that may mean more than {VALUES} others")
        rows = [[*left, right] for left in rows for right in argument]
        if len(arguments) > VALUES:
            raise NotEvaluated(f"a command of more than {VALUES} words")
    return rows


def braces(text: str) -> list[str]:
    """`{sda,sdb}` and `{a..d}`, a bounded number of them."""
    if "{" not in text:
        return [text]
    texts = [""]
    at = 0
    for match in re.finditer(r"\{([^{},]{0,60}(?:,[^{},]{0,60}){1,200}|\w{1,4}\.\.\w{1,4})\}", text[:LONGEST]):
        words = match[1].split(",") if "," in match[1] else _range(match[1])
        if not words:
            continue
        texts = joined([texts, [text[at : match.start()]], words])
        at = match.end()
    return joined([texts, [text[at:]]])


def _range(text: str) -> list[str]:
    low, _, high = text.partition("..")
    if low.isdecimal() and high.isdecimal() and low.isascii() and high.isascii():
        first, last = int(low), int(high)
        return [str(number) for number in range(first, last + 1)] if 0 <= last - first < VALUES else []
    if len(low) == len(high) == 1 and low <= high and ord(high) - ord(low) < VALUES:
        return [chr(code) for code in range(ord(low), ord(high) + 1)]
    return []
