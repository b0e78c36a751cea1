"""Where reads and writes wait, in the scheduler or at the drive: why one job of several is slow while the storage as a
whole is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seekwise.number_text import three
from seekwise.trace.close_up import CloseUp

if TYPE_CHECKING:
    from seekwise.report.close_up import StretchRow

LEAST = 5
"""Requests of which a mean says something."""
DIFFERENT = 1.3
"""Times in which a direction must differ to be named as the cause."""


@dataclass(frozen=True)
class Waits:
    """Means of the reads or the writes of one setting, in ms."""

    scheduler: float
    drive: float
    count: int

    @classmethod
    def from_close_up(cls, close: CloseUp, *, write: bool) -> Waits:
        """Means over the requests that were done in the stretch; all 0 where there are none."""
        return cls(*close.latency_of(write=write))

    @property
    def total(self) -> float:
        """Mean latency in ms: scheduler plus drive."""
        return self.scheduler + self.drive


Column = tuple[str, str, "Callable[[StretchRow], str]"]
"""(title, meaning, text of a row)."""


def columns(rows: Sequence[StretchRow]) -> list[Column]:
    """(title, meaning, text of a row) of each direction that occurs."""
    shown: list[Column] = []
    for name, title in (("reads", "Read"), ("writes", "Write")):
        if any(getattr(row, name).count >= LEAST for row in rows):
            shown.append((f"{title}: in the scheduler [ms]", f"Mean time of a {title.lower()} from its arrival to its dispatch.", _text(name, "scheduler")))  # fmt: skip
            shown.append((f"{title}: at the drive [ms]", f"Mean time of a {title.lower()} from its dispatch to its end.", _text(name, "drive")))  # fmt: skip
    return shown


def _text(name: str, part: str) -> Callable[[StretchRow], str]:
    def text(row: StretchRow) -> str:
        value = getattr(row, name)
        return _ms(getattr(value, part)) if value.count else "–"

    return text


def sentence(rows: Sequence[StretchRow]) -> str:
    """The direction whose time differs most between two settings, and where the slower one spends it."""
    said: tuple[float, str] | None = None
    for name, title in (("reads", "A read"), ("writes", "A write")):
        known = [row for row in rows if getattr(row, name).count >= LEAST and getattr(row, name).total > 0]
        if len(known) < 2:
            continue
        fast, slow = (pick(known, key=lambda row: getattr(row, name).total) for pick in (min, max))
        short, long = getattr(fast, name), getattr(slow, name)
        times = long.total / short.total
        if times < DIFFERENT or (said is not None and said[0] >= times):
            continue
        in_scheduler, at_drive = long.scheduler - short.scheduler, long.drive - short.drive
        where = "in the scheduler" if in_scheduler > at_drive else "at the drive, among more requests"
        said = (
            times,
            (
                f"{title} takes {_ms(short.total)} ms with {fast.look.label} and {_ms(long.total)} ms with {slow.look.label}; "
                f"it waits longer {where} ({_parts(long)}; with {fast.look.label} {_parts(short)}).{_others(name, fast, slow)}"
            ),
        )
    return said[1] if said else ""


def _others(name: str, fast: StretchRow, slow: StretchRow) -> str:
    """What the other direction had to give for it, where that is plain."""
    other = "writes" if name == "reads" else "reads"
    few, many = getattr(fast, other).count, getattr(slow, other).count
    if many < LEAST or 3 * few > many:
        return ""
    return f" Meanwhile {few or 'no'} {other[:-1] if few == 1 else other} end with {fast.look.label}, {many} with {slow.look.label}."


def _parts(waits: Waits) -> str:
    return f"{_ms(waits.scheduler)} ms in the scheduler, {_ms(waits.drive)} ms at the drive"


def _ms(value: float) -> str:
    return three(value) if value >= 5e-5 else "0"
