"""Two workloads that do the same with another program: what one measures of what the other does.

Where they do, all other insights rest on the first of them: a mean over two programs is the measurement of neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from seekwise.grouping import grouped
from seekwise.judge.repeats import Place
from seekwise.report.insights.finding import Finding
from seekwise.report.insights.means import NAMES, Means, span
from seekwise.store.record import Record
from seekwise.workload.study.quantity import size_word


def parted(records: Sequence[Record]) -> dict[str, list[Record]]:
    """{workload: its records} by name: trials stand in an order of chance."""
    parts = grouped((str(record.factors.get("load", "")), record) for record in records)
    return dict(sorted(parts.items()))


def of_one(records: Sequence[Record]) -> list[Record]:
    """Without the workloads that do what an earlier one does already."""
    kept: list[Record] = []
    done: set[Place] = set()
    for own in parted(records).values():
        places = set(Means.from_records(own).values["rate"])
        if not places & done:
            kept += own
            done |= places
    return kept


def find(records: Sequence[Record]) -> list[Finding]:
    """Workloads of one study that do the same, compared by rate."""
    findings = []
    means = {name: Means.from_records(own) for name, own in parted(records).items()}
    for (first, one), (second, other) in combinations(means.items(), 2):
        shared = one.values["rate"].keys() & other.values["rate"].keys()
        if shared:
            findings.append(_pair(first, one, second, other, sorted(shared)))
    return findings


def _pair(first: str, one: Means, second: str, other: Means, shared: Sequence[Place]) -> Finding:
    """`gnome-disks reaches 0.28 to 0.31 times the rate of fio in sequential writing at 1m; …`."""
    level = max(one.level, other.level)
    ratios: dict[str, dict[int, list[float]]] = {}
    for place in shared:
        base = one.values["rate"][place]
        if base > 0:
            ratios.setdefault(place[2], {}).setdefault(place[4], []).append(other.values["rate"][place] / base)
    said, alike, strength = [], [], 0.0
    for operation, by_size in ratios.items():
        for size, values in sorted(by_size.items()):
            where = f"{NAMES[operation]} at {size_word(size)}"
            if all(1 - min(ratio, 1 / ratio) <= level for ratio in values if ratio > 0):
                alike.append(where)
                continue
            furthest = max(abs(math.log(ratio)) for ratio in values if ratio > 0)
            strength = max(strength, furthest)
            said.append((furthest, f"{span(values, 'times the rate')} in {where}"))
    parts = [text for _, text in sorted(said, key=lambda each: -each[0])]
    parts += [f"within {100 * level:.0f} % in {', '.join(alike)}"] if alike else []
    numbers = {"first": first, "second": second, "ratios": ratios}
    return Finding("loads", f"{second} against {first}: {'; '.join(parts)}", numbers, strength)
