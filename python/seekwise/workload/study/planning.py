"""Makes the plan of a study on the systems that a backend found.

Combinations and settings first, then the order of the trials, then what each takes and touches (plan.py has what comes out).
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from seekwise.errors import UsageError
from seekwise.workload.study import factors, profiles
from seekwise.workload.study.estimate import estimated
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import (
    Combination,
    Load,
    Plan,
    PlannedPhase,
    Role,
    Setting,
    SystemFacts,
    Touch,
    Trial,
    trial_seed,
)
from seekwise.workload.study.quantity import size_word
from seekwise.workload.study.study import BackgroundLoad, Study, Workload

OR_A_JOB = "add `--backend simulated`, or write the jobs{} into one fio job file (`job`)"
SIMULATED_ALONE: tuple[tuple[str, Callable[[Load], object], str], ...] = (
    ("workload.beside", lambda load: load.beside, OR_A_JOB.format("")),
    ("start_stagger", lambda load: load.start_stagger_s, OR_A_JOB.format(" with their `startdelay`")),
    ("reach", lambda load: load.reach, "add `--backend simulated`, or name the `size` of each thread's file"),
    ("workload.use", lambda load: load.use, "`seekwise tune PATH --for USE` measures a use on a machine"),
)
"""What only a model does: the key of a study, its value, and what to do instead."""


def make(
    study: Study, systems: tuple[SystemFacts, ...], *, seed: int | None = None, repetitions: int | None = None
) -> Plan:
    """The plan of a study on systems as a backend found them."""
    seed = study.design.seed if seed is None else seed
    repetitions = study.design.blocks if repetitions is None else repetitions
    compare, settings, fixed, notes = _settings(study, systems)
    reference = _reference(study, settings, systems)
    if study.design.control:
        settings = (*settings, _control(settings, reference))
    combinations = tuple(
        _combination(system, load, values, many=len(study.system) > 1 or len(study.workload) > 1, study=study)
        for system in systems
        for workload in study.workload
        for load in _loads(profiles.resolve(workload))
        for values in fixed
    )
    for name, value, hint in SIMULATED_ALONE if study.backend != "simulated" else ():
        if any(value(combination.load) for combination in combinations):
            raise UsageError(
                f"study {study.name}: `{name}` works with the simulated backend, not with `{study.backend}`", hint=hint
            )
    double = next(
        (key for key, count in Counter(combination.key for combination in combinations).items() if count > 1), None
    )
    if double is not None:
        raise UsageError(
            f"study {study.name}: two combinations are the same: `{double}`", hint="give the workloads names"
        )
    order = _order(
        combinations, settings, reference, repetitions=repetitions, seed=seed, sentinel=study.design.sentinel
    )
    plan = Plan(
        study=study.name,
        backend=study.backend,
        seed=seed,
        repetitions=repetitions,
        compare=compare,
        reference=reference,
        combinations=combinations,
        settings=settings,
        trials=order,
        systems=systems,
        touched=_touched(settings, combinations, systems),
        wait_s=study.design.wait,
        settle_s=study.design.settle,
        trim=study.design.trim,
        attempts=study.design.attempts,
        prepare_s=0.0,
        trial_s=(),
        bytes_per_trial=(),
        bytes_prepared=0,
        notes=notes,
    )
    return estimated(plan)


def _settings(
    study: Study, systems: tuple[SystemFacts, ...]
) -> tuple[tuple[str, ...], tuple[Setting, ...], tuple[dict[str, Value], ...], tuple[str, ...]]:
    """What competes, and the values of the other factors, which are part of the combination."""
    notes: list[str] = []
    names = study.factor_names()
    compare = tuple(study.design.compare) or tuple(names)
    if study.candidate:
        settings = tuple(
            Setting(factors.label(values, values), factors.ordered(dict(values))) for values in study.candidate
        )
        return compare, settings, ({},), ()
    table = {name: list(values) for name, values in study.settings.items()}
    if "offered" in table.get("scheduler", []):
        offered, said = _offered(systems)
        notes += said
        table["scheduler"] = [*offered]
        if not offered:
            del table["scheduler"]
    compare = tuple(name for name in compare if name in table)
    outer = [name for name in table if name not in compare]
    combined = [
        dict(zip(compare, values, strict=True)) for values in itertools.product(*(table[name] for name in compare))
    ]
    labelled = [name for name in compare if len(table[name]) > 1] or list(compare)
    settings = tuple(Setting(factors.label(values, labelled), factors.ordered(values)) for values in combined)
    if not compare:
        settings = (Setting(systems[0].scheduler or "as found", {}),)
    fixed = tuple(dict(zip(outer, values, strict=True)) for values in itertools.product(*(table[n] for n in outer)))
    return compare, settings, fixed, tuple(notes)


def _offered(systems: tuple[SystemFacts, ...]) -> tuple[list[str], list[str]]:
    """Schedulers that every leaf of every system offers, if they may be set at all."""
    blocked = next((facts for facts in systems if not facts.may_change), None)
    if blocked is not None:
        return [], [blocked.why_not]
    shared = [name for name in systems[0].offered if all(name in facts.offered for facts in systems)]
    return shared, [] if shared else ["no scheduler can be chosen here: the devices have no queue of their own"]


def _reference(study: Study, settings: tuple[Setting, ...], systems: tuple[SystemFacts, ...]) -> str:
    labels = [setting.label for setting in settings]
    if study.design.reference is not None:
        if study.design.reference not in labels:
            raise UsageError(
                f"study {study.name}: `design.reference` is {study.design.reference!r}, but must be one of "
                + ", ".join(f'"{label}"' for label in labels)
            )
        return study.design.reference
    in_force = systems[0].scheduler
    same = [setting.label for setting in settings if setting.values.get("scheduler") == in_force]
    return same[0] if same else labels[0]


def _control(settings: tuple[Setting, ...], reference: str) -> Setting:
    twin = next(setting for setting in settings if setting.label == reference)
    return Setting(f"{twin.label} (control)", twin.values, control=True)


def _background_load(other: BackgroundLoad, workload: Workload) -> Load:
    return Load(
        name=other.name,
        phases=(PlannedPhase(other.operation, workload.runtime, None),),
        threads=other.threads,
        block_bytes=other.block_bytes,
        iodepth=other.iodepth,
        direct=other.direct,
        size_bytes=other.size,
        rate_limit_bytes=other.rate_limit,
        arrivals=other.arrivals,
        start_delay_s=other.start_delay,
        start_stagger_s=other.start_stagger,
        think_s=other.think_time,
        io_class=other.io_class,
        io_priority=other.io_priority,
    )


def _loads(workload: Workload) -> list[Load]:
    """One load per combination of threads, request size and depth."""
    common = Load(
        name=workload.name or workload.use or (workload.job.stem if workload.job else "load"),
        program=workload.program,
        direct=workload.direct,
        sync=workload.sync,
        end_fsync=workload.end_fsync,
        size_bytes=workload.size,
        reach=workload.reach,
        rate_limit_bytes=workload.rate_limit,
        arrivals=workload.arrivals,
        start_stagger_s=workload.start_stagger,
        think_s=workload.think_time,
        io_class=workload.io_class,
        io_priority=workload.io_priority,
        beside=tuple(_background_load(other, workload) for other in workload.beside),
    )
    memories = tuple(workload.memory_limit) or (None,)
    if workload.job is not None:
        return [replace(common, job=str(workload.job), memory_limit_bytes=memories[0])]
    if workload.use is not None:
        return [replace(common, use=workload.use, phases=(PlannedPhase("mixed", workload.runtime),))]
    phases = tuple(
        PlannedPhase(
            name, workload.runtime, workload.random_ios if name.startswith("rand") and not workload.runtime else None
        )
        for name in workload.operations
    )
    return [
        replace(
            common,
            phases=phases,
            threads=threads,
            block_bytes=block_bytes,
            iodepth=iodepth,
            engine=workload.engine or ("psync" if iodepth == 1 else "libaio"),
            memory_limit_bytes=memory,
        )
        for memory in memories
        for threads in workload.threads
        for block_bytes in workload.block_bytes
        for iodepth in workload.iodepth
    ]


def _combination(system: SystemFacts, load: Load, fixed: dict[str, Value], *, many: bool, study: Study) -> Combination:
    parts = [f"system={system.name}"]
    if load.job is not None:
        parts.append(f"job={load.name}")
    else:
        if len(study.workload) > 1:
            parts.append(f"load={load.name}")
        parts.append(f"threads={load.threads}")
        if len({size for workload in study.workload for size in profiles.resolve(workload).block_bytes}) > 1:
            parts.append(f"block={size_word(load.block_bytes)}")
        if load.iodepth > 1 or any(len(workload.iodepth) > 1 for workload in study.workload):
            parts.append(f"iodepth={load.iodepth}")
        if load.memory_limit_bytes and any(len(workload.memory_limit) > 1 for workload in study.workload):
            parts.append(f"memory={size_word(load.memory_limit_bytes)}")
    parts += [f"{name}={value}" for name, value in fixed.items()]
    return Combination(" ".join(parts), system.name, load, dict(fixed))


def _order(
    combinations: tuple[Combination, ...],
    settings: tuple[Setting, ...],
    reference: str,
    *,
    repetitions: int,
    seed: int,
    sentinel: bool,
) -> tuple[Trial, ...]:
    """Repetitions inside plots; within a repetition every setting of every combination once, shuffled by the seed."""
    chosen = random.Random(seed)
    plots = _plots(combinations)
    reference_index = next(index for index, setting in enumerate(settings) if setting.label == reference)
    trials: list[Trial] = []
    seen: Counter[str] = Counter()

    def add(repetition: int, combination: int, setting: int, role: Role) -> None:
        # By what the trial is, not by its place: systems in another order get the same results.
        what = f"{repetition} {role} {combinations[combination].key} {settings[setting].label}"
        seen[what] += 1
        trials.append(
            Trial(len(trials), repetition, combination, setting, role, trial_seed(seed, f"{what} {seen[what]}"))
        )

    for repetition in range(1, repetitions + 1):
        # A plot is rebuilt in each replicate, so that the rebuild is what repeats; which plot is first is drawn too.
        for plot in chosen.sample(plots, len(plots)):
            pairs = [(combination, setting) for combination in plot for setting in range(len(settings))]
            chosen.shuffle(pairs)
            if sentinel:
                add(repetition, plot[-1], reference_index, "sentinel")
            for combination, setting in pairs:
                add(repetition, combination, setting, "control" if settings[setting].control else "candidate")
            if sentinel:
                add(repetition, plot[-1], reference_index, "sentinel")
    return tuple(trials)


def _plots(combinations: tuple[Combination, ...]) -> list[list[int]]:
    """Combinations by system and expensive factors: what can be measured without building anything anew."""
    plots: dict[tuple[object, ...], list[int]] = {}
    for index, combination in enumerate(combinations):
        expensive = tuple(
            (name, value)
            for name, value in sorted(combination.fixed.items())
            if (row := factors.factor(name)) is not None and row.expensive
        )
        plots.setdefault((combination.system, expensive), []).append(index)
    return list(plots.values())


def _touched(
    settings: tuple[Setting, ...], combinations: tuple[Combination, ...], systems: tuple[SystemFacts, ...]
) -> tuple[Touch, ...]:
    wanted: dict[factors.Factor, list[str]] = {}
    for values in [*(setting.values for setting in settings), *(combination.fixed for combination in combinations)]:
        for name, value in values.items():
            row = factors.factor(name)
            if row is not None and row.where != "build":
                texts = wanted.setdefault(row, [])
                if str(value) not in texts:
                    texts.append(str(value))
    touches: list[Touch] = []
    for facts in systems:
        for row, texts in wanted.items():
            devices = facts.where.get(row.name) or [
                device for device, attributes in facts.current.items() if _lives_on(row, device, attributes, facts)
            ]
            touches += [
                Touch(device, row.attribute, facts.current.get(device, {}).get(row.attribute), tuple(texts))
                for device in devices
            ]
    return tuple(touches)


def _lives_on(row: factors.Factor, device: str, attributes: dict[str, str], facts: SystemFacts) -> bool:
    match row.where:
        case "leaf":
            return device in facts.leaves
        case "top":
            return device == next(iter(facts.current), None)
        case "md":
            return "md/level" in attributes or row.attribute in attributes
    return False
