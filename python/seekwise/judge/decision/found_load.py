"""Whether the load that a run found was one to judge by: there was one, and it was not too uneven."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from seekwise.store.record import Record

FOUND = "live"
"""`use` of records whose load was there already."""
IDLE_OPS_PER_S = 5.0
"""Below this in the median period there is no load to judge by."""
UNEVEN_CV = 0.6
"""Rates of one setting that scatter more than this from period to period: the load itself decides, not the setting."""


class LoadState(Enum):
    STEADY = "steady"
    NONE = "no load"
    UNEVEN = "uneven"


@dataclass(frozen=True)
class FoundLoad:
    """`scatter`: coefficient of variation of one setting's rates from period to period, the median over the
    settings."""

    state: LoadState
    scatter: float

    @property
    def text(self) -> str | None:
        """Why nothing can be judged by it; None where it can."""
        if self.state is LoadState.NONE:
            return "There was no load: the device was nearly idle"
        if self.state is LoadState.UNEVEN:
            percent = round(100 * self.scatter)
            return (
                f"Too uneven to tell: under one setting the load's own rate varies by {percent} % from period to period"
            )
        return None


def found_load(records: Sequence[Record]) -> FoundLoad | None:
    """None where the load was made for the run."""
    mine = [record for record in records if record.factors.get("use") == FOUND]
    if not mine:
        return None
    speeds = [record.phases[0].ios / max(record.phases[0].elapsed_s, 1e-6) for record in mine]
    if statistics.median(speeds) < IDLE_OPS_PER_S:
        return FoundLoad(LoadState.NONE, 0.0)
    scatter = []
    for name in {record.setting for record in mine}:
        throughputs = [record.phases[0].rate_bytes_per_s for record in mine if record.setting == name]
        if len(throughputs) >= 3 and statistics.mean(throughputs) > 0:
            scatter.append(statistics.stdev(throughputs) / statistics.mean(throughputs))
    typical = statistics.median(scatter) if scatter else 0.0
    return FoundLoad(LoadState.UNEVEN if typical > UNEVEN_CV else LoadState.STEADY, typical)
