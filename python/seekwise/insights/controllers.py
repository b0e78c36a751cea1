"""A controller beside md on the same drives and level: hardware RAID, or fake."""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.analysis.raid_kind import Pair, raid_kind
from seekwise.insights.means import Means
from seekwise.insights.model import Finding
from seekwise.study.model import System


def find(means: Means, systems: Sequence[System]) -> list[Finding]:
    names = set(means.axis(0))
    present = [system for system in systems if system.name in names]
    found = []
    for unit in present:
        for array in present:
            if unit.controller is None or array.controller is not None or not _same_drives(unit, array):
                continue
            kind = raid_kind(_pairs(means, unit.name, array.name))
            if kind is not None:
                text = f"controller {unit.controller} ({unit.name}) beside md ({array.name}) {kind.sentence}"
                numbers = {"first": unit.name, "second": array.name, "kind": kind.kind, "efficiency": kind.efficiency}
                found.append(Finding("controller", text, numbers))
    return found


def _same_drives(unit: System, array: System) -> bool:
    ncq = [system.options.get("ncq", "on") for system in (unit, array)]
    same = [(system.drive, system.drives, system.raid_level) for system in (unit, array)]
    return same[0] == same[1] and unit.raid_level is not None and ncq[0] == ncq[1]


def _pairs(means: Means, unit: str, array: str) -> list[Pair]:
    efficiencies, rates = means.values["cpu_efficiency"], means.values["rate"]
    pairs = []
    for place, value in efficiencies.items():
        other = (array, *place[1:])
        if place[0] == unit and efficiencies.get(other) and rates.get(other) and place in rates:
            pairs.append(Pair(place[2], value / efficiencies[other], rates[place] / rates[other]))
    return pairs
