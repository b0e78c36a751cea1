"""The answer of a study of rebuilds: the limit of each array and why (`judge/rebuild.py`), the lines that set it, and the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from seekwise.grouping import grouped
from seekwise.judge.arrays import long_text
from seekwise.judge.rebuild import LIMIT, TOLERATED, Limit, RebuildRow, least_kib_s, limits, longest_s, rows
from seekwise.number_text import listed, three
from seekwise.report.content import Advice, QuestionTable
from seekwise.store.record import Record
from seekwise.workload.study.quantity import time_text

SYSFS = "/sys/block/md0/md"
LASTING = "Lost when the array stops; to stay: dev.raid.speed_limit_max in /etc/sysctl.d"


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of rebuilds; None for any other."""
    table_rows = rows(records)
    if not table_rows:
        return None
    chosen = limits(table_rows)
    advised = [choice for choice in chosen if choice.kind != "none"]
    speeds = _by_value({_short(choice.row.array): choice.row.limit_kib_s for choice in advised})
    least = {_short(choice.row.array): value for choice in chosen if (value := least_kib_s(choice))}
    said = []
    if speeds:
        several = len(chosen) > len(speeds)
        named = (
            f"to {speed:,} KiB/s on {listed([_levels([name]) if several else name for name in arrays])}"
            for speed, arrays in speeds.items()
        )
        said.append(f"Limit a {table_rows[0].what} {', '.join(named)}.")
    if stuck := [choice for choice in chosen if choice.stuck]:
        said.append(_stuck_text(stuck, least, others=bool(advised)))
    if exposed := [choice.row for choice in chosen if choice.row.is_unprotected]:
        spans = listed([f"{_span(row)} ({_levels([row.array])})" for row in exposed])
        said.insert(1 if speeds else 0, f"Without redundancy for {spans}.")
    reasons = [_why(kind, mine) for kind in WHY if (mine := [choice for choice in chosen if choice.kind == kind])]
    if exposed:
        reasons.append(
            f"until then one more failure loses the data of {listed([_short(row.array) for row in exposed])}"
        )
    if alone_s := min((row.alone_s for row in table_rows if row.alone_s), default=0.0):
        reasons.append(f"with nothing else to do it takes {long_text(alone_s)}")
    if not speeds and not least:
        return Advice(" ".join(said), tuple(reasons), caution=cautions)
    # Whose limits differ, their lines say whose they are.
    sets = []
    both = {name: value for name, value in least.items() if name in speeds.get(value, ())}
    most = {name: speed for speed, names in speeds.items() for name in names if name not in both}
    rest = {name: value for name, value in least.items() if name not in both}
    for file, values in ((LIMIT, most), (BOTH, both), (LEAST, rest)):
        for value, names in _by_value(values).items():
            whose = f"   # {_levels(names)}" if file != LIMIT or len(speeds) > 1 else ""
            sets.append(f"echo {value} | sudo tee {SYSFS}/{file}{whose}")
    files = f"{SYSFS}/{BOTH if speeds and least else LEAST if least else LIMIT}"
    return Advice(
        " ".join(said),
        tuple(reasons),
        set_lines=(f"grep . {files}   # what it is now, for undo", *sets),
        # `system` hands the array back to the sysctl (Documentation/admin-guide/md.rst, sync_speed_max).
        undo_lines=(f"echo system | sudo tee {files}   # or what it was",),
        caution=(LASTING, *cautions),
    )


LEAST, BOTH = "sync_speed_min", "sync_speed_m*"
WHY = {
    "tolerated": "{arrays}: the fastest at which nothing takes over {tolerated:g}× as long",
    "gentlest": "{arrays}: the gentlest, as none stays below {tolerated:g}×",
    "soonest": "{arrays}: the gentlest of those that end soonest, as a further failure meanwhile loses the data",
    "only": "{arrays}: no other limit was compared",
}


def _levels(arrays: Sequence[str]) -> str:
    """`RAID 5, 10` of `RAID 5 of 4` and `RAID 10 of 4`: a command fits its line."""
    names = dict.fromkeys(array.partition(" of ")[0].removeprefix("RAID ") for array in arrays)
    return f"RAID {', '.join(names)}"


