"""What a simulated array delivers with a drive failed, and while its replacement is being rebuilt: the same trial, the
array in another state.

A study of arrays need not vary `missing` for this. md alone; of a controller's unit the states are not modelled.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from seekwise import _core
from seekwise.simulate import arrays
from seekwise.simulate.spec import Answer, Spec
from seekwise.store.record import Record

STATES: dict[str, dict[str, object]] = {"failed": {"missing": [0]}, "rebuilding": {"missing": [0], "resync": {}}}
REPEATS_MOST = 3
IDLE_NS = 4_000_000_000
RUNTIME_LEAST_NS = 4_000_000_000
"""md sets the speed of a rebuild by what it did in the last seconds: a shorter trial shows its beginning only."""
IOS_MOST = 300_000
"""I/Os that are simulated of one array, load and state: some tenths of a second."""


@dataclass(frozen=True)
class StateResult:
    """One load on an array in one state."""

    array: dict[str, object]
    """As in a record's load."""
    rate_bytes_per_s: float
    slowdown: float | None
    """How many times longer the rebuild takes than with next to no load, at the same place of the drives."""


def can(record: Record) -> bool:
    """Whether the trial ran on a simulated md array at rest that survives a failure."""
    spec, array = record.load.get("spec"), record.load.get("array")
    return (
        record.provenance == "simulated"
        and isinstance(spec, dict)
        and isinstance(array, dict)
        and bool(spec.get("device", {}).get("array"))
        and not array.get("missing")
        and array.get("state") not in ("resync", "rebuild")
        and int(array["survives_failures"]) > 0
    )


def results(records: Sequence[Record], operation: str) -> dict[str, StateResult]:
    """By state, the mean over these repeats of one load; empty where the array cannot be simulated."""
    # How often the recorded I/Os fit into what may be simulated, and how long a phase may be for that.
    ios = max((phase.ios for phase in records[0].phases), default=0) or 1
    fastest = max((phase.iops for phase in records[0].phases), default=0.0) or 1.0
    runtime_ns = min(RUNTIME_LEAST_NS, int(1e9 * IOS_MOST / REPEATS_MOST / fastest))
    kept = records[: max(1, min(REPEATS_MOST, IOS_MOST // ios))]
    texts = tuple(json.dumps(record.load["spec"], sort_keys=True) for record in kept)
    return dict(_results(texts, operation, runtime_ns))


@lru_cache(maxsize=512)
def _results(specs: tuple[str, ...], operation: str, runtime_ns: int) -> tuple[tuple[str, StateResult], ...]:
    whole = [_longer(json.loads(text), operation, runtime_ns) for text in specs]
    asked = [(name, _in_state(spec, change)) for name, change in STATES.items() for spec in whole]
    answers = _core_answers([spec for _, spec in asked])
    idle = _speed(_core_answers([_in_state(_idle(whole[0]), STATES["rebuilding"])]), None)
    results = []
    for name in STATES:
        mine = [answer for (state, _), answer in zip(asked, answers, strict=True) if state == name]
        phases = [
            p for answer in mine if "error" not in answer for p in answer["phases"] if p["operation"] == operation
        ]
        phases = [phase for phase in phases if phase["elapsed_ns"] > 0]
        if not phases:
            continue
        throughputs = [phase["bytes"] * 1e9 / phase["elapsed_ns"] for phase in phases]
        loaded = _speed(mine, operation)
        slowdown = max(idle / max(loaded, arrays.MIN_KIB_S), 1.0) if idle and loaded else None
        results.append((name, StateResult(mine[0]["array"], sum(throughputs) / len(throughputs), slowdown)))
    return tuple(results)


def _core_answers(specs: list[Spec]) -> list[Answer]:
    answers: list[Answer] = json.loads(_core.simulate_cells(json.dumps(specs), 2))
    return answers


def _speed(answers: Sequence[Answer], operation: str | None) -> float | None:
    """Mean speed of a rebuild [KiB/s] beside this operation, or any."""
    speeds = [
        phase["resync"]["kib_per_s"]
        for answer in answers
        for phase in answer.get("phases", ())
        if "resync" in phase and operation in (None, phase["operation"])
    ]
    return sum(speeds) / len(speeds) if speeds else None


def _idle(spec: Spec) -> Spec:
    """The same array with one small read in a second."""
    job = {"pattern": "random", "block_bytes": 4096, "rate_iops": 1.0}
    return {**spec, "phases": [{"operation": "idle", "runtime_ns": IDLE_NS, "jobs": [job]}], "cache": None}


def _longer(spec: Spec, operation: str, runtime_ns: int) -> Spec:
    """That operation alone, at least so long if it ends by time."""
    phases = [phase for phase in spec["phases"] if phase["operation"] == operation]
    for phase in phases:
        if phase.get("runtime_ns"):
            phase["runtime_ns"] = max(phase["runtime_ns"], runtime_ns)
    return {**spec, "phases": phases}


def _in_state(spec: Spec, change: dict[str, object]) -> Spec:
    changed = copy.deepcopy(spec)
    changed["device"]["array"] |= change
    return changed
