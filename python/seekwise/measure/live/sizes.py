"""How much a unit of work does on this storage: as much as keeps somebody waiting for a fraction of a second, so that rounds are many.

Programs whose units are long have a parameter `share`, the part of their usual work that a unit does, with the same kinds of calls. One small unit is
run alone, with nothing in memory, and the share is set by what it took. Beside a background a unit takes two to four times as long (seen on a virtio
disk: starts beside a copy).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from seekwise.measure.live.prepare import PreparedTarget
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.program import Place, Program
from seekwise.workload.study.uses import Job, Use

ALONE_S = 0.12
"""What a unit is to take alone; beside a background that is 0.2 to 0.5 s."""
PROBE_SHARE = 0.25
SHARE_LEAST = 0.1
SHARE_NAME = "share"


def sized(plan: LivePlan, place: PreparedTarget) -> LivePlan:
    """The plan with the share of each long program that its user left open. A program that fails alone keeps its usual size: the run will say why."""
    if place.programs is None or place.own is None:
        return plan
    known: dict[str, float] = {}
    uses = []
    for use in plan.uses:
        jobs = [_sized(job, place, known) for job in use.job]
        uses.append(use if jobs == use.job else use.model_copy(update={"job": jobs}))
    return replace(plan, uses=tuple(uses))


def is_sizable(job: Job) -> bool:
    """Whether its units are long and can do less, and nobody said how much they do."""
    program = job.runs
    has = program is not None and program.long_units and SHARE_NAME in type(program).model_fields
    return has and SHARE_NAME not in job.parameters


def _sized(job: Job, place: PreparedTarget, known: dict[str, float]) -> Job:
    if not is_sizable(job) or any(each.name in place.missing for each in _sets(job)):
        return job
    name = str(job.program)
    if name not in known:
        known[name] = _share(job.runs, place)  # type: ignore[arg-type]
    return job.model_copy(update={"parameters": {**job.parameters, SHARE_NAME: known[name]}})


def _sets(job: Job) -> Sequence[object]:
    from seekwise.workload.data import DATA_SETS

    return [DATA_SETS[name] for name in job.runs.data_sets] if job.runs is not None else []


def _share(program: Program, place: PreparedTarget) -> float:
    assert place.programs is not None and place.own is not None
    own = place.own / f"size.{program.name}"
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    small = program.model_copy(update={SHARE_NAME: PROBE_SHARE})
    worker = Place(place.programs, own, 0, 1, Random(0))
    try:
        small.open(worker)
        small.before(worker)
        began_s = time.monotonic()
        small.work(worker)
        took_s = time.monotonic() - began_s
    except (OSError, RuntimeError):
        return 1.0
    return round(min(1.0, max(SHARE_LEAST, PROBE_SHARE * ALONE_S / max(took_s, 1e-3))), 2)


def described(uses: Sequence[Use]) -> dict[str, float]:
    """{program: share of its usual work} of those that were sized, for the record."""
    return {
        str(job.program): float(job.parameters[SHARE_NAME])
        for use in uses
        for job in use.job
        if job.program is not None and SHARE_NAME in job.parameters
    }
