"""What every kind of table that `verify rates` reads has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from seekwise_proof.validate.frame import FileReport, unreadable


@dataclass(kw_only=True)
class RateTable(FileReport):
    """One table of rates."""

    BAR: ClassVar[str]
    """What is required of such tables."""

    met: bool
    """Whether this table alone reaches it."""


def unreadable_table(path: Path, text: str, reason: str) -> FileReport:
    """A table that cannot be compared misses each of its rows."""
    return unreadable(path, reason, total=len(text.splitlines()) - 1)
