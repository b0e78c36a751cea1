"""The answer of a study of rebuilds: the limit of each array and why (`judge/rebuild.py`), the lines that set it, and the table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.arrays import long_text
from seekwise.judge.rebuild import LIMIT, TOLERATED, UNPROTECTED_MOST_S, Limit, RebuildRow, limits, longest_s, rows
from seekwise.number_text import listed
from seekwise.report.content import Advice, QuestionTable
from seekwise.store.record import Record
from seekwise.workload.study.quantity import time_text

SYSFS = f"/sys/block/md0/md/{LIMIT}"
LASTING = "Lost when the array stops; to stay: dev.raid.speed_limit_max in /etc/sysctl.d"


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of rebuilds; None for any other."""
    found = rows(records)
    if not found:
        return None
    chosen = limits(found)
    advised = [choice for choice in chosen if choice.kind != "none"]
    parts = [_why(kind, mine) for kind in WHY if (mine := [choice for choice in chosen if choice.kind == kind])]
    said = [f"Limit a {found[0].what} {'; '.join(parts)}."] if parts else []
    if stuck := [choice for choice in chosen if choice.stuck]:
        said.append(_stuck_text(stuck, others=bool(advised)))
    if not advised:
        return Advice(" ".join(said), caution=cautions)
    limit = advised[0].row.limit_kib_s
    array = f"   # {_short(advised[0].row.array)}" if len({choice.row.limit_kib_s for choice in advised}) > 1 else ""
    return Advice(
        " ".join(said),
        set_lines=(f"cat {SYSFS}   # what it is now, for undo", f"echo {limit} | sudo tee {SYSFS}{array}"),
        # `system` hands the array back to the sysctl (Documentation/admin-guide/md.rst, sync_speed_max).
        undo_lines=(f"echo system | sudo tee {SYSFS}   # or what it was",),
        caution=(LASTING, *cautions),
    )


WHY = {
    "tolerated": "to {limits}: the fastest at which nothing takes over {tolerated:g}× as long",
    "gentlest": "to {limits}: the gentlest{able}, as none stays below {tolerated:g}×",
    "soonest": "to {limits}: the soonest, as none ends within a day",
    "only": "to {limits}: no other limit was compared",
}


def _why(kind: str, chosen: Sequence[Limit]) -> str:
    """Of arrays whose limits were chosen for the same reason."""
    able = " that ends within a day" if any(choice.row.is_unprotected for choice in chosen) else ""
    return WHY[kind].format(limits=listed([_limit_text(choice) for choice in chosen]), tolerated=TOLERATED, able=able)


def _limit_text(limit: Limit) -> str:
    """`20,000 KiB/s on RAID 5 of 4 (13 h 33 min without redundancy, transaction 2.1×)`."""
    unit, ratio = limit.worst
    slowed = f", {unit} {_times(ratio)}" if math.isfinite(ratio) and ratio else f", no {unit} done" if ratio else ""
    bare = " without redundancy" if limit.row.is_unprotected else ""
    return f"{limit.row.limit_kib_s:,} KiB/s on {_short(limit.row.array)} ({long_text(limit.seconds)}{bare}{slowed})"


def _stuck_text(chosen: Sequence[Limit], *, others: bool) -> str:
    """What no limit changes, how long that takes, and what does."""
    units = listed(list(dict.fromkeys(f"{unit}s" for choice in chosen for unit in choice.stuck)))
    seconds = max(longest_s(choice.row, choice.stuck) for choice in chosen)
    names = listed(
        [_short(choice.row.array) + (" (without redundancy)" if choice.row.is_unprotected else "") for choice in chosen]
    )
    start = "With" if others else "Set no limit: with"
    alone_s = max(choice.row.alone_s for choice in chosen)
    alone = f" ({long_text(alone_s)} with nothing else to do)" if alone_s else ""
    cure = "; raise sync_speed_min" if seconds > UNPROTECTED_MOST_S else ""
    return f"{start} {units} on {names} no limit matters: {long_text(seconds)}{alone}{cure}."


def _short(array: str) -> str:
    return array.partition(",")[0]


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
                slowed = f" ({_times(each.ratio)})" if each.ratio and math.isfinite(each.ratio) else ""
                cells += [long_text(each.seconds), f"{seconds_text(each.meanwhile_s)}{slowed}"]
        body.append(cells)
    ends = [limit.row for limit in limits(found)]
    ends += [
        row for row, after in zip(found, [*found[1:], None], strict=True) if after is None or after.array != row.array
    ]
    return QuestionTable(heads, body, brief=tuple(place for place, row in enumerate(found) if row in ends))
