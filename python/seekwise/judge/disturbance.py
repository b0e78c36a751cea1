"""How much others used processors and drives while a run's own loads measured (`measure/kernel/programs.py` counts it).

Above `MOST` nothing is advised: most of what processors or drive did was then others' work, so a setting's effect on it stands in every figure, and it may be
gone tomorrow. Processors count only where tasks had to wait for them (`CROWDED`): sixty of a hundred busy cores take nothing from the rest. A machine without pressure
stall information counts as crowded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.number_text import listed
from seekwise.store.record import Record

MOST = 0.5
SAID = 0.25
"""Above it a note says so."""
CROWDED = 0.25
"""Share of the time in which some task waited for a processor."""


@dataclass(frozen=True)
class Disturbance:
    """Shares of what others used, over a whole run."""

    processors: float
    drives: float

    @property
    def most(self) -> float:
        """The larger share."""
        return max(self.processors, self.drives)

    @property
    def text(self) -> str:
        """`Other programs used 85 % of the processors and 60 % of the disk while this ran`: what stands above the bound of a note."""
        named = {"of the processors": self.processors, "of the disk": self.drives}
        used = [f"{100 * share:.0f} % {what}" for what, share in named.items() if share > SAID]
        return f"Other programs used {listed(used)} while this ran"

    @property
    def forbids(self) -> str | None:
        """Why nothing can be advised; None where it can."""
        is_too_much = self.most > MOST and "SEEKWISE_BUSY" not in os.environ
        return f"{self.text}: repeat it when it is quiet" if is_too_much else None


def disturbance(records: Sequence[Record]) -> Disturbance:
    """By the records' conditions, each with its length; nothing of those whose load was not ours."""
    mine = [record for record in records if "foreign_processors" in record.conditions]
    crowded = [record for record in mine if _waited(record) > CROWDED]
    return Disturbance(
        _mean(crowded, "foreign_processors") * _length_s(crowded) / (_length_s(mine) or 1.0),
        _mean(mine, "foreign_share"),
    )


def _waited(record: Record) -> float:
    waited = record.conditions.get("waited")
    return float(waited.get("cpu", math.inf)) if isinstance(waited, dict) else math.inf


def _length_s(records: Sequence[Record]) -> float:
    return sum(float(record.conditions["length_s"]) for record in records)


def _mean(records: Sequence[Record], name: str) -> float:
    parts = [float(record.conditions[name]) * float(record.conditions["length_s"]) for record in records]
    return sum(parts) / (_length_s(records) or 1.0)
