"""How long a rebuild, resync or check takes, what it does to programs, and which limit suits an array, from a study
that varies `sync_speed_max`.

A row is an array at a limit: beside each use how long it takes, and how long a unit of work takes with and without it, as means over repetitions that are
made monotonic in the limit. Of an array that survives no further failure meanwhile, the time until it does counts first: the soonest limit, and of those that end
as soon the gentlest. Of any other the fastest at which no unit of work clearly takes more than `TOLERATED` times as long as without; where none does, the gentlest.
Uses that no limit changes by more than the model's error and their repetitions decide nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from seekwise.judge.arrays import name_of
from seekwise.number_text import natural
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Record

LIMIT = "sync_speed_max"
TOLERATED = 3.0
"""Up to so many times as long a wait counts as slower, beyond it as broken: our own choice, said in the answer."""
UNPROTECTED_MOST_S = 24 * 3600
"""A rebuild that programs hold up for longer gets a least speed as well. Our own choice, too."""
WORDS = {"rebuild": "rebuild", "resync": "first sync", "check": "check"}


@dataclass(frozen=True)
class Beside:
    """A use while the array is at work for itself."""

    seconds: float
    """Of the whole drive."""
    without_s: float | None
    """Mean time of a unit of work when nothing else runs."""
    meanwhile_s: float
    """Infinite where none came to its end."""
    seconds_range: float = 0.0
    """Repetitions lie within so much of `seconds`."""
    spread: float = 0.0
    """The same of `meanwhile_s`, as a share of it."""

    @property
    def unsure(self) -> float:
        """By so many times repetitions and the model's error may be off."""
        return (1 + gain_error((LIMIT,))) * (1 + max(self.spread, self.seconds_range / self.seconds))

    @property
    def ratio(self) -> float | None:
        """How many times as long a unit of work takes as when nothing else runs."""
        return self.meanwhile_s / self.without_s if self.without_s else None


@dataclass(frozen=True)
class RebuildRow:
    """One array at one limit."""

    array: str
    what: str
    """`rebuild`, `first sync` or `check`."""
    limit_kib_s: int
    units: dict[str, Beside]
    """By what a unit of work is called."""
    survives_failures: int = 0
    """While it goes on."""
    alone_s: float = 0.0
    """With nothing else to do and no limit of the study; 0: not known."""
    member_kib: int = 0
    """What md goes through; 0: not known."""

    @property
    def is_unprotected(self) -> bool:
        """A rebuild until whose end one more failure loses data."""
        return self.what == "rebuild" and self.survives_failures == 0


def rows(records: Sequence[Record]) -> list[RebuildRow]:
    """In the order of arrays, then limits; empty where no rebuild ran or its limit was not varied."""
    limited = [r for r in records if r.valid and LIMIT in r.factors and "array" in r.load and r.role != "sentinel"]
    quiet: dict[tuple[str, str], list[Record]] = {}
    busy: dict[tuple[str, str, int], dict[str, list[Record]]] = {}
    for record in limited:
        state = str(record.load["array"]["state"])
        if state in WORDS:
            key = (_array(record), WORDS[state], int(record.factors[LIMIT]))
            busy.setdefault(key, {}).setdefault(_unit(record), []).append(record)
        else:
            quiet.setdefault((_array(record), _unit(record)), []).append(record)
    table = [
        RebuildRow(
            name,
            what,
            limit,
            {
                unit: _beside(mine, limit, quiet.get((name, unit), []))
                for unit, mine in sorted(by_unit.items(), reverse=True)
            },
            min(int(r.load["array"]["survives_failures"]) for mine in by_unit.values() for r in mine),
            max(float(r.load["array"]["rebuild_s"] or 0.0) for mine in by_unit.values() for r in mine),
            max(_synced_kib(r) for mine in by_unit.values() for r in mine),
        )
        for (name, what, limit), by_unit in busy.items()
    ]
    table.sort(key=lambda row: (natural(row.array), row.limit_kib_s))
    groups = itertools.groupby(table, key=lambda row: (row.array, row.what))
    return [row for _, group in groups for row in _monotonic(list(group))]


def _beside(records: Sequence[Record], limit_kib_s: int, alone: Sequence[Record]) -> Beside:
    """Means over repetitions, and how far these lie apart."""
    seconds = [_seconds(record, limit_kib_s) for record in records]
    waits = [wait for record in records if math.isfinite(wait := _mean_s([record]))]
    alone_s = _mean_s(alone)
    return Beside(
        sum(seconds) / len(seconds),
        alone_s if math.isfinite(alone_s) else None,
        _mean_s(records),
        (max(seconds) - min(seconds)) / 2,
        (max(waits) - min(waits)) / (max(waits) + min(waits)) if waits else 0.0,
    )


def _array(record: Record) -> str:
    array = dict(record.load["array"])
    return name_of({**array, "state": "clean", "missing": []})


def _unit(record: Record) -> str:
    details = record.phases[0].details if record.phases else {}
    return str(details.get("unit") or record.factors.get("load", "request"))


def _mean_s(records: Sequence[Record]) -> float:
    done = [phase for record in records for phase in record.phases if phase.ios]
    count = sum(p.ios for p in done)
    return sum(p.latency_mean_ns * p.ios for p in done) / count / 1e9 if count else math.inf


