"""How long a rebuild, resync or check takes, and what it does to programs: by array and limit, from a study that varies `sync_speed_max`.

A row is an array at a limit: beside each use how long it takes, and how long a unit of work takes with and without it. The limit of an array is the fastest at
which no unit of work takes more than `TOLERATED` times as long as without; where none does, the gentlest. Of an array that survives no further failure meanwhile,
only limits count that end within `UNPROTECTED_MOST_S`. Uses that no limit changes by more than the model's error decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from seekwise.judge.arrays import long_text, name_of
from seekwise.number_text import listed, natural
from seekwise.report.content import Advice, QuestionTable
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Record
from seekwise.workload.study.quantity import time_text

LIMIT = "sync_speed_max"
TOLERATED = 3.0
UNPROTECTED_MOST_S = 24 * 3600
"""A longer rebuild of an array that survives no further failure is advised only where no limit of the study ends sooner."""
WORDS = {"rebuild": "rebuild", "resync": "first sync", "check": "check"}
SYSFS = f"/sys/block/md0/md/{LIMIT}"
LASTING = "Lost when the array stops; to stay: dev.raid.speed_limit_max in /etc/sysctl.d"


@dataclass(frozen=True)
class Beside:
    """A use while the array is at work for itself."""

    seconds: float
    """Of the whole drive."""
    without_s: float | None
    """Mean time of a unit of work when nothing else runs."""
    meanwhile_s: float
    """Infinite where none came to its end."""

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

    @property
    def is_unprotected(self) -> bool:
        """A rebuild until whose end one more failure loses data."""
        return self.what == "rebuild" and self.survives_failures == 0


def rows(records: Sequence[Record]) -> list[RebuildRow]:
    """In the order of arrays, then limits; empty where no rebuild ran or its limit was not varied."""
    limited = [r for r in records if r.valid and LIMIT in r.factors and "array" in r.load and r.role != "sentinel"]
    quiet: dict[tuple[str, str], float] = {}
    busy: dict[tuple[str, str, int], dict[str, list[Record]]] = {}
    for record in limited:
        state = str(record.load["array"]["state"])  # type: ignore[index, call-overload]
        if state in WORDS:
            key = (_array(record), WORDS[state], int(record.factors[LIMIT]))
            busy.setdefault(key, {}).setdefault(_unit(record), []).append(record)
        else:
            alone_s = _mean_s([record])
            if math.isfinite(alone_s):
                quiet[_array(record), _unit(record)] = alone_s
    found = [
        RebuildRow(
            name,
            what,
            limit,
            {
                unit: Beside(max(_seconds(r, limit) for r in mine), quiet.get((name, unit)), _mean_s(mine))
                for unit, mine in sorted(by_unit.items(), reverse=True)
            },
            min(int(r.load["array"]["survives_failures"]) for mine in by_unit.values() for r in mine),  # type: ignore[index, call-overload]
        )
        for (name, what, limit), by_unit in busy.items()
    ]
    return sorted(found, key=lambda row: (natural(row.array), row.limit_kib_s))


def _array(record: Record) -> str:
    array = dict(record.load["array"])  # type: ignore[call-overload]
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
    array = record.load["array"]
    alone_s = float(array["rebuild_s"] or 0.0)  # type: ignore[index, call-overload]
    member_kib = int(array["member_bytes"]) / 1024  # type: ignore[index, call-overload]
    paces = [float(p.details["resync"]["kib_per_s"]) for p in record.phases if p.details.get("resync")]  # type: ignore[index, call-overload]
    pace = max(min(sum(paces) / len(paces), limit_kib_s) if paces else limit_kib_s, 1.0)
    return max(member_kib / pace, alone_s)


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
        return _longest(self.row, self.units or self.stuck)

    @property
    def worst(self) -> tuple[str, float]:
        """The unit of work that is slowed most, and by how many times."""
        unit = max(self.units or self.stuck, key=lambda each: self.row.units[each].ratio or 0.0)
        return unit, self.row.units[unit].ratio or 0.0


def choose(found: Sequence[RebuildRow]) -> Limit:
    """Of one array, its rows from the lowest limit on."""
    names = tuple(found[0].units)
    if len(found) == 1:
        return Limit("only", found[0], names, ())
    stuck = tuple(unit for unit in names if _is_alike(found, unit))
    units = tuple(unit for unit in names if unit not in stuck)
    if not units:
        return Limit("none", found[-1], (), stuck)

    def slowed(row: RebuildRow) -> float:
        # Without a trial of nothing else: against the lowest limit.
        lowest = found[0].units
        alone = {unit: lowest[unit].without_s or lowest[unit].meanwhile_s for unit in units}
        return max(row.units[unit].meanwhile_s / alone[unit] if math.isfinite(alone[unit]) else 1.0 for unit in units)

    able = [row for row in found if not row.is_unprotected or _longest(row, units) <= UNPROTECTED_MOST_S]
    if not able:
        return Limit("soonest", min(found, key=lambda row: _longest(row, units)), units, stuck)
    fit = [row for row in able if slowed(row) <= TOLERATED]
    if fit:
        return Limit("tolerated", min(fit, key=lambda row: _longest(row, units)), units, stuck)
    return Limit("gentlest", min(able, key=slowed), units, stuck)


def _longest(row: RebuildRow, units: Sequence[str]) -> float:
    return max(row.units[unit].seconds for unit in units)


def _is_alike(found: Sequence[RebuildRow], unit: str) -> bool:
    """Whether the limits differ by less than the model's error, in the rebuild's time as in the program's."""
    mine = [row.units[unit] for row in found]
    error = gain_error((LIMIT,))
    return all(
        max(values) <= (1 + error) * min(values)
        for values in ([each.seconds for each in mine], [each.meanwhile_s for each in mine])
    )


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of rebuilds; None for any other."""
    found = rows(records)
    if not found:
        return None
    limits = _limits(found)
    advised = [each for each in limits if each.kind != "none"]
    parts = [_why(kind, mine) for kind in WHY if (mine := [each for each in limits if each.kind == kind])]
    said = [f"Limit a {found[0].what} {'; '.join(parts)}."] if parts else []
    if stuck := [each for each in limits if each.stuck]:
        said.append(_stuck_text(stuck, others=bool(advised)))
    if not advised:
        return Advice(" ".join(said), caution=cautions)
    limit = advised[0].row.limit_kib_s
    array = f"   # {_short(advised[0].row.array)}" if len({each.row.limit_kib_s for each in advised}) > 1 else ""
    return Advice(
        " ".join(said),
        set_lines=(f"cat {SYSFS}   # what it is now, for undo", f"echo {limit} | sudo tee {SYSFS}{array}"),
        # `system` hands the array back to the sysctl (Documentation/admin-guide/md.rst, sync_speed_max).
        undo_lines=(f"echo system | sudo tee {SYSFS}   # or what it was",),
        caution=(LASTING, *cautions),
    )


def _limits(found: Sequence[RebuildRow]) -> list[Limit]:
    names = dict.fromkeys((row.array, row.what) for row in found)
    return [choose([row for row in found if (row.array, row.what) == name]) for name in names]


WHY = {
    "tolerated": "to {limits}: the fastest at which nothing takes over {tolerated:g}× as long",
    "gentlest": "to {limits}: the gentlest{able}, as none stays below {tolerated:g}×",
    "soonest": "to {limits}: the soonest, as none ends within a day",
    "only": "to {limits}: no other limit was compared",
}


def _why(kind: str, limits: Sequence[Limit]) -> str:
    """Of arrays whose limits were chosen for the same reason."""
    able = " that ends within a day" if any(each.row.is_unprotected for each in limits) else ""
    return WHY[kind].format(limits=listed([_limit_text(each) for each in limits]), tolerated=TOLERATED, able=able)


def _limit_text(limit: Limit) -> str:
    """`20,000 KiB/s on RAID 5 of 4 (13 h 33 min without redundancy, transaction 2.1×)`."""
    unit, ratio = limit.worst
    slowed = f", {unit} {ratio:.2g}×" if math.isfinite(ratio) and ratio else f", no {unit} done" if ratio else ""
    bare = " without redundancy" if limit.row.is_unprotected else ""
    return f"{limit.row.limit_kib_s:,} KiB/s on {_short(limit.row.array)} ({long_text(limit.seconds)}{bare}{slowed})"


def _stuck_text(limits: Sequence[Limit], *, others: bool) -> str:
    """What no limit changes, how long that takes, and what does."""
    units = listed(list(dict.fromkeys(f"{unit}s" for each in limits for unit in each.stuck)))
    seconds = max(_longest(each.row, each.stuck) for each in limits)
    names = listed(
        [_short(each.row.array) + (" (without redundancy)" if each.row.is_unprotected else "") for each in limits]
    )
    start = "With" if others else "Set no limit: with"
    cure = "; raise sync_speed_min" if seconds > UNPROTECTED_MOST_S else ""
    return f"{start} {units} on {names} no limit matters: {long_text(seconds)}{cure}."


def _short(array: str) -> str:
    return array.partition(",")[0]


def seconds_text(seconds: float | None) -> str:
    """`21 ms`, `3.1 s`."""
    if seconds is None:
        return "–"
    if math.isinf(seconds):
        return "none done"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s" if seconds < 600 else time_text(seconds)


def table(found: Sequence[RebuildRow]) -> QuestionTable:
    """A row per array and limit, two columns per use. A small screen shows of each array the limit that is advised and the highest."""
    units = list(dict.fromkeys(unit for row in found for unit in row.units))
    what = found[0].what.capitalize()
    heads = ["Array", "KiB/s"]
    for unit in units:
        heads += [f"{what} with {unit}s", f"{unit.capitalize()} (× alone)"]
    body = []
    for row in found:
        cells = [_short(row.array), f"{row.limit_kib_s:,}"]
        for unit in units:
            each = row.units.get(unit)
            if each is None:
                cells += ["–", "–"]
            else:
                slowed = f" ({each.ratio:.2g}×)" if each.ratio and math.isfinite(each.ratio) else ""
                cells += [long_text(each.seconds), f"{seconds_text(each.meanwhile_s)}{slowed}"]
        body.append(cells)
    ends = [each.row for each in _limits(found)]
    ends += [
        row for row, after in zip(found, [*found[1:], None], strict=True) if after is None or after.array != row.array
    ]
    return QuestionTable(heads, body, brief=tuple(place for place, row in enumerate(found) if row in ends))
