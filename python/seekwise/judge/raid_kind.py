"""Whether a controller does RAID's work itself, or leaves it to the host ("fake" RAID).

Same drives, same level, same load, once on the controller and once under md. What RAID adds to writing - copies,
parity, more commands - costs md system CPU; on real hardware it does not. So data moved per second of system CPU tells,
not the rate. Reading adds little work to either, and counts only where nothing was written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["hardware", "fake", "unknown"]

HARDWARE_FROM = 1.25
"""From this ratio of CPU efficiencies on (controller over md) the work is the controller's."""
FAKE_UP_TO = 1.10
"""Up to this one the host does about what md does. Between the two nothing is said."""


@dataclass(frozen=True)
class MatchedOperation:
    """One place that both were measured at."""

    operation: str
    efficiency: float
    """MB per system-CPU second, controller over md."""
    rate: float
    """Controller over md."""


@dataclass(frozen=True)
class RaidKind:
    """What was found, over all operations that count."""

    kind: Kind
    efficiency: float
    """Data per system-CPU second, controller over md: geometric mean over what counts."""
    rate: float


def raid_kind(pairs: Sequence[MatchedOperation]) -> RaidKind | None:
    """None where nothing can be compared."""
    usable = [pair for pair in pairs if _positive(pair.efficiency) and _positive(pair.rate)]
    writes = [pair for pair in usable if pair.operation.endswith("write")]
    counted = writes or usable
    if not counted:
        return None
    efficiency = _geometric_mean([pair.efficiency for pair in counted])
    kind: Kind = "unknown"
    if efficiency >= HARDWARE_FROM:
        kind = "hardware"
    elif efficiency <= FAKE_UP_TO:
        kind = "fake"
    return RaidKind(kind, efficiency, _geometric_mean([pair.rate for pair in counted]))


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))
