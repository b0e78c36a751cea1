"""What a setting does to programs that nobody measured: in sentences, and as one small picture of kinds and backgrounds.

Everything is a speed against the setting in force, above 1 where a program ends sooner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from seekwise.judge.decision.choose import Loser
from seekwise.judge.decision.next_program import Word, words_of
from seekwise.judge.decision.verdicts import Judged
from seekwise.report.layout import WIDTH

KINDS_MOST = 2
"""That a sentence names."""
BESIDE = {"": "alone", "copy": "while files are copied", "backup": "next to a backup", "reader": "next to one reader"}
ELSEWHERE = "as measured elsewhere"
LIMITS = (2.0, 4.0, 16.0, 64.0)
"""Ends of the picture's axis."""
COLUMNS = 25
WAITS_LEAST = 1.1
WORDS: dict[Word, str] = {"gain": "gain", "lose": "lose", "within": "within 15 %", "depends": "depends"}
TITLE = "the next program of a kind, nine of ten: loss ◂ 1 ▸ gain"


@dataclass(frozen=True)
class Cell:
    """One kind of programs beside one background, under one setting."""

    kind: str
    background: str
    setting: str
    speed: float
    low: float
    high: float
    word: Word

    @property
    def label(self) -> str:
        """`commands, 4 readers`."""
        return f"{words_of(self.kind, short=True)}, {self.background or 'alone'}"

    @property
    def text(self) -> str:
        """`2.5 (1.1 to 6.2) gain`."""
        return f"{_two(self.speed)} ({_two(self.low)} to {_two(self.high)}) {WORDS[self.word]}"


def cells(judged: Sequence[Judged], settings: Sequence[str]) -> list[Cell]:
    """Of these settings, in the order in which they were measured; each kind beside each background once."""
    found: dict[tuple[str, str], Cell] = {}
    for setting in settings:
        for entry in judged:
            standing, foretold = entry.standing(setting), entry.next_gain(setting)
            if standing is None or standing.next is None or foretold is None:
                continue
            told, about = standing.next, entry.conditions
            low, high = (told.low, told.high) if entry.more_is_better else (1 / told.high, 1 / told.low)
            speed = math.exp(float(np.median(foretold)))
            cell = Cell(about.program, about.background, setting, speed, low, high, told.word)
            found.setdefault((setting, entry.part), cell)
    return list(found.values())


def beside(background: str) -> str:
    """`while files are copied`, `next to 4 readers`."""
    return BESIDE.get(background, f"next to {background}")


def gains(known: Sequence[Cell]) -> list[str]:
    """`short commands end about 2.5 times sooner while files are copied (9 of 10 programs: 1.1 to 6.2), 20 times …`."""
    said: list[str] = []
    for kind in dict.fromkeys(cell.kind for cell in known):
        mine = [cell for cell in known if cell.kind == kind and cell.word == "gain"]
        parts = [
            f"{'' if number else 'end about '}{_two(cell.speed)} times {'' if number else 'sooner '}{beside(cell.background)}"
            f" ({'' if number or said else '9 of 10 programs: '}{_two(cell.low)} to {_two(cell.high)})"
            for number, cell in enumerate(mine)
        ]
        said += [f"{words_of(kind)} {', '.join(parts)}"] if parts else []
    return said[:KINDS_MOST]


def losses(losers: Sequence[Loser]) -> list[str]:
    """Every kind that may lose, by what runs beside it: `may take longer: commits (up to 3.4 times) and backups (1.6) next to
    4 readers, databases and servers (1.7) as measured elsewhere`."""
    parts: dict[str, dict[str, str]] = {}
    for number, each in enumerate(losers):
        kinds = parts.setdefault(ELSEWHERE if each.is_elsewhere else beside(each.background), {})
        factor = _two(each.factor) if number else f"up to {_two(each.factor)} times"
        kinds.setdefault(each.kind, f"{words_of(each.kind, short=True)} ({factor})")
    said = ", ".join(f"{' and '.join(kinds.values())} {where}" for where, kinds in parts.items())
    return [f"may take longer: {said}"] if said else []


