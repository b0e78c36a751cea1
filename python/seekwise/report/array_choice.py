"""Which array: capacity, failures survived and speed weighed in the order in which an administrator asks for them.

An array that survives no failure is never recommended while the study has one that does. To have it recommended, study it alone.
Among the others the fastest is named (geometric mean over operations and loads of its rate, each relative to the best there), and every array that
is better at something stands beside it with what it gives up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.arrays import ArrayRow, long_text, rows, with_states
from seekwise.report.content import Advice
from seekwise.report.insights.means import listed
from seekwise.report.number_text import natural, three
from seekwise.simulate.arrays import LEVEL
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.study.quantity import time_text

SAFETY_FACTORS = ("raid_level", "drives", "layout")


def candidates(found: Sequence[ArrayRow]) -> list[ArrayRow]:
    """Arrays in order; one with a drive missing, or being rebuilt, is a state of another one."""
    return [row for row in found if not row.is_degraded]


def varies_safety(records: Sequence[Record]) -> bool:
    """Whether arrays of different capacity or safety compete."""
    found = candidates(rows(records))
    competing = {record.setting for record in records if record.valid}
    named = any(len({record.factors.get(name) for record in records}) > 1 for name in SAFETY_FACTORS)
    return len(competing) > 1 and named and len({(r.survives_failures, r.capacity_bytes) for r in found}) > 1


def unsafe_settings(records: Sequence[Record]) -> set[str]:
    """Settings whose arrays survive nothing, while others of the run survive a failure."""
    survives: dict[str, int] = {}
    for record in records:
        if record.valid and "array" in record.load:
            survives[record.setting] = int(record.load["array"]["survives_failures"])  # type: ignore[index, call-overload]
    if max(survives.values(), default=0) == 0:
        return set()
    return {setting for setting, count in survives.items() if count == 0}


def speeds(found: Sequence[ArrayRow]) -> dict[str, float]:
    """{array: rate relative to the best, geometric mean over everything that all of them did}."""
    common = set.intersection(*(set(row.combination_throughputs) for row in found)) if found else set()
    best = {combination: max(row.combination_throughputs[combination] for row in found) for combination in common}
    return {
        row.name: math.exp(
            sum(math.log(row.combination_throughputs[combination] / best[combination]) for combination in common)
            / len(common)
        )
        if common
        else 1.0
        for row in found
    }


def advice(records: Sequence[Record], cautions: tuple[str, ...] = ()) -> Advice | None:
    """The array to build; None where arrays do not compete in capacity or safety."""
    if not varies_safety(records):
        return None
    found = candidates(rows(records))
    unsafe = [row for row in found if row.survives_failures == 0]
    safe = [row for row in found if row.survives_failures > 0] or found
    speed = speeds(found)
    chosen = max(safe, key=lambda row: (speed[row.name], row.capacity_bytes))
    level = [
        row
        for row in safe
        if row is not chosen
        and speed[row.name] >= (1 - LEVEL) * speed[chosen.name]
        and (row.survives_failures, row.capacity_bytes) > (chosen.survives_failures, chosen.capacity_bytes)
    ]
    if level:
        chosen = max(level, key=lambda row: (row.survives_failures, row.capacity_bytes))
    why = (
        "the highest throughput here of those that survive a drive failure"
        if unsafe and len(safe) > 1
        else "the highest throughput of these"
    )
    if unsafe and len(safe) == 1:
        why = "the only one here that survives a drive failure"
    if all(row.survives_failures == 0 for row in found):
        why = "the highest throughput of these, but no array here survives a drive failure"
    headline = f"{chosen.name}: {_safety(chosen)}, {chosen.capacity_text} usable, {why} ({rates_text(chosen)})."
    if equal := [row.name for row in safe if row is not chosen and speed[row.name] >= (1 - LEVEL) * speed[chosen.name]]:
        headline += f" {listed(equal)} {'is' if len(equal) == 1 else 'are'} as fast {WITHIN_MODEL}."
    states = with_states(records)
    chosen = next((row for row in states if row.name == chosen.name), chosen)
    reasons = [exposure(chosen)] if chosen.rebuild_s is not None else []
    reasons += _states(chosen, states)
    reasons += [_compared_with(row, chosen) for row in found if row.name != chosen.name and row.survives_failures > 0]
    reasons += [_refused(row, chosen) for row in unsafe if row.name != chosen.name]
    settings = tuple(sorted({r.setting for r in records if r.valid and _is_of(r, chosen)}, key=natural))
    return Advice(headline, tuple(reasons), caution=cautions, recommended=settings)


def _states(chosen: ArrayRow, found: Sequence[ArrayRow]) -> list[str]:
    """How much slower the chosen array is with a drive failed and while that is rebuilt; how long that takes under load."""
    said = []
    for row in found:
        if row.whole != chosen.name:
            continue
        changes = [
            f"{operations.name(name).lower()} {_less(chosen.rates_mb_s[name] / throughput)}"
            for name, throughput in row.rates_mb_s.items()
            if throughput > 0 and chosen.rates_mb_s.get(name, 0) * (1 - LEVEL) > throughput
        ]
        state = (
            "While it is rebuilt"
            if row.is_rebuilding
            else "With a failed drive"
            if row.survives_failures < chosen.survives_failures
            else row.name
        )
        said.append(f"{state}: {', '.join(changes) or 'as fast'}")
    if len(said) == 2:
        said = [f"{said[0]}. {said[1]}"]
    if said or any(row.is_degraded for row in found):
        return said
    return ["Speed with a failed drive was not simulated; `missing = [0, 1]` under [settings] adds it"]


def _is_of(record: Record, row: ArrayRow) -> bool:
    return any(each.name == row.name for each in rows([record]))


def _safety(row: ArrayRow) -> str:
    return f"survives {row.failures_text}"


def rates_text(row: ArrayRow) -> str:
    """`sequential read 570 MB/s, random write 9.9 MB/s`."""
    return ", ".join(
        f"{operations.name(name).lower()} {three(throughput)} MB/s" for name, throughput in row.rates_mb_s.items()
    )


def _compared_with(row: ArrayRow, chosen: ArrayRow) -> str:
    """What another array offers, and what it costs."""
    parts = [f"{row.name}: {_safety(row)}, {row.capacity_text}"]
    slower, faster = [], []
    for name, throughput in row.rates_mb_s.items():
        other = chosen.rates_mb_s.get(name)
        if not other or not throughput:
            continue
        if throughput < (1 - LEVEL) * other:
            slower.append(f"{operations.name(name).lower()} {_less(other / throughput)}")
        elif throughput > (1 + LEVEL) * other:
            faster.append(f"{operations.name(name).lower()} {_more(throughput / other)}")
    if faster:
        parts.append(", ".join(faster))
    if slower:
        parts.append(", ".join(slower))
    return "; ".join(parts)


def _refused(row: ArrayRow, chosen: ArrayRow) -> str:
    return f"{_compared_with(row, chosen)}. Not recommended: one failed drive loses all data"


def _less(factor: float) -> str:
    return f"{factor:.2g} times slower" if factor >= 2 else f"{100 * (1 - 1 / factor):.0f} % slower"


def _more(factor: float) -> str:
    return f"{factor:.2g} times faster" if factor >= 2 else f"{100 * (factor - 1):.0f} % faster"


def exposure(row: ArrayRow) -> str:
    """How long a rebuild takes and what the array survives meanwhile."""
    left = row.survives_failures - 1
    during = "it survives no further failure" if left <= 0 else f"it still survives {left} more"
    if row.rebuild_s is None:
        return ""
    loaded = (
        f"up to {long_text(row.rebuild_loaded_s)} under this load without a pause"
        if row.rebuild_loaded_s
        else "longer under load"
    )
    return f"Rebuilding one drive takes {time_text(row.rebuild_s)} with no other load, {loaded}; until then {during}"
