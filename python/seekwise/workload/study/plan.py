"""What a study will do: combinations, settings, every trial in its order, how long it takes, what it touches.

    combination   what is held equal when settings are compared: system, workload, threads, request size, depth
    setting       what competes, under a label; the A/A control is the reference setting under a second label
    repetition    every setting of every combination once, in seeded random order, the reference combination at both ends (sentinel)
    plot          one combination of expensive factors (array, file system); repetitions run inside it

A plan is plain data: it is stored with the run, and resuming reads it back instead of making it again.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from seekwise.document import printed
from seekwise.errors import SeekwiseError, UsageError
from seekwise.workload.study import estimate, factors, profiles
from seekwise.workload.study.factors import Value
from seekwise.workload.study.quantity import size_word
from seekwise.workload.study.study import BackgroundLoad, Study, Workload

PLAN_SCHEMA = "seekwise.plan/1"
Role = Literal["candidate", "control", "sentinel"]


@dataclass(frozen=True)
class SystemFacts:
    """What a backend knows of a system before the first trial."""

    name: str
    target: str
    stack: tuple[str, ...] = ()
    """The storage, one line per device, top first."""
    leaves: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    """Schedulers that every leaf offers."""
    current: dict[str, dict[str, str]] = field(default_factory=dict)
    """{device: {attribute: value}} of everything that a study could touch."""
    scheduler: str | None = None
    may_change: bool = True
    why_not: str = ""
    where: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """{factor: devices on which it acts}, where the backend knows better than the factor's row."""
    speed: str = "unknown"
    """Row of `estimate.SPEEDS`."""
    warnings: tuple[str, ...] = ()
    """What a reader should know of this storage before a setting is changed or believed: a resync, a controller, a
    SAN."""


@dataclass(frozen=True)
class PlannedPhase:
    """One operation of a trial, as the load has to do it."""

    operation: str
    runtime_s: float | None = None
    ios_per_thread: int | None = None


@dataclass(frozen=True)
class Load:
    """The work of one combination, resolved: one thread count, one request size, one depth."""

    name: str
    phases: tuple[PlannedPhase, ...] = ()
    job: str | None = None
    """Path of the user's own fio job file; then `phases` is empty."""
    use: str | None = None
    """A use whose programs the simulator plays."""
    threads: int = 1
    block_bytes: int = 4096
    iodepth: int = 1
    program: str = "fio"
    engine: str = "psync"
    direct: bool = True
    sync: bool = False
    end_fsync: bool = True
    size_bytes: int = 64 * 2**20
    reach: float | None = None
    """Share of the smallest array or drive over which random requests go; None: each thread has a file of its own."""
    memory_limit_bytes: int | None = None
    rate_limit_bytes: int | None = None
    arrivals: str = "even"
    """Gaps of requests under a rate limit: `even` or `poisson`."""
    start_delay_s: float = 0.0
    start_stagger_s: float = 0.0
    think_s: float = 0.0
    io_class: str | None = None
    io_priority: int | None = None
    beside: tuple[Load, ...] = ()
    """Others that work for as long as each phase; each has one operation."""


@dataclass(frozen=True)
class Combination:
    key: str
    system: str
    load: Load
    fixed: dict[str, Value] = field(default_factory=dict)
    """Factors that do not compete but differ between combinations."""

    def factors(self, setting: Setting, **seen: Value) -> dict[str, Value]:
        """What a record keeps of its conditions; `seen` is what a backend found in force, and the plan's own words
        stand above it."""
        return {
            "system": self.system,
            "load": self.load.name,
            "threads": self.load.threads,
            "block_bytes": self.load.block_bytes,
            "iodepth": self.load.iodepth,
            "direct": self.load.direct,
            **seen,
            **self.fixed,
            **setting.values,
        }


@dataclass(frozen=True)
class Setting:
    label: str
    values: dict[str, Value]
    control: bool = False


@dataclass(frozen=True)
class Trial:
    index: int
    repetition: int
    combination: int
    """Its place among those of the plan."""
    setting: int
    role: Role
    seed: int

    def seed_of(self, attempt: int) -> int:
        """The random seed of an attempt: what was wrong with one does not repeat itself."""
        return self.seed if attempt == 1 else trial_seed(self.seed, 0, attempt)


