"""A sweep as a stored run: what the settings that stand for each array did with every seed, and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from seekwise import _core
from seekwise.release import release
from seekwise.simulate.design.search import SEEDS, Sweep, equals
from seekwise.simulate.design.space import Point
from seekwise.simulate.design.trial import LoadFigures
from seekwise.store.database import Run, now
from seekwise.store.record import Record
from seekwise.workload.study.plan import Combination, Load, Plan, PlannedPhase, Setting, SystemFacts, Trial, trial_seed

DESIGN = "design"
"""Name of the run, and the key of what was asked within a record's load."""
SYSTEM = "array"


@dataclass(frozen=True)
class Asked:
    """What was asked of a sweep, and how much of it was simulated."""

    drive: str
    title: str
    kernel: str
    uses: tuple[str, ...]
    data_bytes: int
    """How much of the array random requests reached."""
    seed: int
    combinations: int
    trials: int
    wanted_mb_s: float | None


@dataclass(frozen=True)
class Finalist:
    """The point that stands for an array."""

    point: Point
    equals: dict[str, list[str | int]]
    """{setting: values that do as well}."""
    figures: tuple[tuple[LoadFigures, ...], ...]
    """By seed, then by load."""


def asked_of(sweep: Sweep, wanted_mb_s: float | None) -> Asked:
    """Of a sweep that was carried out."""
    model, uses = sweep.model, tuple(use.name for use in sweep.uses)
    return Asked(
        model.name, model.title, model.kernel, uses, sweep.data_bytes, sweep.seed, len({point for point, _ in sweep.found}), len(sweep.found), wanted_mb_s
    )  # fmt: skip


def finalists(sweep: Sweep, points: Sequence[Point]) -> list[Finalist]:
    """Of a sweep that was carried out."""
    return [
        Finalist(point, equals(sweep, point), tuple(sweep.found[point, number] for number in range(SEEDS)))
        for point in points
    ]


def run_of(asked: Asked, finalists: Sequence[Finalist], names: Sequence[str]) -> tuple[Run, list[Record]]:
    """The run and its records. `names`: what each finalist is called."""
    run = Run.begun(DESIGN, "simulated", {}, seed=asked.seed, target=asked.title)
    combinations = tuple(
        Combination(f"use={use}", SYSTEM, Load(use, phases=(PlannedPhase("mixed"),))) for use in asked.uses
    )
    settings = tuple(Setting(name, finalist.point.values) for name, finalist in zip(names, finalists, strict=True))
    records: list[Record] = []
    trials: list[Trial] = []
    for number in range(SEEDS):
        for place, finalist in enumerate(finalists):
            facts = {"asked": asdict(asked), "point": asdict(finalist.point), "equals": finalist.equals}
            for use, figures in enumerate(finalist.figures[number]):
                trial = Trial(len(trials), number + 1, use, place, "candidate", trial_seed(asked.seed, number))
                trials.append(trial)
                records.append(
                    Record(
                        run_id=run.run_id, trial=trial.index, repetition=number + 1, combination=combinations[use].key,
                        setting=settings[place].label, factors=combinations[use].factors(settings[place]),
                        provenance="simulated", seed=trial.seed, started_at=now(), phases=(figures.phase,), settings_seen={},
                        environment={
                            "model": release(), "model_version": _core.model_version(), "device_model": asked.drive,
                            "kernel": asked.kernel,
                        },
                        load={DESIGN: facts}, conditions={"role": "candidate"},
                    )
                )  # fmt: skip
    system = SystemFacts(SYSTEM, f"{asked.title} (simulated)", stack=(f"{asked.title}, simulated",))
    plan = Plan.of_records(DESIGN, "simulated", asked.seed, system, combinations, settings, tuple(trials), ())
    return replace(run, plan=plan.to_document()), records


@cache
def _stored(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def of_records(records: Sequence[Record]) -> tuple[Asked, list[Finalist]] | None:
    """What `run_of` kept; None for records of any other run. ValueError where something of it is garbled."""
    own = [record for record in records if DESIGN in record.load and record.phases]
    if not own:
        return None
    facts: dict[str, Any] = {}
    figures: dict[str, dict[int, dict[str, LoadFigures]]] = {}
    for record in own:
        facts.setdefault(record.setting, record.load[DESIGN])
        by_use = figures.setdefault(record.setting, {}).setdefault(record.repetition, {})
        by_use[record.combination.removeprefix("use=")] = LoadFigures(record.phases[0])
    asked = _stored(Asked).validate_python(next(iter(facts.values()))["asked"])
    finalists = [
        Finalist(
            _stored(Point).validate_python(facts[name]["point"]),
            facts[name]["equals"],
            tuple(
                tuple(by_use[use] for use in asked.uses) for by_use in seeds.values() if len(by_use) == len(asked.uses)
            ),
        )
        for name, seeds in figures.items()
    ]
    return asked, [finalist for finalist in finalists if finalist.figures]