def _seconds(record: Record, limit_kib_s: int) -> float:
    """For the whole drive at the pace of the simulated time; no less than the drive takes with nothing else to do."""
    paces = [float(p.details["resync"]["kib_per_s"]) for p in record.phases if p.details.get("resync")]
    pace = max(min(sum(paces) / len(paces), limit_kib_s) if paces else limit_kib_s, 1.0)
    return max(_synced_kib(record) / pace, float(record.load["array"]["rebuild_s"] or 0.0))


def _monotonic(table: list[RebuildRow]) -> list[RebuildRow]:
    """A higher limit never makes a rebuild longer, nor a unit of work shorter: limits that come out the other way differ by chance, and share
    their mean (pooling of adjacent violators; Ayer et al. 1955, Ann. Math. Stat. 26(4))."""
    for unit in dict.fromkeys(unit for row in table for unit in row.units):
        mine = [row for row in table if unit in row.units]
        seconds = pooled([-row.units[unit].seconds for row in mine])
        waits = pooled([row.units[unit].meanwhile_s for row in mine])
        for row, each, wait in zip(mine, seconds, waits, strict=True):
            row.units[unit] = replace(row.units[unit], seconds=-each, meanwhile_s=wait)
    return table


def pooled(values: Sequence[float]) -> list[float]:
    """The non-decreasing sequence nearest to these; one that is infinite counts as what comes after it."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (before, many), (after, few) = blocks[-2:]
            mean = after if math.isinf(before) else (before * many + after * few) / (many + few)
            blocks[-2:] = [(mean, many + few)]
    return [value for value, count in blocks for _ in range(count)]


def _synced_kib(record: Record) -> int:
    """What md goes through: of a member, but of RAID 10 the whole array, except in a rebuild."""
    array = record.load["array"]
    whole = array["level"] == "raid10" and array["state"] != "rebuild"
    return int(array["capacity_bytes" if whole else "member_bytes"]) >> 10


@dataclass(frozen=True)
class Limit:
    """What is advised for one array."""

    kind: Literal["tolerated", "gentlest", "soonest", "only", "none"]
    """`none`: no limit changes anything."""
    row: RebuildRow
    """At the limit; with `none` at the highest."""
    units: tuple[str, ...]
    """Those that the limit changes."""
    stuck: tuple[str, ...]
    """Those that no limit changes."""

    @property
    def seconds(self) -> float:
        """Until the rebuild ends, beside the use that the limit changes and that slows it most."""
        return longest_s(self.row, self.units or self.stuck)


def choose(table: Sequence[RebuildRow]) -> Limit:
    """Of one array, its rows from the lowest limit on."""
    names = tuple(table[0].units)
    if len(table) == 1:
        return Limit("only", table[0], names, ())
    stuck = tuple(unit for unit in names if _is_alike(table, unit))
    units = tuple(unit for unit in names if unit not in stuck)
    if not units:
        return Limit("none", table[-1], (), stuck)
    if table[0].is_unprotected:
        # Of those that end as soon in every column, the gentlest.
        error = gain_error((LIMIT,))
        soon = [
            row
            for row in table
            if all(row.units[unit].seconds <= (1 + error) * table[-1].units[unit].seconds for unit in units)
        ]
        return Limit("soonest", soon[0], units, stuck)

    def is_tolerated(row: RebuildRow) -> bool:
        # What repetitions and the model leave open is no reason for a longer rebuild.
        return all(
            row.units[unit].meanwhile_s / row.units[unit].unsure <= TOLERATED * _alone_s(table, unit) for unit in units
        )

    if fit := [row for row in table if is_tolerated(row)]:
        return Limit("tolerated", fit[-1], units, stuck)
    gentlest = table[0].units
    alike = [
        row
        for row in table
        if all(row.units[unit].meanwhile_s <= row.units[unit].unsure * gentlest[unit].meanwhile_s for unit in units)
    ]
    # Of those that are no worse than the gentlest, the soonest.
    return Limit("gentlest", alike[-1], units, stuck)


def _alone_s(table: Sequence[RebuildRow], unit: str) -> float:
    """Of a unit of work; without a trial of nothing else that at the lowest limit."""
    lowest = table[0].units[unit]
    return lowest.without_s or lowest.meanwhile_s


def least_kib_s(choice: Limit) -> int:
    """For `sync_speed_min`, where programs hold a rebuild up for more than a day whatever its limit: ends it within one where that limit and the
    drives allow it.

    0 where they do not, and where it is not known what has to be written.
    """
    if not choice.stuck or longest_s(choice.row, choice.stuck) <= UNPROTECTED_MOST_S:
        return 0
    needed = -(-choice.row.member_kib // (1000 * UNPROTECTED_MOST_S)) * 1000
    return min(needed, choice.row.limit_kib_s)


def longest_s(row: RebuildRow, units: Sequence[str]) -> float:
    """Until the end beside the use that delays it most."""
    return max(row.units[unit].seconds for unit in units)


def _is_alike(table: Sequence[RebuildRow], unit: str) -> bool:
    """Whether the limits differ by less than the model's error and their repetitions, in the rebuild's time as in the
    program's."""
    first, last = table[0].units[unit], table[-1].units[unit]
    unsure = max(first.unsure, last.unsure)
    return first.seconds <= unsure * last.seconds and last.meanwhile_s <= unsure * first.meanwhile_s


def limits(table: Sequence[RebuildRow]) -> list[Limit]:
    """One for each array."""
    names = dict.fromkeys((row.array, row.what) for row in table)
    return [choose([row for row in table if (row.array, row.what) == name]) for name in names]
