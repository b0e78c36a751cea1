"""A controller beside md on the same drives and level: hardware RAID, or fake."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.raid_kind import MatchedOperation, RaidKind, raid_kind
from seekwise.number_text import listed
from seekwise.report.insights.finding import Finding
from seekwise.report.insights.means import Means, span
from seekwise.workload.study.study import System

WORDS = {
    "hardware": "does its own work, as hardware RAID does",
    "fake": "leaves the work to the host, as fake RAID does",
    "unknown": "could be hardware or fake RAID",
}


def find(means: Means, systems: Sequence[System]) -> list[Finding]:
    """A sentence for each controller: pairs that agree on its kind are one."""
    names = set(means.axis(0))
    present = [system for system in systems if system.name in names]
    known: dict[tuple[str, str], list[tuple[str, str, RaidKind]]] = {}
    for unit in present:
        for array in present:
            if unit.controller is None or array.controller is not None or not _same_drives(unit, array):
                continue
            kind = raid_kind(_pairs(means, unit.name, array.name))
            if kind is not None:
                known.setdefault((unit.controller, kind.kind), []).append((unit.name, array.name, kind))
    findings = []
    for (controller, what), pairs in known.items():
        compared = listed(f"{unit} against {array}" for unit, array, _ in pairs)
        efficiency = span((kind.efficiency for _, _, kind in pairs), "times")
        throughput = span((kind.rate for _, _, kind in pairs), "times")
        text = f"Controller {controller} {WORDS[what]}: {efficiency} the data of md per system-CPU second at {throughput} its rate in writing ({compared})"
        numbers = {"controller": controller, "kind": what, "pairs": [(unit, array) for unit, array, _ in pairs]}
        strength = max(abs(math.log(kind.efficiency)) for _, _, kind in pairs)
        findings.append(
            Finding("controller", text, {**numbers, "efficiency": [k.efficiency for _, _, k in pairs]}, strength)
        )
    return findings


def _same_drives(unit: System, array: System) -> bool:
    ncq = [system.options.get("ncq", "on") for system in (unit, array)]
    same = [(system.drive, system.drives, system.raid_level) for system in (unit, array)]
    return same[0] == same[1] and unit.raid_level is not None and ncq[0] == ncq[1]


def _pairs(means: Means, unit: str, array: str) -> list[MatchedOperation]:
    efficiencies, throughputs = means.values["cpu_efficiency"], means.values["rate"]
    pairs = []
    for place, value in efficiencies.items():
        other = (array, *place[1:])
        if place[0] == unit and efficiencies.get(other) and throughputs.get(other) and place in throughputs:
            pairs.append(
                MatchedOperation(place[2], value / efficiencies[other], throughputs[place] / throughputs[other])
            )
    return pairs
