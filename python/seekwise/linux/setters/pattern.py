"""Shell patterns matched in one pass over the text, without backtracking: a pattern of somebody else's cannot keep us
busy.

The states of a pattern are bits of one number. Each character of the text moves all of them at once, so the cost is the
text's length times the pattern's length by 64, whatever stars the pattern has.

Two rules for what a pattern means:

- `shell`: fnmatch(3) of glibc with no flags, as udev calls it: `*` takes slashes and leading dots; `[!…]` and `[^…]`
  negate; ranges, classes like `[:digit:]`, `\\` before a character; a `[` without its `]` is itself.
- `python`: fnmatch of Python's library, which TuneD calls: no `^`, no classes, no `\\`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

LONGEST_PATTERN = 4096
LONGEST_TEXT = 4096
"""What a file of sysfs holds at most (one page)."""

CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha, "digit": lambda each: "0" <= each <= "9", "alnum": str.isalnum, "upper": str.isupper, "lower": str.islower,
    "space": str.isspace, "blank": lambda each: each in " \t", "punct": lambda each: each.isascii() and each.isprintable() and not each.isalnum() and each != " ",
    "print": str.isprintable, "graph": lambda each: each.isprintable() and each != " ", "cntrl": lambda each: ord(each) < 32 or ord(each) == 127,
    "xdigit": lambda each: each in "0123456789abcdefABCDEF",
}  # fmt: skip


@dataclass(frozen=True)
class OneOf:
    """A bracket expression."""

    negated: bool
    singles: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]

    def accepts(self, character: str) -> bool:
        """Whether the expression takes this character."""
        listed = (
            character in self.singles
            or any(low <= character <= high for low, high in self.ranges)
            or any(CLASSES[name](character) for name in self.classes)
        )
        return listed != self.negated


UNCLOSED = 16
"""Brackets without an end in one pattern; each is looked for to the pattern's end."""
ANY = OneOf(True, frozenset(), (), ())


class Pattern:
    """A pattern, ready to be matched."""

    def __init__(self, text: str, rule: str = "shell") -> None:
        self._accepts: list[str | OneOf] = []
        self._stars = 0
        """Bit i: any number of characters may stand before element i."""
        self._masks: dict[str, int] = {}
        self._impossible = False
        self._unclosed = 0
        self.size = len(text)
        if len(text) > LONGEST_PATTERN:
            raise ValueError(f"a pattern of more than {LONGEST_PATTERN} characters")
        at = 0
        while at < len(text):
            at = self._element(text, at, rule)

    def _element(self, text: str, at: int, rule: str) -> int:
        """Takes one element of the pattern; where the next begins."""
        character = text[at]
        if character == "*":
            self._stars |= 1 << len(self._accepts)
            return at + 1
        if character == "?":
            self._accepts.append(ANY)
            return at + 1
        if character == "[" and self._unclosed < UNCLOSED:
            bracket = _bracket(text, at + 1, rule)
            if bracket is None:
                self._unclosed += 1
                self._accepts.append(character)
                return at + 1
            one, at = bracket
            if one is None:
                self._impossible = True
            else:
                self._accepts.append(one)
            return at
        if character == "\\" and rule == "shell":
            if at + 1 == len(text):
                self._impossible = True  # glibc: nothing matches a pattern that ends in a backslash
                return at + 1
            at, character = at + 1, text[at + 1]
        self._accepts.append(character)
        return at + 1

    def matches(self, text: str) -> bool:
        """Whether the pattern takes the whole text."""
        if self._impossible or len(text) > LONGEST_TEXT:
            return False
        states = 1
        for character in text:
            mask = self._masks.get(character)
            if mask is None:
                mask = self._masks[character] = self._mask(character)
            states = ((states & mask) << 1) | (states & self._stars)
            if not states:
                return False
        return bool(states >> len(self._accepts) & 1)

    def _mask(self, character: str) -> int:
        mask = 0
        for index, one in enumerate(self._accepts):
            if one == character or (one.__class__ is OneOf and one.accepts(character)):
                mask |= 1 << index
        return mask

    def cost(self, text: str) -> int:
        """About what matching takes, in microseconds."""
        return 1 + (len(text) * (4 + self.size // 64) + min(len(text), 256) * self.size) // 16


def _bracket(text: str, at: int, rule: str) -> tuple[OneOf | None, int] | None:
    """The expression that begins after `[` and where it ends; None instead of it where nothing can match. None where it
    has no end."""
    negated = text[at : at + 1] in (("!", "^") if rule == "shell" else ("!",)) and at < len(text)
    at += negated
    singles: set[str] = set()
    ranges: list[tuple[str, str]] = []
    classes: list[str] = []
    start = at
    impossible = False
    end = _end(text, at, rule)
    if end is None:
        return None
    while at < end:
        if (
            rule == "shell"
            and text[at] == "["
            and text[at + 1 : at + 2] == ":"
            and (close := text.find(":]", at + 2, end)) >= 0
        ):
            name = text[at + 2 : close]
            impossible |= name not in CLASSES
            classes += [name] if name in CLASSES else []
            at = close + 2
            continue
        low, at = _single(text, at, end, rule)
        if at + 1 < end and text[at] == "-":
            high, at = _single(text, at + 1, end, rule)
            ranges.append((low, high))
        else:
            singles.add(low)
    if start == end:
        return None
    return (None if impossible else OneOf(negated, frozenset(singles), tuple(ranges), tuple(classes))), end + 1


def _end(text: str, at: int, rule: str) -> int | None:
    """Where the closing bracket stands; a `]` at the very beginning is a member."""
    first = at
    while at < len(text):
        character = text[at]
        if character == "]" and at > first:
            return at
        if rule == "shell" and character == "\\":
            at += 1
        elif rule == "shell" and character == "[" and (kind := text[at + 1 : at + 2]) in (":", ".", "=") and kind:
            close = text.find(f"{kind}]", at + 2, at + 40)
            if close >= 0:
                at = close + 1
        at += 1
    return None


def _single(text: str, at: int, end: int, rule: str) -> tuple[str, int]:
    """One character of a bracket expression, and where the next stands."""
    if rule == "shell":
        if text[at] == "\\" and at + 1 < end:
            return text[at + 1], at + 2
        if text[at] == "[" and text[at + 1 : at + 2] in (".", "=") and text[at + 3 : at + 5] == f"{text[at + 1]}]":
            return text[at + 2], at + 5
    return text[at], at + 1


@lru_cache(maxsize=4096)
def compiled(text: str, rule: str = "shell") -> Pattern:
    """Raises ValueError for a pattern that is too long."""
    return Pattern(text, rule)


def matches(pattern: str, text: str, *, ignore_case: bool = False, rule: str = "shell") -> bool:
    """Whether one of the alternatives, separated by `|` as in udev's rules, takes the text. False for what is too
    long."""
    if ignore_case:
        pattern, text = pattern.lower(), text.lower()
    if len(pattern) > LONGEST_PATTERN:
        return False
    alternatives = pattern.split("|") if rule == "shell" else [pattern]
    return any(compiled(alternative, rule).matches(text) for alternative in alternatives)
