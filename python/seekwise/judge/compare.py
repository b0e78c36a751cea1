"""Two runs of the same work on the same storage: whether they compare, and what else differs between them.

        base ──┐   same device, same load,                  a combination × setting of the base against the same of the new run,
        new  ──┴─  same combinations and settings    →     judged by the one rule (`decision/runs.py`)

Repetitions of two runs shared no hour and no temperature, so a difference is shown to exist, not what made it: only
settings that met in one repetition are compared fairly. The report says so. What does not compare is refused with every
reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seekwise.judge.decision.table import UseFigure
from seekwise.judge.decision.verdicts import Judged
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study.quantity import counted


@dataclass(frozen=True)
class ComparedRun:
    """One run, as far as comparing needs it."""

    run_id: str
    records: Sequence[Record]
    loads: Mapping[str, Mapping[str, Any]]
    """By combination: everything that defines the work, as plain data."""
    devices: tuple[str, ...]
    """What the work ran on, most specific name first known: model and serial, or drive model; empty when not known."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What may differ, but is said: kernel, fio, filesystem …"""
    figures: Sequence[UseFigure] = ()
    """What it measured, by use or combination and metric."""
    judged: Sequence[Judged] = ()
    """Of a run of `tune`, its uses."""
    model: tuple[str, ...] = ()
    """Of a simulated run of `tune`, what was simulated."""
    provenance: str = "measured"

    @property
    def compared(self) -> list[Record]:
        """Records that compete: no drift check, no second label of the A/A check."""
        return [r for r in self.records if r.role != "sentinel" and not r.setting.endswith(CONTROL_SUFFIX)]


def reasons_against(base: ComparedRun, new: ComparedRun) -> list[str]:
    """Why two runs do not compare; empty if they do."""
    reasons = []
    for side in (base, new):
        if not any(record.valid for record in side.compared):
            reasons.append(f"run {side.run_id} has no valid trial")
        if not side.devices:
            reasons.append(f"run {side.run_id} does not say which device it ran on")
    if base.devices and new.devices and base.devices != new.devices:
        reasons.append(f"different devices: {', '.join(base.devices)} against {', '.join(new.devices)}")
    shared = base.loads.keys() & new.loads.keys()
    if not shared:
        reasons.append("the runs have no combination of workload and configuration in common")
    for combination in sorted(shared):
        a, b = base.loads[combination], new.loads[combination]
        for name in sorted(a.keys() | b.keys()):
            if a.get(name) != b.get(name):
                reasons.append(f"different load in {combination}: {name} {a.get(name)} against {b.get(name)}")
    if shared and not {r.setting for r in base.compared} & {r.setting for r in new.compared}:
        reasons.append("no setting in common")
    return reasons


def notes(base: ComparedRun, new: ComparedRun) -> list[str]:
    """Differences that do not forbid comparing but must be said."""
    said = []
    for name in sorted(base.facts.keys() | new.facts.keys()):
        if base.facts.get(name) != new.facts.get(name):
            said.append(f"{name}: {base.facts.get(name, 'unknown')} against {new.facts.get(name, 'unknown')}")
    for side, other in ((base, new), (new, base)):
        lone = sorted(side.loads.keys() - other.loads.keys())
        if lone:
            said.append(
                f"only in run {side.run_id}: {counted(len(lone), 'combination')} ({', '.join(lone[:3])}{' …' if len(lone) > 3 else ''})"
            )
    return said