def _by_value(values: Mapping[str, int]) -> dict[int, list[str]]:
    """{value: arrays}, in the arrays' order."""
    return grouped((value, array) for array, value in values.items())


def _why(kind: str, chosen: Sequence[Limit]) -> str:
    """Of arrays whose limits were chosen for the same reason."""
    arrays = listed([_short(choice.row.array) for choice in chosen])
    return WHY[kind].format(arrays=arrays, tolerated=TOLERATED)


def _stuck_text(chosen: Sequence[Limit], least: Mapping[str, int], *, others: bool) -> str:
    """What no limit changes, how long that takes, and what does."""
    units = listed(list(dict.fromkeys(f"{unit}s" for choice in chosen for unit in choice.stuck)))
    seconds = max(longest_s(choice.row, choice.stuck) for choice in chosen)
    names = listed([_levels([choice.row.array]) for choice in chosen])
    start = "With" if others else "Set no limit: with"
    cures = [
        max(choice.row.member_kib / least[name], choice.row.alone_s)
        for choice in chosen
        if (name := _short(choice.row.array)) in least
    ]
    cure = f"; {LEAST} ends it within {long_text(max(cures))}, at a price not simulated" if cures else ""
    return f"{start} {units} on {names} no limit matters: {long_text(seconds)}{cure}."


def _short(array: str) -> str:
    return array.partition(",")[0]


def hours_text(seconds: float, within_s: float = 0.0) -> str:
    """`29.7 h`, `93 ± 20 h`: with what repetitions leave open, where that shows."""
    hours, within = seconds / 3600, within_s / 3600
    return f"{hours:.0f} ± {max(within, 1):.0f} h" if within > 0.03 * hours else f"{three(hours)} h"


def _span(row: RebuildRow) -> str:
    """`29.7 to 93 ± 20 h`: from the use that delays it least to the one that does most."""
    least, most = (pick(row.units.values(), key=lambda each: each.seconds) for pick in (min, max))
    longest = hours_text(most.seconds, most.seconds_range)
    return longest if least.seconds > 0.95 * most.seconds else f"{three(least.seconds / 3600)} to {longest}"


def _times(ratio: float) -> str:
    """`2.1×`, `130×`."""
    return f"{ratio:.2g}×" if ratio < 99.5 else f"{ratio:.0f}×"


def seconds_text(seconds: float | None) -> str:
    """`21 ms`, `3.1 s`."""
    if seconds is None:
        return "–"
    if math.isinf(seconds):
        return "none done"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s" if seconds < 600 else time_text(seconds)


def table(table_rows: Sequence[RebuildRow]) -> QuestionTable:
    """A row per array and limit, two columns per use. A small screen shows of each array the limit that is advised, or the highest."""
    units = list(dict.fromkeys(unit for row in table_rows for unit in row.units))
    heads = ["Array", "KiB/s"]
    for unit in units:
        heads += [f"With {unit}s", f"{unit.capitalize()} (× alone)"]
    body = []
    for row in table_rows:
        cells = [_short(row.array), f"{row.limit_kib_s:,}"]
        for unit in units:
            unit_time = row.units.get(unit)
            if unit_time is None:
                cells += ["–", "–"]
            else:
                slowed = f" ({_times(unit_time.ratio)})" if unit_time.ratio and math.isfinite(unit_time.ratio) else ""
                cells += [
                    hours_text(unit_time.seconds, unit_time.seconds_range),
                    f"{seconds_text(unit_time.meanwhile_s)}{slowed}",
                ]
        body.append(cells)
    ends = [limit.row for limit in limits(table_rows)]
    brief = tuple(place for place, row in enumerate(table_rows) if row in ends)
    values = {
        place: [row.units[unit].meanwhile_s if unit in row.units else None for row in table_rows]
        for place, unit in zip(range(3, len(heads), 2), units, strict=True)
    }
    return QuestionTable(heads, body, brief=brief, values=values)