@dataclass(frozen=True)
class Touch:
    """One attribute that the run will set and restore."""

    device: str
    attribute: str
    now: str | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    study: str
    backend: str
    seed: int
    repetitions: int
    compare: tuple[str, ...]
    reference: str
    combinations: tuple[Combination, ...]
    settings: tuple[Setting, ...]
    trials: tuple[Trial, ...]
    systems: tuple[SystemFacts, ...]
    touched: tuple[Touch, ...]
    wait_s: float
    settle_s: float
    trim: bool
    attempts: int
    prepare_s: float
    trial_s: tuple[float, ...]
    """Estimated seconds of a trial, by combination."""
    bytes_per_trial: tuple[int, ...]
    """Estimated bytes written by a trial, by combination."""
    bytes_prepared: int
    notes: tuple[str, ...] = ()
    budget_s: float | None = None
    """Time that was given; repeats of disturbed trials must fit into it too."""
    lead: str = ""
    """Of an import, the figure that counts for programs that wait for it: how long syncs took. The first of `notes` says it, too."""

    @classmethod
    def of_records(
        cls,
        study: str,
        backend: str,
        seed: int,
        system: SystemFacts,
        combinations: tuple[Combination, ...],
        settings: tuple[Setting, ...],
        trials: tuple[Trial, ...],
        notes: tuple[str, ...],
    ) -> Plan:
        """The plan of records that are there already, of one system; the first setting is what the others are compared
        with."""
        return cls(
            study,
            backend,
            seed,
            max(trial.repetition for trial in trials),
            ("setting",),
            settings[0].label,
            combinations,
            settings,
            trials,
            (system,),
            touched=(),
            wait_s=0.0,
            settle_s=0.0,
            trim=False,
            attempts=1,
            prepare_s=0.0,
            trial_s=(0.0,) * len(combinations),
            bytes_per_trial=(0,) * len(combinations),
            bytes_prepared=0,
            notes=notes,
        )

    @property
    def estimated_s(self) -> float:
        """Seconds for preparation and every planned trial."""
        return self.prepare_s + sum(self.trial_s[trial.combination] for trial in self.trials)

    @property
    def bytes_written(self) -> int:
        """Estimated for preparation and all trials, repeats of discarded ones not included."""
        return self.bytes_prepared + sum(self.bytes_per_trial[trial.combination] for trial in self.trials)

    def system_of(self, combination: Combination) -> SystemFacts:
        """By the name that the combination carries; each planned combination has one."""
        return next(facts for facts in self.systems if facts.name == combination.system)

    def to_document(self) -> dict[str, object]:
        """With the keys of `run --dry-run --json` and of stored runs."""
        return {
            "schema": PLAN_SCHEMA,
            "estimated_s": round(self.estimated_s, 1),
            "bytes_written": self.bytes_written,
            **printed(self),
        }

    @classmethod
    def from_document(cls, document: dict[str, object]) -> Plan:
        """The plan that `to_document` wrote; an error if something of it is not there or is something else."""
        try:
            # What a plan of an older version does not have keeps its default.
            plan = _stored().validate_python(document)
            for trial in plan.trials:
                if not (0 <= trial.combination < len(plan.combinations) and 0 <= trial.setting < len(plan.settings)):
                    raise ValueError(f"trial {trial.index} is of no combination or setting of the plan")
            return plan
        except (ValueError, RecursionError) as error:
            raise SeekwiseError(
                f"the plan of this run cannot be read: {type(error).__name__} {' '.join(str(error).split())[:100]}",
                hint="`seekwise results` lists the other runs",
            ) from error


@cache
def _stored() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


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


def trial_seed(seed: int, what: int | str, attempt: int = 1) -> int:
    """The random seed of one trial: 63 bits that nothing else in the run shares."""
    digest = hashlib.sha256(f"seekwise trial {seed} {what} {attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


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


def estimated(plan: Plan) -> Plan:
    """The plan with time and bytes filled in."""
    if plan.backend == "simulated":
        return replace(
            plan,
            trial_s=tuple(
                estimate.simulated_trial_s(combination.load, plan.system_of(combination).speed, os.cpu_count() or 1)
                for combination in plan.combinations
            ),
            bytes_per_trial=tuple(0 for _ in plan.combinations),
        )
    if plan.backend == "lab":
        return replace(
            plan,
            trial_s=tuple(
                estimate.lab_trial_s(combination.load, plan.system_of(combination).speed)
                for combination in plan.combinations
            ),
            bytes_per_trial=tuple(0 for _ in plan.combinations),
        )
    costs = [
        estimate.trial_cost(combination.load, estimate.SPEEDS[plan.system_of(combination).speed])
        for combination in plan.combinations
    ]
    besides = estimate.SETTING_OVERHEAD_S + plan.wait_s + plan.settle_s
    layouts = [
        (
            estimate.layout_bytes(
                [combination for combination in plan.combinations if combination.system == facts.name]
            ),
            estimate.SPEEDS[facts.speed],
        )
        for facts in plan.systems
    ]
    return replace(
        plan,
        trial_s=tuple(seconds + besides for seconds, _ in costs),
        bytes_per_trial=tuple(written for _, written in costs),
        bytes_prepared=sum(amount for amount, _ in layouts),
        prepare_s=sum(1.0 + amount / speed.bytes_per_s for amount, speed in layouts),
    )
