"""What every kind of table that `verify rates` reads has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seekwise.lab.validate.frame import FileReport


@dataclass(kw_only=True)
class RateTable(FileReport):
    """One table of rates."""

    BAR: ClassVar[str]
    """What is required of such tables."""

    met: bool
    """Whether this table alone reaches it."""
