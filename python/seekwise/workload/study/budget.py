"""Fits a plan to a time: how many repetitions, and, where three do not fit, which combinations give way.

In this order, each step only if the one before does not suffice:
  1. fewer repetitions, down to three (below three nothing can be judged)
  2. shorter trials, down to half a second a phase
  3. fewer thread counts, request sizes and depths: the ends stay longest
  4. no drift check
What was done is said in the plan's notes. If even that does not fit, the budget is refused: it is a promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from seekwise.errors import UsageError
from seekwise.workload.study.plan import Plan
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.quantity import size_word, time_text
from seekwise.workload.study.study import Study, Workload

REPETITIONS_LEAST = 3
RUNTIME_LEAST_S = 0.5
RUNTIME_STEP_S = 0.1
WHOLE_MINUTES_FROM_S = 300.0


@dataclass(frozen=True)
class Smaller:
    """A study after one step, and what a note says of it; a later step of the same kind takes the note's place."""

    study: Study
    what: str
    text: str


def fit(study: Study, budget_s: float, make: Callable[[Study, int], Plan]) -> Plan:
    """The largest plan of the study that fits; `make(study, repetitions)` plans it. UsageError if none does."""
    study = study.model_copy(update={"workload": [resolve(load) for load in study.workload]})
    said: dict[str, str] = {}
    for step in (None, _shorter, _fewer_combinations, _without_sentinel):
        while True:
            if step is not None:
                changed = step(study)
                if changed is None:
                    break
                study = changed.study
                said.pop(changed.what, None)
                said[changed.what] = changed.text
            plan = make(study, REPETITIONS_LEAST)
            if plan.estimated_s <= budget_s:
                return _with_notes(_more_repetitions(study, plan, budget_s, make), list(said.values()))
            if step is None:
                break
    plan = make(study, REPETITIONS_LEAST)
    raise UsageError(
        f"{time_text(budget_s)} is too short for {study.name}: three repetitions of its smallest form need "
        f"{time_text(plan.estimated_s)}",
        hint=f"the least that works is `--budget {_least(plan.estimated_s)}`",
    )


def _least(seconds: float) -> str:
    return f"{math.ceil(seconds)}s" if seconds < WHOLE_MINUTES_FROM_S else f"{math.ceil(seconds / 60)}m"


def _with_notes(plan: Plan, said: list[str]) -> Plan:
    return replace(plan, notes=(*plan.notes, *said))


def _more_repetitions(study: Study, plan: Plan, budget_s: float, make: Callable[[Study, int], Plan]) -> Plan:
    """As many repetitions as fit, but not more than the study asks for."""
    per_repetition = (plan.estimated_s - plan.prepare_s) / plan.repetitions
    affordable = int((budget_s - plan.prepare_s) / per_repetition) if per_repetition > 0 else study.design.blocks
    repetitions = max(REPETITIONS_LEAST, min(study.design.blocks, affordable))
    if repetitions == plan.repetitions:
        return plan
    return make(study, repetitions)


def _shorter(study: Study) -> Smaller | None:
    """Every bounded phase one step shorter."""
    longest = max((load.runtime or 0.0 for load in study.workload), default=0.0)
    if longest <= RUNTIME_LEAST_S:
        return None
    runtime = round(max(RUNTIME_LEAST_S, longest - max(RUNTIME_STEP_S, longest * 0.1)), 3)
    workloads = [
        load.model_copy(update={"runtime": min(load.runtime, runtime)}) if load.runtime else load
        for load in study.workload
    ]
    shorter = study.model_copy(update={"workload": workloads})
    return Smaller(shorter, "runtime", f"shorter trials: {time_text(runtime)} a phase")


def _fewer_combinations(study: Study) -> Smaller | None:
    """One value less of the factor that has most values; inner values go before the ends, the first end last."""
    best: tuple[int, int, str] | None = None
    for index, workload in enumerate(study.workload):
        for name in ("threads", "block_bytes", "iodepth"):
            count = len(getattr(workload, name))
            if count > 1 and (best is None or count > best[0]):
                best = (count, index, name)
    if best is None:
        return None
    _, index, name = best
    values = list(getattr(study.workload[index], name))
    values.pop(len(values) // 2 if len(values) > 2 else 0)
    workloads: list[Workload] = list(study.workload)
    workloads[index] = workloads[index].model_copy(update={name: values})
    shown = ", ".join(size_word(value) if name == "block_bytes" else str(value) for value in values)
    fewer = study.model_copy(update={"workload": workloads})
    return Smaller(fewer, name, f"fewer combinations, {name.replace('_', ' ')}: {shown}")


def _without_sentinel(study: Study) -> Smaller | None:
    if not study.design.sentinel:
        return None
    design = study.design.model_copy(update={"sentinel": False})
    return Smaller(study.model_copy(update={"design": design}), "sentinel", "no drift check")
