"""How long a rebuild, resync or check takes, and what it does to programs: by array and limit, from a study that varies `sync_speed_max`.

A row is an array at a limit: beside each use how long it takes, and how long a unit of work takes with and without it. The compromise is the fastest limit at
which no unit of work takes more than `TOLERATED` times as long as at the lowest limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.arrays import long_text, name_of
from seekwise.number_text import listed, natural
from seekwise.report.content import Advice
from seekwise.simulate.arrays import MIN_KIB_S
from seekwise.store.record import Record
from seekwise.workload.study.quantity import time_text

LIMIT = "sync_speed_max"
TOLERATED = 1.5
STUCK = 0.7
"""A limit that shortens the rebuild by less than this leaves it at what md gives beside a load that never rests."""
MD_DEFAULT_KIB_S = 200_000
"""`speed_limit_max` of md as the kernel sets it (drivers/md/md.c: sysctl_speed_limit_max)."""
WORDS = {"rebuild": "rebuild", "resync": "first sync", "check": "check"}


@dataclass(frozen=True)
class Beside:
    """A use while the array is at work for itself."""

    seconds: float
    """Of the whole drive."""
    without_s: float | None
    """Mean time of a unit of work when nothing else runs."""
    meanwhile_s: float


@dataclass(frozen=True)
class RebuildRow:
    """One array at one limit."""

    array: str
    what: str
    """`rebuild`, `first sync` or `check`."""
    limit_kib_s: int
    units: dict[str, Beside]
    """By what a unit of work is called."""


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
            quiet[_array(record), _unit(record)] = _mean_s([record])
    found = [
        RebuildRow(
            name,
            what,
            limit,
            {
                unit: Beside(max(_seconds(r, limit) for r in mine), quiet.get((name, unit)), _mean_s(mine))
                for unit, mine in sorted(by_unit.items(), reverse=True)
            },
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
    return sum(p.latency_mean_ns * p.ios for p in done) / max(sum(p.ios for p in done), 1) / 1e9


def _seconds(record: Record, limit_kib_s: int) -> float:
    """For the whole drive at the pace of the simulated time; no less than the drive takes with nothing else to do."""
    array = record.load["array"]
    alone_s = float(array["rebuild_s"] or 0.0)  # type: ignore[index, call-overload]
    member_kib = int(array["member_bytes"]) / 1024  # type: ignore[index, call-overload]
    paces = [float(p.details["resync"]["kib_per_s"]) for p in record.phases if p.details.get("resync")]  # type: ignore[index, call-overload]
    pace = max(min(sum(paces) / len(paces), limit_kib_s) if paces else limit_kib_s, 1.0)
    return max(member_kib / pace, alone_s)


def compromise(found: Sequence[RebuildRow]) -> RebuildRow:
    """Of one array, its rows from the lowest limit on."""
    lowest = found[0].units
    fast = [
        row
        for row in found
        if all(each.meanwhile_s <= TOLERATED * lowest[unit].meanwhile_s for unit, each in row.units.items())
    ]
    return fast[-1]


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of rebuilds; None for any other."""
    found = rows(records)
    if not found:
        return None
    chosen = {row.array: compromise([each for each in found if each.array == row.array]) for row in found}
    # One sysctl holds for all arrays of a machine: the lowest that any of these needs.
    limit = min(row.limit_kib_s for row in chosen.values())
    first = [row for row in found if row.array == found[0].array]
    row = next((each for each in first if each.limit_kib_s == limit), first[0])
    headline = f"Limit a {row.what} to {limit:,} KiB/s. {_short(row.array)} then takes {_told(row)}."
    if first[-1] is not row:
        headline += f" At {first[-1].limit_kib_s:,}: {_told(first[-1])}."
    reasons = []
    if len({row.limit_kib_s for row in chosen.values()}) > 1:
        reasons.append(
            "By array: " + "; ".join(f"{_short(row.array)} {row.limit_kib_s:,} KiB/s" for row in chosen.values())
        )
    stuck = [unit for unit, each in first[-1].units.items() if each.seconds > STUCK * first[0].units[unit].seconds]
    if stuck and len(first) > 1:
        reasons.append(
            f"While {listed([f'{unit}s' for unit in stuck])} go on without a pause, the limit hardly matters: md gives way down to {MIN_KIB_S:,} KiB/s. To be done "
            "sooner, raise dev.raid.speed_limit_min"
        )
    reasons.append(
        f"Chosen is the fastest at which nothing takes more than {TOLERATED:g} times as long as at the lowest"
    )
    return Advice(
        headline,
        tuple(reasons),
        set_lines=(
            f"sudo sysctl dev.raid.speed_limit_max={limit}",
            f"echo {limit} | sudo tee /sys/block/md0/md/{LIMIT}   # one array",
        ),
        undo_lines=(f"sudo sysctl dev.raid.speed_limit_max={MD_DEFAULT_KIB_S}",),
        caution=cautions,
    )


def _short(array: str) -> str:
    return array.partition(",")[0]


def _told(row: RebuildRow) -> str:
    told = []
    for unit, each in row.units.items():
        usual = f" instead of {seconds_text(each.without_s)}" if each.without_s else ""
        told.append(
            f"{long_text(each.seconds)} with {unit}s meanwhile, which take {seconds_text(each.meanwhile_s)}{usual}"
        )
    return "; ".join(told)


def seconds_text(seconds: float | None) -> str:
    """`21 ms`, `3.1 s`."""
    if seconds is None:
        return "–"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s" if seconds < 600 else time_text(seconds)


def table(found: Sequence[RebuildRow]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows."""
    units = list(dict.fromkeys(unit for row in found for unit in row.units))
    heads = [
        "Array",
        "KiB/s",
        *(head for unit in units for head in ("Rebuild", f"{unit.capitalize()} before", "during")),
    ]
    body, last = [], ""
    for row in found:
        cells = [f"{row.limit_kib_s:,}"]
        for unit in units:
            each = row.units.get(unit)
            cells += ["–"] * 3 if each is None else [
                long_text(each.seconds), seconds_text(each.without_s), seconds_text(each.meanwhile_s)
            ]  # fmt: skip
        body.append(["" if row.array == last else _short(row.array), *cells])
        last = row.array
    return heads, body
