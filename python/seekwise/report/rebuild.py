"""How long a rebuild, resync or check takes, and what it does to programs: by array and limit, from a study that varies `sync_speed_max`.

A row compares the same array and the same work with and without it. The compromise is the fastest limit at which no unit of work takes more than
`TOLERATED` times as long as without; where none does, the one that slows programs least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.arrays import long_text, name_of
from seekwise.report.content import Advice
from seekwise.number_text import natural
from seekwise.store.record import Record
from seekwise.workload.study.quantity import time_text

LIMIT = "sync_speed_max"
TOLERATED = 1.5
MD_DEFAULT_KIB_S = 200_000
"""`speed_limit_max` of md as the kernel sets it (drivers/md/md.c: sysctl_speed_limit_max)."""
WORDS = {"rebuild": "rebuild", "resync": "first sync", "check": "check"}


@dataclass(frozen=True)
class RebuildRow:
    """One array at one limit."""

    array: str
    what: str
    """`rebuild`, `first sync` or `check`."""
    limit_kib_s: int
    seconds: float
    """Of the whole drive beside the work that slows it most."""
    units_s: dict[str, tuple[float | None, float]]
    """{unit of work: mean time of one without it, and meanwhile}, in seconds."""

    @property
    def slowdown(self) -> float:
        """How many times longer the unit takes that suffers most."""
        return max((now / before for before, now in self.units_s.values() if before), default=1.0)


def rows(records: Sequence[Record]) -> list[RebuildRow]:
    """In the order of arrays, then limits; empty where no rebuild ran or its limit was not varied."""
    limited = [r for r in records if r.valid and LIMIT in r.factors and "array" in r.load and r.role != "sentinel"]
    quiet: dict[tuple[str, str], float] = {}
    busy: dict[tuple[str, str, int], dict[str, list[Record]]] = {}
    for record in limited:
        array = record.load["array"]
        state = str(array["state"])  # type: ignore[index, call-overload]
        if state in WORDS:
            key = (_array(record), WORDS[state], int(record.factors[LIMIT]))
            busy.setdefault(key, {}).setdefault(_unit(record), []).append(record)
        else:
            quiet[_array(record), _unit(record)] = _mean_s([record])
    found = []
    for (name, what, limit), by_unit in busy.items():
        units = {unit: (quiet.get((name, unit)), _mean_s(mine)) for unit, mine in by_unit.items()}
        longest = max(_seconds(record, limit) for mine in by_unit.values() for record in mine)
        found.append(RebuildRow(name, what, limit, longest, units))
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
    """Time for the whole drive at the pace seen at its start: what the limit alone would take, or the drive's own time stretched by what the load took."""
    array = record.load["array"]
    alone_s = float(array["rebuild_s"] or 0.0)  # type: ignore[index, call-overload]
    member_kib = int(array["member_bytes"]) / 1024  # type: ignore[index, call-overload]
    paces = [float(p.details["resync"]["kib_per_s"]) for p in record.phases if p.details.get("resync")]  # type: ignore[index, call-overload]
    pace = max(min(sum(paces) / len(paces), limit_kib_s) if paces else limit_kib_s, 1.0)
    # Outer tracks are read first: alone, md gets there what the drive's own mean is exceeded by.
    return max(member_kib / pace, alone_s)


def compromise(found: Sequence[RebuildRow]) -> RebuildRow:
    """Of one array."""
    fast = [row for row in found if row.slowdown <= TOLERATED]
    return max(fast, key=lambda row: row.limit_kib_s) if fast else min(found, key=lambda row: row.slowdown)


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of rebuilds; None for any other."""
    found = rows(records)
    if not found:
        return None
    first = [row for row in found if row.array == found[0].array]
    chosen = {row.array: compromise([each for each in found if each.array == row.array]) for row in found}
    limits = sorted({row.limit_kib_s for row in chosen.values()})
    # One sysctl holds for all arrays of a machine: the lowest that any of these needs.
    limit = limits[0]
    row = next((each for each in first if each.limit_kib_s == limit), first[0])
    fastest = max(first, key=lambda each: each.limit_kib_s)
    headline = f"Limit a {row.what} to {limit:,} KiB/s: on {row.array} it takes {long_text(row.seconds)}, and {_felt(row)}."
    if fastest.limit_kib_s != row.limit_kib_s:
        headline += f" At {fastest.limit_kib_s:,} it takes {long_text(fastest.seconds)}, and {_felt(fastest)}."
    if row.slowdown > TOLERATED:
        headline += " No limit here keeps programs near their usual pace: run it when they rest."
    reasons = []
    if len(limits) > 1:
        by_limit = [f"{each.array}: {each.limit_kib_s:,} KiB/s" for each in chosen.values()]
        reasons.append(f"By array: {'; '.join(by_limit)}")
    reasons.append(f"Chosen is the fastest at which nothing takes more than {TOLERATED:g} times as long as without")
    return Advice(
        headline,
        tuple(reasons),
        set_lines=(f"sudo sysctl dev.raid.speed_limit_max={limit}", f"echo {limit} | sudo tee /sys/block/md0/md/{LIMIT}   # one array"),
        undo_lines=(f"sudo sysctl dev.raid.speed_limit_max={MD_DEFAULT_KIB_S}",),
        caution=cautions,
    )


def _felt(row: RebuildRow) -> str:
    told = []
    for unit, (before, now) in row.units_s.items():
        usual = f" instead of {seconds_text(before)}" if before else ""
        told.append(f"a {unit} {seconds_text(now)}{usual}")
    return ", ".join(told)


def seconds_text(seconds: float | None) -> str:
    """`21 ms`, `3.1 s`."""
    if seconds is None:
        return "–"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s" if seconds < 600 else time_text(seconds)


def table(found: Sequence[RebuildRow]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows."""
    units = list(dict.fromkeys(unit for row in found for unit in row.units_s))
    heads = ["Array", "KiB/s", "Hours", *(head for unit in units for head in (f"{unit.capitalize()} without", "meanwhile"))]
    body, last = [], ""
    for row in found:
        times = [seconds_text(each) for unit in units for each in row.units_s.get(unit, (None, None))]
        body.append(["" if row.array == last else row.array, f"{row.limit_kib_s:,}", _hours(row.seconds), *times])
        last = row.array
    return heads, body


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.3g}"