def headroom(judged: Sequence[Judged]) -> str:
    """What waits for what runs beside it, under what is in force: `commands 3.7 times as long (copy), 74 (4 readers)`.
    Empty where no kind was measured alone and beside something."""
    usual: dict[str, float] = {}
    waits: dict[str, list[str]] = {}
    for entry in judged:
        about, standing = entry.conditions, entry.standing(entry.base)
        if not about.program or entry.kind != "time" or standing is None or not standing.value:
            continue
        if not about.background:
            usual.setdefault(about.program, standing.value)
        elif (slowdown := standing.value / usual.get(about.program, math.inf)) >= WAITS_LEAST:
            waits.setdefault(about.program, []).append(f"{_two(slowdown)} ({about.background})")
    said = "; ".join(f"{words_of(kind, short=True)} {', '.join(parts)}" for kind, parts in waits.items())
    return f"Times as long as alone, which is the most that a scheduler can give back: {said}" if waits else ""


def _two(factor: float) -> str:
    """In two digits: `2.5`, `21`, `180`."""
    return f"{float(f'{factor:.2g}'):g}"


def unchanged(known: Sequence[Cell]) -> list[str]:
    """What no program of any kind feels, where that is known of all kinds that were measured alone."""
    words = {cell.word for cell in known if not cell.background}
    return ["alone none of them changes by more than 15 %"] if words == {"within"} else []


def _place(speed: float, limit: float) -> float:
    """From 0 (the loss at the left end) over 0.5 (no change) to 1."""
    return 0.5 + 0.5 * max(-1.0, min(1.0, math.log(speed) / math.log(limit)))


def _limit(known: Sequence[Cell]) -> float:
    most = max(max(cell.speed, 1 / cell.speed) for cell in known)
    return next((limit for limit in LIMITS if limit >= most), LIMITS[-1])


def picture_lines(known: Sequence[Cell], most: int) -> list[str]:
    """A line for each cell: a dot where a typical program is, a range that holds nine of ten programs. Of more than `most` those
    that differ."""
    if len(known) > most:
        known = [cell for cell in known if cell.word != "within"][:most]
    if not known:
        return []
    limit, width = _limit(known), max(len(cell.label) for cell in known)
    columns = min(COLUMNS, (WIDTH - 2 - width - max(len(cell.text) for cell in known)) // 2 * 2 - 1)
    lines = [f"{known[0].setting}, {TITLE}"]
    for cell in known:
        row = [" "] * columns
        low, dot, high = (round(_place(speed, limit) * (columns - 1)) for speed in (cell.low, cell.speed, cell.high))
        row[low : high + 1] = ["─"] * (high + 1 - low)
        row[columns // 2] = "│"
        row[dot] = "●"
        lines.append(f"{cell.label:<{width}} {''.join(row)} {cell.text}")
    return lines


@dataclass(frozen=True)
class DrawnRow:
    """The same for a page."""

    label: str
    picture: Markup
    text: str


def drawn(known: Sequence[Cell]) -> list[DrawnRow]:
    """A row for each cell."""
    limit = _limit(known) if known else 1.0
    rows = []
    for cell in known:
        low, dot, high = (f"{3 + 94 * _place(speed, limit):.1f}%" for speed in (cell.low, cell.speed, cell.high))
        picture = Markup(
            '<svg class="next" height="16" role="img" aria-label="{}"><line class="axis" x1="50%" x2="50%" y1="0" y2="16"/>'
            '<line class="range" x1="{}" x2="{}" y1="8" y2="8"/><circle cx="{}" cy="8" r="4"/></svg>'
        ).format(f"{cell.label}: {cell.text}", low, high, dot)
        rows.append(DrawnRow(cell.label, picture, cell.text))
    return rows
