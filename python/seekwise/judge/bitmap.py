"""Bitmap, lockless bitmap or none: what each costs writes on each array, what a crash costs without it, and which to
use.

Without a bitmap the whole array is brought in line after a crash, and a drive that was away for a minute is filled
again in full. So a bitmap is advised wherever it costs writes of a working set less than `PRICE`, the one that costs least; kinds whose
costs differ by less than the model's error are alike, and the plainest of them is advised.

After a rest every bit is clean, and each that a write sets first costs a page: writes begin slowly, until most are set. What a kind costs is counted after that;
how long it takes is said beside it. Where writes stay slow, md's daemon cleans bits (after 5 to 10 s) as fast as they are set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from seekwise.judge.arrays import load_words, name_of
from seekwise.number_text import natural
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Phase, Record

FACTOR = "bitmap"
WHOLE = "whole-array"
"""The load of the study whose writes go over all of it."""
KINDS = ("none", "internal", "internal-1g", "lockless")
"""The first of those that cost alike is advised."""
EXPERIMENTAL = frozenset({"lockless"})
"""Only where everything else costs too much."""
PRICE = 0.35
"""Share of the writes per second that protection against hours of resync is worth here: our own choice."""
OVER = 0.75
"""Of a run: what is still slow then may stay so."""


@dataclass(frozen=True)
class SlowStart:
    """How writes begin whose bits are clean."""

    seconds: float
    """Until they reach half of their later rate."""
    is_over: bool
    """Whether they had that rate before `OVER` of the run; else it is at a brink: a page that takes somewhat less time
    than here makes them many times as fast."""


@dataclass(frozen=True)
class BitmapRow:
    """One load on one array, with each kind of bitmap."""

    array: str
    load: str
    writes_s: dict[str, float]
    """{kind: writes a second, after a slow start that is over}."""
    resync_s: float | None
    """After a crash without a bitmap."""
    block_bytes: int
    """Of a write."""
    slow: dict[str, SlowStart] = field(default_factory=dict)
    """{kind: how writes begin}, where they begin slowly."""

    @property
    def is_whole(self) -> bool:
        """Whether the writes go over the whole array."""
        return self.load.startswith(WHOLE)

    def cost(self, kind: str) -> float:
        """Share of the writes that are lost."""
        without = self.writes_s.get("none", 0.0)
        return max(1 - self.writes_s[kind] / without, 0.0) if without and kind in self.writes_s else 0.0


def rows(records: Sequence[Record]) -> list[BitmapRow]:
    """By array and load; empty unless kinds of bitmap were compared."""
    mine = [r for r in records if r.valid and "array" in r.load and FACTOR in r.factors and r.role != "sentinel"]
    if len({r.factors[FACTOR] for r in mine}) < 2:
        return []
    groups: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in mine:
        array = {**dict(record.load["array"]), "bitmap": "none"}
        groups.setdefault((name_of(array), load_words(record.combination)), {}).setdefault(
            str(record.factors[FACTOR]), []
        ).append(record)
    bitmap_rows = []
    for (array_name, load), kinds in groups.items():
        courses = {kind: [_course(phase) for r in of_kind for phase in r.phases] for kind, of_kind in kinds.items()}
        writes = {kind: math.fsum(rate for rate, _ in found) / len(found) for kind, found in courses.items()}
        slow = {kind: found[0][1] for kind, found in courses.items() if found[0][1] is not None}
        first = next(iter(kinds.values()))[0]
        resync_s = first.load["array"]["rebuild_s"]
        bitmap_rows.append(BitmapRow(array_name, load, writes, resync_s, int(first.factors["block_bytes"]), slow))
    return sorted(bitmap_rows, key=lambda row: (natural(row.array), row.load))


def _course(phase: Phase) -> tuple[float, SlowStart | None]:
    """Writes a second, and how they begin where that is slow."""
    rates = [rate for rate, _ in phase.windows]
    later = rates[-max(len(rates) // 8, 1) :]
    begins = next((at for at, rate in enumerate(rates) if rate * len(later) >= sum(later) / 2), 0)
    if begins == 0 or not phase.bytes:
        return phase.iops, None
    start = SlowStart(begins * phase.elapsed_s / len(rates), begins < OVER * len(rates))
    steady = rates[begins + 1 :] if start.is_over else rates
    return math.fsum(steady) / len(steady) * phase.ios / phase.bytes, start


@dataclass(frozen=True)
class BitmapChoice:
    """Which kind suits the arrays of a study."""

    cheapest: str
    """The bitmap to use, if any."""
    is_worth_it: bool
    """Whether it costs less than `PRICE`; else none is advised."""
    costs: dict[str, float]
    """{kind: share of the writes that it costs at most}."""
    usual: dict[str, float]
    """The same without writes over the whole array, which set bits that were not."""
    alike: tuple[str, ...]
    """Kinds that cost as much as the cheapest within the model's error."""
    resync_s: float | None
    """The longest after a crash without a bitmap."""


def choose(table: Sequence[BitmapRow]) -> BitmapChoice | None:
    """None where no bitmap was compared."""
    # Without a rate of none a run that was ended tells nothing of the price.
    table = [row for row in table if row.writes_s.get("none")]
    kinds = [kind for kind in KINDS if kind != "none" and any(kind in row.writes_s for row in table)]
    if not kinds:
        return None
    worst = _costs(table, kinds)
    # Where programs write now and again in the same places, few bits are set anew: that is the usual case, and decides.
    usual = _costs([row for row in table if not row.is_whole] or table, kinds)
    able = [kind for kind in kinds if kind not in EXPERIMENTAL and usual[kind] <= PRICE] or kinds
    best = min(able, key=lambda kind: (usual[kind], kinds.index(kind)))
    error = gain_error((FACTOR,))
    alike = [kind for kind in kinds if abs(usual[kind] - usual[best]) <= error]
    chosen = min((kind for kind in able if kind in alike), key=KINDS.index)
    return BitmapChoice(
        chosen,
        usual[chosen] <= PRICE,
        worst,
        usual,
        tuple(kind for kind in kinds if abs(usual[kind] - usual[chosen]) <= error),
        max((row.resync_s for row in table if row.resync_s), default=None),
    )


def _costs(table: Sequence[BitmapRow], kinds: Sequence[str]) -> dict[str, float]:
    return {kind: max(row.cost(kind) for row in table) for kind in kinds}
