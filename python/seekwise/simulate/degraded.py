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
from seekwise.errors import UsageError
from seekwise.simulate import trial_spec, use_programs, use_trials
from seekwise.simulate.arrays import FACTORS, UNPROTECTED
from seekwise.simulate.spec import Answer, Spec
from seekwise.store.record import Record
from seekwise.workload.study import uses as use_files
from seekwise.workload.study.plan import Plan

STATES: dict[str, dict[str, object]] = {"failed": {"missing": [0]}, "rebuilding": {"missing": [0], "resync": {}}}
REPEATS_MOST = 3
BESIDE = "database"
"""The use beside which a rebuild is foretold."""
RUNTIME_LEAST_NS = 4_000_000_000
"""md sets the speed of a rebuild by what it did in the last seconds: a shorter trial shows its beginning only."""
IOS_MOST = 300_000
"""I/Os that are simulated of one array, load and state: some tenths of a second."""


FEW_S = 0.1
"""Of loads with fewer I/Os several repetitions are simulated."""


@dataclass(frozen=True)
class StateResult:
    """One load on an array in one state."""

    array: dict[str, object]
    """As in a record's load."""
    rate_bytes_per_s: float


def takes_s(plan: Plan, trial_s: Sequence[float]) -> float:
    """Seconds of all arrays of a plan in all states, each under the load of most requests at once; `trial_s`: of a
    trial, by combination."""
    arrays = {
        tuple(value for name, value in setting.values.items() if name in FACTORS)
        for setting in plan.settings
        if "raid_level" in setting.values and setting.values["raid_level"] not in UNPROTECTED
    }
    if any(setting.values.keys() & {"missing", "bitmap", "sync_speed_max"} for setting in plan.settings):
        return 0.0
    most: dict[tuple[str, str], tuple[int, float]] = {}
    for combination, seconds in zip(plan.combinations, trial_s, strict=True):
        load, place = combination.load, (combination.system, combination.load.name)
        most[place] = max(most.get(place, (0, 0.0)), (load.threads * load.iodepth, seconds))
    repeats = min(plan.repetitions, REPEATS_MOST)
    return len(arrays) * len(STATES) * sum(max(s, min(repeats * s, FEW_S)) for _, s in most.values())


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
    answers: list[Answer] = json.loads(_core.simulate_cells(json.dumps([spec for _, spec in asked]), 2))
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
        results.append((name, StateResult(mine[0]["array"], sum(throughputs) / len(throughputs))))
    return tuple(results)


def rebuild_kib_s(record: Record) -> float | None:
    """Speed of a rebuild beside `BESIDE` at md's own limits, as a study of rebuilds simulates it."""
    spec = record.load["spec"]
    of_array = json.dumps({name: spec[name] for name in ("device", "queue", "host")}, sort_keys=True)
    return _rebuild_kib_s(of_array, int(record.load["array"]["capacity_bytes"]), record.seed)


@lru_cache(maxsize=64)
def _rebuild_kib_s(of_array: str, capacity_bytes: int, seed: int) -> float | None:
    use = use_files.one(BESIDE)
    spec = {"name": BESIDE, "seed": seed, **json.loads(of_array)}
    probe = trial_spec.describe({**spec, "phases": [trial_spec.probe_phase()]})
    try:
        phase = use_programs.phase(
            use, capacity_bytes, bool(probe["settings"]["rotational"]), seed, use_trials.USE_SHARE
        )
    except UsageError:
        return None  # the programs need more room
    # Of the programs' own, whatever the study gave its loads.
    spec |= {
        "phases": [phase],
        "cache": {"limit_bytes": use_programs.MEMORY_BYTES},
        "host": {**spec["host"], "processors": use_programs.processors(use)},
    }
    (answer,) = use_programs.simulated([_in_state(spec, STATES["rebuilding"])], 1)
    speeds = [phase["resync"]["kib_per_s"] for phase in answer.get("phases", ()) if "resync" in phase]
    return float(speeds[0]) if speeds else None


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
