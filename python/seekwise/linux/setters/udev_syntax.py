"""Rule files of udev as tokens: `KEY{ATTRIBUTE}OPERATOR"VALUE"`, read as udev(7) and systemd 252 do, each line in one
pass.

A line that udev refuses is kept as a refusal: it is there, its author believes in it, and none of it acts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_LINE = 16_384
"""systemd 252 src/basic/limits-util.h and udev-rules.c: UDEV_LINE_SIZE; a longer line is ignored."""

TOKEN = re.compile(r'([A-Za-z_]+)(?:\{([^}"]{0,512})\})?\s*(==|!=|\+=|-=|:=|=)\s*([ei]{0,2})"')
KEYS = frozenset(
    "ACTION DEVPATH KERNEL KERNELS NAME SYMLINK SUBSYSTEM SUBSYSTEMS DRIVER DRIVERS ATTR ATTRS SYSCTL ENV CONST TAG TAGS TEST PROGRAM RESULT "  # noqa: SIM905
    "IMPORT RUN OPTIONS OWNER GROUP MODE SECLABEL GOTO LABEL WAIT_FOR".split()
)
"""Those of systemd 252."""
OLD_KEYS = frozenset("BUS ID SYSFS PLACE WAIT_FOR_SYSFS".split())  # noqa: SIM905
"""Of udev before it came into systemd: RHEL 6 has them."""
CONDITIONS = frozenset({"==", "!="})
MATCHES = frozenset(
    "ACTION DEVPATH KERNEL KERNELS SUBSYSTEM SUBSYSTEMS DRIVER DRIVERS ATTRS TAGS CONST TEST RESULT".split()  # noqa: SIM905
)
"""Keys that can only be compared: with any other operator udev ignores the line (systemd 252 udev-rules.c: parse_token)."""

WITH_NAME = frozenset({"ATTR", "ATTRS", "SYSCTL", "ENV", "CONST"})

ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "s": " ",
}
CODES = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}
"""Digits and base of a numbered character in a string with the prefix `e`: cunescape of systemd."""


@dataclass(frozen=True)
class Token:
    key: str
    attribute: str | None
    operator: str
    value: str
    ignore_case: bool = False


@dataclass(frozen=True)
class Rule:
    file: str
    line: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class Refused:
    """A line that udev ignores as a whole, or that matches nothing."""

    file: str
    line: int
    text: str
    reason: str


def lines(text: str, file: str, keys: frozenset[str] = KEYS | OLD_KEYS) -> list[Rule | Refused]:
    """Rules and refused lines, in order."""
    found: list[Rule | Refused] = []
    pieces: list[str] = []
    start = 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not pieces:
            start = number
            if line.startswith("#"):
                continue
        elif line.startswith("#"):
            continue  # a comment between continued lines is skipped
        if line.endswith("\\"):
            pieces.append(line[:-1])
            continue
        whole = "".join([*pieces, line])
        pieces = []
        if whole:
            found.append(_line(whole, file, start, keys))
    if pieces:
        found.append(_line("".join(pieces), file, start, keys))
    return [line for line in found if isinstance(line, Refused) or line.tokens]


def _line(line: str, file: str, number: int, keys: frozenset[str]) -> Rule | Refused:
    if len(line) > LONGEST_LINE:
        return Refused(file, number, line[:200], f"udev ignores a line of more than {LONGEST_LINE:,} characters")
    tokens: list[Token] = []
    at = 0
    while True:
        while at < len(line) and (line[at].isspace() or line[at] == ","):
            at += 1
        if at == len(line) or line[at] == "#":
            return Rule(file, number, tuple(tokens))
        match = TOKEN.match(line, at)
        if match is None:
            return Refused(file, number, line[:400], f"udev cannot read `{line[at : at + 24]}` and ignores the line")
        value, at = _string(line, match.end(), escaped="e" in match[4])
        if value is None:
            return Refused(file, number, line[:400], "udev misses the closing quote and ignores the line")
        key, attribute, operator, flags = match.groups()
        if key not in keys:
            return Refused(file, number, line[:400], f"udev knows no key {key} and ignores the line")
        if key in WITH_NAME and not attribute:
            return Refused(file, number, line[:400], f"udev wants {key}{{NAME}}, and ignores the line without the name")
        if key in MATCHES and operator not in CONDITIONS:
            reason = f"udev compares {key} with == or != alone; it refuses {key}{operator} and ignores the line"
            return Refused(file, number, line[:400], reason)
        if key in ("KERNEL", "KERNELS") and value.startswith("/dev/"):
            return Refused(
                file, number, line[:400], f"{key} is a name such as sda, never a path: the line matches nothing"
            )
        if "e" in flags:
            unescaped = unescape(value)
            if unescaped is None:
                return Refused(file, number, line[:400], "udev cannot read an escape and ignores the line")
            value = unescaped
        else:
            value = value.replace('\\"', '"')
        tokens.append(Token(key, attribute or None, operator, value, "i" in flags))


def _string(line: str, at: int, *, escaped: bool) -> tuple[str | None, int]:
    """The text up to the closing quote, escapes as they stand. Without the prefix `e` each `\\"` is a quote, whatever
    precedes it."""
    start = at
    while (quote := line.find('"', at)) >= 0:
        before = quote
        while before > start and line[before - 1] == "\\" and (escaped or before == quote):
            before -= 1
        if (quote - before) % 2 == 0:
            return line[start:quote], quote + 1
        at = quote + 1
    return None, len(line)


def unescape(text: str) -> str | None:
    """The text of an `e"…"` string; None for an escape that is none."""
    found: list[str] = []
    at = 0
    while (slash := text.find("\\", at)) >= 0:
        found.append(text[at:slash])
        kind = text[slash + 1 : slash + 2]
        if kind in ESCAPES and kind:
            found.append(ESCAPES[kind])
            at = slash + 2
            continue
        digits, base, at = _digits(text, slash, kind)
        try:
            found.append(chr(int(digits, base)))
        except (ValueError, OverflowError):
            return None
    return "".join([*found, text[at:]])


def _digits(text: str, slash: int, kind: str) -> tuple[str, int, int]:
    if kind in CODES:
        count, base = CODES[kind]
        digits = text[slash + 2 : slash + 2 + count]
        return (digits if len(digits) == count and digits.isalnum() else ""), base, slash + 2 + count
    digits = text[slash + 1 : slash + 4]
    return (digits if len(digits) == 3 and digits.isdecimal() else ""), 8, slash + 4
